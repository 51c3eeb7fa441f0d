package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/modules/app"
)

const (
	laxFlag  = "lax"
	liveFlag = "live"
	// exitLosing is the exit code of a validation of what is valid and loses exports or documents.
	exitLosing = 3
	// caddysVerdict is the line with which Caddy's command ends when a configuration is valid.
	caddysVerdict = "Valid configuration"
)

// registered is the latest of our commands that was made; it is added to the root, which nothing else leads to, before
// the next one is made.
var registered *cobra.Command

// extendValidate has Caddy's command validate end with what it comes to: how many warnings lose exports, or the one
// sentence that says what is wrong.
func extendValidate(root *cobra.Command) {
	c, _, err := root.Find([]string{"validate"})
	if err != nil || c == root || c.Flags().Lookup(laxFlag) != nil {
		return
	}
	c.Long = strings.TrimSpace(c.Long) + `

What is valid and loses exports or documents, such as a site without a catch-all, is warned of,
and ends the command with exit code 3, unless --lax is given. The
last line says all that is wrong, as file:line: sentence.

With --live it also asks what only the real world answers: database, documents, Temporal, clock,
public_url, and the addresses of the integrations, in the file and stored, to which it sends nothing.
It stores a document and removes it. That takes up to 30 s, and exits with 1 where something failed.
Run it as the user of the gateway, which may run meanwhile.`
	live := c.Flags().Bool(liveFlag, false, "also ask database, documents, Temporal, public_url and integrations")
	asJSON := c.Flags().Bool("json", false, "with --live: print each finding as a line of JSON")
	lax := c.Flags().Bool(laxFlag, false, "exit with 0 where warnings say that exports are lost")
	validate := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *live:
			app.ExamineAfterValidation()
			fmt.Fprintf(os.Stderr, "Asking what only the real world answers, for up to %s\n", gateway.ExamineWithin)
		case *asJSON:
			return exitWith(cmd, terminal.ExitUsage, errors.New("--json is for the findings of --live: add --live"))
		}
		err := withoutVerdict(func() error { return validate(cmd, args) })
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		if err != nil {
			fmt.Fprintln(os.Stderr, explained(cmd, err))
			return err
		}
		losses := app.Losses()
		if !terminal.IsTerminal(os.Stderr) { // on a terminal they can be read in the log
			for _, sentence := range losses {
				fmt.Fprintln(os.Stderr, placed(sentence))
			}
		}
		failed, err := report(app.Findings(), *asJSON)
		if err != nil {
			return err
		}
		switch {
		case *asJSON:
		case failed:
			fmt.Println("Valid, but something that the gateway needs failed")
		default:
			fmt.Println(verdict(len(losses)))
		}
		switch {
		case failed:
			return errors.New("something that the gateway needs failed") // the table says what
		case len(losses) > 0 && !*lax:
			return exitWith(cmd, exitLosing, nil)
		}
		return nil
	}
}

// report prints the findings, and reports whether one failed.
func report(findings []gateway.Finding, asJSON bool) (failed bool, err error) {
	failed = slices.ContainsFunc(findings, func(f gateway.Finding) bool { return f.Verdict == gateway.Bad })
	if asJSON {
		return failed, terminal.WriteJSONLines(os.Stdout, findings)
	}
	if len(findings) == 0 {
		return false, nil
	}
	table := terminal.NewTable(terminal.NewScreen(os.Stdout, false), "asked", "verdict", "found")
	for _, f := range findings {
		table.Row(f.Subject, terminal.State(f.Verdict), terminal.Reason(f.Found))
	}
	return failed, table.Flush()
}

// exitWith ends the program with an exit code above 1. Caddy's main exits with 1 for any error but its own type, which
// only its wrapper makes.
func exitWith(cmd *cobra.Command, code int, err error) error {
	if err != nil {
		cmd.PrintErrln("Error:", err)
	}
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	return caddycmd.WrapCommandFuncForCobra(func(caddycmd.Flags) (int, error) { return code, nil })(cmd, nil)
}

// verdict is the line with which a validation ends.
func verdict(losses int) string {
	switch losses {
	case 0:
		return caddysVerdict
	case 1:
		return "Valid, with 1 warning that loses exports"
	}
	return fmt.Sprintf("Valid, with %d warnings that lose exports", losses)
}

// withoutVerdict calls fn and leaves out of its output the line that Caddy ends with.
func withoutVerdict(fn func() error) error {
	out := os.Stdout
	r, w, err := os.Pipe()
	if err != nil {
		return fn()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for in := bufio.NewReader(r); ; {
			line, err := in.ReadString('\n')
			if line != caddysVerdict+"\n" {
				_, _ = io.WriteString(out, line)
			}
			if err != nil {
				return
			}
		}
	}()
	os.Stdout = w
	err = fn()
	os.Stdout = out
	w.Close()
	<-done
	return err
}
