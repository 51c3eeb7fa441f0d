package check

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// What a partner's client is told to use.
const (
	partnerUser     = "partner@example.com"
	partnerPassword = "check-password"
	partnerJob      = "CHECK-1"
)

type partnerFlags struct {
	flags
	listen string
	wait   time.Duration
}

func partnerCommand() *cobra.Command {
	f := new(partnerFlags)
	cmd := f.command(&cobra.Command{
		Use:   "partner",
		Short: "Plays the service's Apply API: watches a partner's client",
		Long: `Plays the service's Apply API, with one job, and watches what a partner's client does: it applies for the job, and is answered 500,
429, 401 and 400 before an application is accepted. A client that does not repeat by itself is started again each time. Then it
reports which rules the client keeps, with what was answered, what came and what to do.

Use invented applicants. What they answer is kept in memory alone and not shown. The command ends when an application was accepted,
after --wait, or with Ctrl-C.`,
		Example: `  hiregate check partner
  hiregate check partner --listen 127.0.0.1:9000 --wait 1h --report report.xml`,
		Args: terminal.Exactly(0, "check partner takes no URL: the partner's client calls the address that it prints"),
	}, f.run)
	if err := cmd.Flags().MarkHidden("yes-send"); err != nil {
		panic(err) // it is a flag of every check
	}
	fl := cmd.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8085", "address to listen on, of this machine alone")
	fl.DurationVar(&f.wait, "wait", 10*time.Minute, "how long to wait for an application that can be accepted")
	return cmd
}

func (f *partnerFlags) run(ctx context.Context, cmd *cobra.Command, _ []string) error {
	checks, err := begin(cmd, &f.flags, partnerChecks)
	if err != nil || f.list {
		return err
	}
	if address, err := netip.ParseAddrPort(f.listen); err != nil || !address.Addr().IsLoopback() {
		return terminal.Usage(errors.New("--listen takes an address of this machine with a port, such as 127.0.0.1:8085"))
	}
	s, err := newService(partnerUser, partnerPassword, partnerJob)
	if err != nil {
		return err
	}
	s.each = func(o observation) {
		what := string(o.kind)
		if o.kind == asksElse {
			what = terminal.Printable(o.asked)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%-20s answered %s\n", what, terminal.StatusText(o.status))
	}
	listener, err := listenAt(f.listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "Apply at http://%s as %s with the password %s for the job %s.\n", listener.Addr(), partnerUser,
		partnerPassword, partnerJob) // before the first request prints its own line
	if err := watch(ctx, listener, s, s.finished, f.wait); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.each = func(observation) {}
	if len(s.seen) == 0 {
		return terminal.Unable(errors.New("no request came: let the client call the address above"))
	}
	if err := play(context.WithoutCancel(ctx), cmd, &f.flags, checks, s); err != nil {
		return err
	}
	if s.count(applies) == 0 {
		return terminal.Unable(errors.New("no application came, so most checks were skipped: let the client apply for the job"))
	}
	return nil
}
