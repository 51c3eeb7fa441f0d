package check

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

type senderFlags struct {
	flags
	listen, url, secretFile, serviceName string
	wait                                 time.Duration
}

func senderCommand() *cobra.Command {
	f := new(senderFlags)
	cmd := f.command(&cobra.Command{
		Use:   "sender",
		Short: "Plays a partner's receiver: watches what a service sends",
		Long: `Plays a partner's webhook receiver, and watches what a service sends: save an integration with the URL and the secret that are printed,
and export candidates as each line says. VERIFY is answered 202 first, which must not verify the integration, and 200 when it is saved
again. The first export is answered 503, then with a redirect, then taken; the answer to another one takes 5 s. Documents are fetched at
once, and once more at the end. Then it reports which rules the service keeps, with what came and what to do.

Use invented candidates. Neither bodies nor documents are kept, and nothing of them is shown. The command ends when all has come, after
--wait, or with Ctrl-C; it reports what it has seen.`,
		Example: `  hiregate check sender
  hiregate check sender --secret-file secret.txt --listen 0.0.0.0:8086 --url https://tunnel.example.com --wait 1h --report report.xml`,
		Args: terminal.Exactly(0, "check sender takes no URL: the service sends to the one that it prints"),
	}, f.run)
	if err := cmd.Flags().MarkHidden("yes-send"); err != nil {
		panic(err) // it is a flag of every check
	}
	fl := cmd.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8086", "address to listen on")
	fl.StringVar(&f.url, "url", "", "URL at which the service reaches that address (default: http and the address)")
	fl.StringVar(&f.secretFile, "secret-file", "", "file with the secret that the service signs with; - is standard input (default: a new "+
		"one, which is printed)")
	fl.StringVar(&f.serviceName, "service-name", "Service", "the maker's name in headers, scheme ids and fixed strings")
	fl.DurationVar(&f.wait, "wait", 10*time.Minute, "how long to wait until all has come")
	return cmd
}

func (f *senderFlags) run(ctx context.Context, cmd *cobra.Command, _ []string) error {
	checks, err := begin(cmd, &f.flags, senderChecks)
	if err != nil || f.list {
		return err
	}
	names, err := webhook.NamesFor(f.serviceName)
	if err != nil {
		return terminal.Usage(fmt.Errorf("--service-name: %w", err))
	}
	address, err := netip.ParseAddrPort(f.listen)
	switch {
	case err != nil:
		return terminal.Usage(errors.New("--listen takes an IP address with a port, such as 127.0.0.1:8086"))
	case address.Addr().IsUnspecified() && f.url == "":
		return terminal.Usage(errors.New("by which name does the service reach this machine? say so, such as: --url http://192.0.2.7:8086"))
	case f.url != "":
		if _, err := terminal.ParseTarget(f.url); err != nil {
			return terminal.Usage(fmt.Errorf("--url: %w", err))
		}
	}
	key, shown := rand.Text(), ""
	if shown = key; f.secretFile != "" {
		if key, err = secret(cmd, f.secretFile); err != nil {
			return err
		}
		shown = "in " + terminal.Printable(f.secretFile)
	}
	validator, err := schemas.New(names.Service)
	if err != nil {
		return err
	}
	listener, err := listenAt(f.listen)
	if err != nil {
		return err
	}
	p := newPlayedReceiver(names, key, validator)
	out, said := cmd.ErrOrStderr(), ""
	p.each = func(e *event, next string) {
		note := ""
		if e.malformed+e.forged != "" {
			note = ", although its signature is wrong"
		}
		fmt.Fprintf(out, "%2d  %-16s  answered %s%s\n", e.number, cmp.Or(e.kind, "-"), terminal.StatusText(e.status), note)
		if next != said {
			said = next
			fmt.Fprintln(out, next)
		}
	}
	base := strings.TrimRight(cmp.Or(f.url, "http://"+listener.Addr().String()), "/")
	fmt.Fprintf(out, "Save an integration with the URL %s%s?%s and the secret %s\n", base, senderPath, senderQuery, shown)
	if err := watch(ctx, listener, p, p.finished, f.wait); err != nil {
		return err
	}
	return f.judge(ctx, cmd, checks, p)
}

// judge runs the checks on what has come.
func (f *senderFlags) judge(ctx context.Context, cmd *cobra.Command, checks []check[*playedReceiver], p *playedReceiver) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.each = func(*event, string) {}
	if len(p.seen) == 0 {
		return terminal.Unable(errors.New("no event came: save an integration with the URL above, and see whether the service reaches it"))
	}
	if err := play(context.WithoutCancel(ctx), cmd, &f.flags, checks, p); err != nil {
		return err
	}
	if p.first(isExport) == nil {
		return terminal.Unable(errors.New("no export came, so most checks were skipped: export a candidate once the integration is verified"))
	}
	return nil
}
