// Command retest runs go test, and once more, alone, each test that failed. A machine that is busy makes a test come
// too late now and then: that costs a rerun and not the run, and the report at the end names the test.
//
//	retest GO-TEST-FLAGS… PACKAGES
//
// The packages are one argument, with blanks between them.
//
// A package that does not run to its end is not run again, and fails the run: its other tests may not have run.
// Neither is one with a data race.
package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

// most is how many tests are run again: more than that have not failed because the machine is busy.
const most = 10

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: retest GO-TEST-FLAGS… PACKAGES")
		os.Exit(2)
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt) // go test has the signal too, and ends its tests before it ends itself
	last := len(os.Args) - 1
	r := run{flags: os.Args[1:last], out: os.Stdout}
	r.verbose = slices.Contains(r.flags, "-v")
	passed, err := r.all(os.Args[last], func() bool { return len(interrupted) > 0 })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if !passed {
		os.Exit(1)
	}
}

// run is one run of go test and what comes after it.
type run struct {
	flags   []string
	verbose bool
	out     io.Writer
}

// all tests the packages, then each test that failed once more, and reports whether everything passed at last.
func (r *run) all(packages string, interrupted func() bool) (bool, error) {
	failed, exit, err := r.test(packages)
	if err != nil || exit == 0 {
		return err == nil, err
	}
	if slices.Contains(r.flags, "-failfast") { // tests were left out
		return false, nil
	}
	report := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	passed := exit == 1 && len(failed) > 0 // else go test says what it can't run
	tests := 0
	slices.SortFunc(failed, func(a, b *pkg) int { return strings.Compare(a.name, b.name) })
	for _, p := range failed {
		if why := p.unsure(); why != "" {
			fmt.Fprintf(report, "  %s\t\tfailed, not run again: %s\n", p.name, why)
			passed = false
			continue
		}
		for _, test := range p.failed {
			outcome := fmt.Sprintf("failed, not run again: more than %d tests failed", most)
			if tests++; tests <= most && !interrupted() {
				outcome, err = r.again(p.name, test)
				if err != nil {
					return false, err
				}
			}
			fmt.Fprintf(report, "  %s\t%s\t%s\n", p.name, test, outcome)
			passed = passed && outcome == passedThen
		}
	}
	fmt.Fprintln(r.out, "\nTests that failed:")
	return passed, report.Flush()
}

const (
	passedThen  = "passed when it was run once more, alone"
	failedTwice = "failed twice"
)

// again runs a test by itself, and tells what came of it.
func (r *run) again(pkg, test string) (string, error) {
	fmt.Fprintf(r.out, "\nOnce more: %s of %s\n", test, pkg)
	alone := run{flags: append(slices.Clone(r.flags), "-count=1", "-run=^"+regexp.QuoteMeta(test)+"$"),
		verbose: r.verbose, out: r.out}
	_, exit, err := alone.test(pkg)
	if err != nil || exit != 0 {
		return failedTwice, err
	}
	return passedThen, nil
}

// unsure says why nothing follows from what the package's tests do when they are run again, or nothing.
func (p *pkg) unsure() string {
	summary := len(p.said) - 1 // go test's own; the verdict that stands before it comes after the last test
	switch {
	case p.raced:
		return "it has a data race"
	case len(p.failed) == 0 && len(p.running) == 0:
		return "not because of a test"
	case len(p.running) > 0 || summary < 1 || p.said[summary-1] != "FAIL\n" ||
		!strings.HasPrefix(p.said[summary], "FAIL\t"):
		return "it did not run to its end"
	}
	return ""
}
