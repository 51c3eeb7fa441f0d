package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/webhook"
)

// maxDocumentsWait leaves time for the other checks: it is waited twice.
const maxDocumentsWait = 2 * time.Minute

type receiverFlags struct {
	flags
	secret, nextSecret, serviceName string
	authentication                  string
	documentsListen, documentsURL   string
	documentsWait                   time.Duration
}

func receiverCommand() *cobra.Command {
	f := new(receiverFlags)
	cmd := f.command(&cobra.Command{
		Use:   "receiver URL",
		Short: "Plays the service: checks a partner's webhook receiver",
		Long: `Plays the service: sends verifications and exports, right and wrong ones, to a partner's receiver, and reports which
requirements of the contract it meets, with what was sent, what came back and what to do.

The candidates are invented and marked: their ids begin with check-. A check sends at most 60 requests, the whole run takes at
most ` + runBound.String() + `.

The documents of the exports are served here, on a free port of 127.0.0.1, until the command ends. A receiver on another machine needs
--documents-listen and, if it reaches that address by another name, --documents-url. The contract gives it 2 h 30 min; the command
waits for --documents-wait.`,
		Example: `  hiregate check receiver http://localhost:8090/acme --secret-file secret.txt
  hiregate check receiver http://localhost:8090/acme --secret-file secret.txt --next-secret next.txt --format junit
  hiregate check receiver https://hr.example.com/acme --secret-file secret.txt --documents-listen 192.0.2.7:9099
  hiregate check receiver --list`,
		Args: f.oneURL("check receiver takes one URL, such as: hiregate check receiver http://localhost:8090/acme --secret-file FILE"),
	}, f.run)
	fl := cmd.Flags()
	fl.StringVar(&f.secret, "secret-file", "", "file with the secret that signs; - is standard input")
	terminal.SecretNamesFile(fl)
	fl.StringVar(&f.nextSecret, "next-secret", "", "file with the next secret of a rotation, which the receiver takes as well")
	fl.StringVar(&f.authentication, "authentication-file", "", "file with the credentials that the receiver wants beside the "+
		"signature, or the authority of its certificate, as JSON; - is standard input")
	fl.StringVar(&f.serviceName, "service-name", "Service", "the maker's name in headers, scheme ids and fixed strings")
	fl.StringVar(&f.documentsListen, "documents-listen", "",
		"address to serve documents on (default: 127.0.0.1, for a receiver on this machine)")
	fl.StringVar(&f.documentsURL, "documents-url", "",
		"URL at which the receiver reaches --documents-listen (default: http and that address)")
	fl.DurationVar(&f.documentsWait, "documents-wait", 10*time.Second,
		"how long to wait until a document is asked for, and asked for again")
	return cmd
}

func (f *receiverFlags) run(ctx context.Context, cmd *cobra.Command, args []string) error {
	checks, err := begin(cmd, &f.flags, receiverChecks)
	if err != nil || f.list {
		return err
	}
	target, err := terminal.ParseTarget(args[0])
	if err != nil {
		return terminal.Usage(err)
	}
	names, err := webhook.NamesFor(f.serviceName)
	if err != nil {
		return terminal.Usage(fmt.Errorf("--service-name: %w", err))
	}
	switch {
	case f.secret == "":
		return terminal.Usage(errors.New("which secret signs? name a file that has it, such as: --secret-file secret.txt"))
	case f.documentsWait < 0 || f.documentsWait > maxDocumentsWait:
		return terminal.Usage(fmt.Errorf("--documents-wait must be 0s to %s", maxDocumentsWait))
	case f.documentsURL != "" && f.documentsListen == "":
		return terminal.Usage(errors.New("--documents-url leads where? name the address, such as: --documents-listen 127.0.0.1:9099"))
	case f.documentsURL != "":
		if _, err := terminal.ParseTarget(f.documentsURL); err != nil {
			return terminal.Usage(fmt.Errorf("--documents-url: %w", err))
		}
	}
	r := newReceiver(target.String(), names)
	r.patience = f.documentsWait
	if r.secret, err = secret(cmd, f.secret); err != nil {
		return err
	}
	if f.nextSecret != "" {
		if r.nextSecret, err = secret(cmd, f.nextSecret); err != nil {
			return err
		}
	}
	if f.authentication != "" {
		if err := r.authenticate(cmd.InOrStdin(), f.authentication); err != nil {
			return err
		}
	}
	if err := f.open(ctx, cmd, target); err != nil {
		return err
	}
	defer r.client.CloseIdleConnections()
	if local(target) || f.documentsListen != "" {
		end, err := r.serveDocuments(cmp.Or(f.documentsListen, "127.0.0.1:0"), f.documentsURL)
		if err != nil {
			return err
		}
		defer end()
	}
	if !egress.HasIdentifier(target) {
		fmt.Fprintln(cmd.ErrOrStderr(), "The URL has no identifier: an integration is refused without one. Add a path or a query parameter, such as "+
			"/acme or ?client=acme, by which the receiver knows to whom a candidate belongs.")
	}
	return play(ctx, cmd, &f.flags, checks, r)
}
