package check

import (
	"encoding/xml"
	"fmt"
	"io"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// formats are the values of --format.
var formats = []string{"table", "json", "junit"}

// write writes all results in a format.
func write(w io.Writer, format string, results []Result) error {
	switch format {
	case "json":
		return terminal.WriteJSONLines(w, results)
	case "junit":
		return writeJUnit(w, results)
	}
	table := terminal.NewTable(w, "check", "level", "verdict", "requirement")
	for _, r := range results {
		table.Row(r.ID, r.Level, terminal.State(r.Verdict), terminal.Reason(r.Requirement))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		switch r.Verdict {
		case failed:
			fmt.Fprintf(w, "\n%s: %s\n  contract: %s\n  sent:     %s\n  got:      %s\n  do this:  %s\n", r.ID, r.Requirement,
				r.Place, terminal.Printable(r.Sent), terminal.Printable(r.Got), terminal.Printable(r.Do))
		case skipped:
			fmt.Fprintf(w, "\n%s was skipped: %s\n", r.ID, terminal.Printable(r.Skipped))
		}
	}
	passes, mustFails, shouldFails := count(results)
	_, err := fmt.Fprintf(w, "\n%d of %d checks passed; failed: %d must, %d should; skipped: %d.\n", passes, len(results), mustFails,
		shouldFails, len(results)-passes-mustFails-shouldFails)
	return err
}

// count counts results by verdict.
func count(results []Result) (passes, mustFails, shouldFails int) {
	for _, r := range results {
		switch {
		case r.Verdict == passed:
			passes++
		case r.Verdict == failed && r.Level == Must:
			mustFails++
		case r.Verdict == failed:
			shouldFails++
		}
	}
	return passes, mustFails, shouldFails
}

// writeList writes what is checked.
func writeList(w io.Writer, format string, checks []Result) error {
	if format == "json" {
		return terminal.WriteJSONLines(w, checks)
	}
	table := terminal.NewTable(w, "check", "level", "requirement", "contract")
	for _, c := range checks {
		table.Row(c.ID, c.Level, terminal.Reason(c.Requirement), c.Place)
	}
	return table.Flush()
}

// writeJUnit writes the results in the XML that continuous integration reads. A should that failed is a skipped test
// case with its reason: it must not break a build.
func writeJUnit(w io.Writer, results []Result) error {
	type message struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	type testCase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Time    float64  `xml:"time,attr"`
		Failure *message `xml:"failure,omitempty"`
		Skipped *message `xml:"skipped,omitempty"`
	}
	suite := struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Cases    []testCase `xml:"testcase"`
	}{Name: "hiregate check", Tests: len(results)}
	for _, r := range results {
		c := testCase{Class: "hiregate." + string(r.Level), Name: r.ID + " " + r.Requirement, Time: r.Seconds}
		text := &message{r.Do, fmt.Sprintf("contract: %s\nsent: %s\ngot: %s", r.Place, r.Sent, r.Got)}
		switch {
		case r.Verdict == skipped:
			c.Skipped = &message{Message: r.Skipped}
		case r.Verdict == failed && r.Level == Must:
			c.Failure = text
		case r.Verdict == failed:
			c.Skipped = text
		}
		if c.Failure != nil {
			suite.Failures++
		}
		if c.Skipped != nil {
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}
