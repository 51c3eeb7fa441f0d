// Package check has the command `hiregate check`: it finds out whether an endpoint, a client or a service does what the contract
// demands, and proves each requirement with requests.
package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// runBound limits a whole run.
const runBound = 5 * time.Minute

// flags are common to the commands below check.
type flags struct {
	list, yesSend  bool
	only           []string
	format, report string
}

// command completes a command below check with what all of them have.
func (f *flags) command(cmd *cobra.Command, run func(context.Context, *cobra.Command, []string) error) *cobra.Command {
	cmd.Long += common
	cmd.SilenceUsage = true
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := terminal.Interruptible(cmd)
		defer stop()
		return run(ctx, cmd, args)
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.list, "list", false, "show the checks, and end")
	fl.StringSliceVar(&f.only, "only", nil, "checks to run, such as B-08,B-1* (default: all)")
	fl.StringVar(&f.format, "format", "table", "format of the results: "+strings.Join(formats, ", "))
	fl.StringVar(&f.report, "report", "", "file to write the results to as well, as JUnit XML")
	fl.BoolVar(&f.yesSend, "yes-send", false, "send to a host that is not this machine without asking")
	// Both names are those of flags of this command, so the error can only be a mistake in these lines.
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// common ends the help of each command.
const common = `

--only names checks by id or pattern; --list shows them. The exit code is 0 if no check failed that must pass, 1 if one did, 2
if the command line is wrong, 3 if the checks could not run.`

func (f *flags) check() error {
	if !slices.Contains(formats, f.format) {
		return fmt.Errorf("--format %s is none: use one of %s", terminal.Printable(f.format), strings.Join(formats, ", "))
	}
	return nil
}

// Command returns the command `hiregate check`.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Checks whether an endpoint, a client or a service does what the contract demands",
		Args:  terminal.Exactly(0, "check takes a command, such as: hiregate check receiver http://localhost:8090/acme --secret-file FILE"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetFlagErrorFunc(terminal.FlagError)
	cmd.AddCommand(receiverCommand(), senderCommand(), applyCommand(), partnerCommand())
	return cmd
}

// local reports whether a URL is of this machine.
func local(target *url.URL) bool {
	ip, err := netip.ParseAddr(target.Hostname())
	return err == nil && ip.IsLoopback() || target.Hostname() == "localhost"
}

// open returns an error unless requests may go to a target and a connection to it can be made. They may go to this machine always,
// to others with --yes-send or when the person at the terminal agrees.
func (f *flags) open(ctx context.Context, cmd *cobra.Command, target *url.URL) error {
	if !f.yesSend && !local(target) {
		no := fmt.Errorf("nothing was sent, because %s is not this machine: add --yes-send if it may get requests with "+
			"invented candidates", target.Hostname())
		if !terminal.Attended(cmd) {
			return terminal.Usage(no)
		}
		if terminal.Confirm(ctx, cmd, "Send requests with invented candidates to "+target.Hostname()+"?") != nil {
			return no
		}
	}
	if err := reach(ctx, target); err != nil {
		return terminal.Unable(fmt.Errorf("no connection to %s can be made (%w): start it, or correct the URL", target.Host,
			terminal.Cause(err)))
	}
	return nil
}

// reach makes a connection, and ends it.
func reach(ctx context.Context, target *url.URL) error {
	port := target.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[target.Scheme]
	}
	d := net.Dialer{Timeout: 5 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(target.Hostname(), port))
	if err != nil {
		return err
	}
	return conn.Close()
}

// secret reads a secret from a file, which flags name.
func secret(cmd *cobra.Command, file string) (string, error) {
	text, err := terminal.ReadSecret(cmd.InOrStdin(), file)
	if err != nil {
		return "", terminal.Unable(err)
	}
	return text, nil
}

// play runs the checks against a target, shows the results, and returns an error when a must failed.
func play[T any](ctx context.Context, cmd *cobra.Command, f *flags, checks []check[T], target T) error {
	ctx, cancel := context.WithTimeout(ctx, runBound)
	defer cancel()
	var results []Result
	progress := f.format == "table" && terminal.IsTerminal(cmd.ErrOrStderr())
	ended := runAll(ctx, checks, target, func(r Result) {
		results = append(results, r)
		if progress {
			fmt.Fprintf(cmd.ErrOrStderr(), "\r%d of %d checks …", len(results), len(checks))
		}
	})
	if progress {
		fmt.Fprint(cmd.ErrOrStderr(), "\r\x1b[K")
	}
	ran := len(results)
	why := "the command was interrupted"
	switch {
	case ended != nil:
		why = ended.Error()
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		why = "the time did not suffice"
	}
	var others []string
	for _, r := range listed(checks[ran:]) { // without them a report would look complete
		r.Verdict, r.Skipped = skipped, "it was not run, because "+why
		results, others = append(results, r), append(others, r.ID)
	}
	if err := write(terminal.NewScreen(cmd.OutOrStdout(), false), f.format, results); err != nil {
		return err
	}
	if f.report != "" {
		var text bytes.Buffer
		if err := writeJUnit(&text, results); err != nil {
			return err
		}
		if err := os.WriteFile(f.report, text.Bytes(), 0o644); err != nil {
			return terminal.Unable(fmt.Errorf("writing the report %s: %w", terminal.Printable(f.report), terminal.Cause(err)))
		}
	}
	_, mustFails, _ := count(results)
	switch {
	case ended != nil:
		return terminal.Unable(fmt.Errorf("only %d of %d checks were run: %w; start it again, look into its log, and run the others with "+
			"--only %s", ran, len(checks), ended, strings.Join(others, ",")))
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return terminal.Unable(fmt.Errorf("only %d of %d checks were run within %s: run the others with --only %s",
			ran, len(checks), runBound, strings.Join(others, ",")))
	case ctx.Err() != nil:
		return terminal.Unable(fmt.Errorf("interrupted after %d of %d checks", ran, len(checks)))
	case mustFails > 0:
		return fmt.Errorf("%d of the checks that must pass failed", mustFails)
	}
	return nil
}

// begin returns the checks that the flags select. With --list it shows them, and returns none.
func begin[T any](cmd *cobra.Command, f *flags, all []check[T]) ([]check[T], error) {
	if err := f.check(); err != nil {
		return nil, terminal.Usage(err)
	}
	checks, err := selected(all, f.only)
	if err != nil {
		return nil, terminal.Usage(err)
	}
	if !f.list {
		return checks, nil
	}
	return nil, writeList(terminal.NewScreen(cmd.OutOrStdout(), false), f.format, listed(checks))
}

// oneURL demands a URL, unless the checks are only listed.
func (f *flags) oneURL(sentence string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if f.list && len(args) == 0 {
			return nil
		}
		return terminal.Exactly(1, sentence)(cmd, args)
	}
}
