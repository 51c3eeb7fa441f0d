// Package send has the command `hiregate send`: the service, which sends exports to a webhook.
package send

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/time/rate"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/webhook"
)

const maxConcurrency = 1024

type flags struct {
	secret                                  terminal.SigningFlags
	event, payload, serviceName, uuid, rate string
	documents                               []string
	count, concurrency                      int
	timeout, wait                           time.Duration
	json, any2xx                            bool
}

// Command returns the command `hiregate send`, which plays the service of the contract's part B.
func Command() *cobra.Command {
	f := new(flags)
	cmd := &cobra.Command{
		Use:   "send URL",
		Short: "Plays the service: signs an event and sends it to a webhook",
		Long: `Plays the service: signs a candidate export, or the verification event, and sends it to a webhook URL.

Without --payload it sends a minimal export of a candidate with a random id. With --document the attachment
URLs of the payload are rewritten to a server of this command, which hands out the files in turn as Document
objects until each was fetched. They are served on 127.0.0.1, for a receiver on this machine.

--count sends the same body many times, each time as an export of its own: with a fresh UUID, unless --uuid
gives one, which then plays a service that repeats itself.

With --json every answer is one JSON object on a line of its own ("kind": "answer"), followed by one for the
documents and, with --count, one that sums up ("kind": "documents", "summary").

The exit code is 1 when anything was not acknowledged: with 2xx and a receipt an export, with exactly 200 the
verification.`,
		Example: `  hiregate send http://localhost:8080/hooks/acme --secret acme-signing-secret
  hiregate send http://localhost:8080/hooks/acme --secret acme-signing-secret --event VERIFY
  hiregate send http://localhost:8080/hooks/acme --secret acme-signing-secret --payload export.json --document resume.pdf
  hiregate send http://localhost:8080/hooks/acme --secret-file acme.secret --count 1000 --concurrency 16 --rate 200/s`,
		SilenceUsage: true, // it would hide the error
		Args: terminal.Exactly(1,
			"send takes one URL, such as: hiregate send http://localhost:8080/hooks/acme --secret acme-signing-secret"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := terminal.Interruptible(cmd)
			defer stop()
			return f.run(ctx, cmd, args[0])
		},
	}
	cmd.SetFlagErrorFunc(terminal.FlagError)
	fl := cmd.Flags()
	f.secret.Add(fl, "secret that signs the body")
	fl.StringVar(&f.event, "event", webhook.EventExport, "event to send: CANDIDATE-EXPORT or VERIFY")
	fl.StringVar(&f.payload, "payload", "", "file with the body of the export (default: a minimal export)")
	fl.StringArrayVar(&f.documents, "document", nil, "file to serve as the document of an attachment; repeat it for more")
	// A gateway that does not reach Temporal starts to fetch after a minute.
	fl.DurationVar(&f.wait, "wait", 2*time.Minute, "how long to wait until the documents were fetched")
	fl.StringVar(&f.uuid, "uuid", "", "UUID header of every export (default: a fresh one each)")
	fl.IntVar(&f.count, "count", 1, "how many to send")
	fl.IntVar(&f.concurrency, "concurrency", 8, "how many may be on their way at once")
	fl.StringVar(&f.rate, "rate", "", "how many to send at most, such as 200/s or 30/m (default: no limit)")
	fl.DurationVar(&f.timeout, "timeout", webhook.AttemptTimeout, "how long a request may take, its answer included")
	fl.BoolVar(&f.any2xx, "any-2xx", false,
		"take a 2xx without a receipt for received, from a receiver that is no gateway")
	fl.StringVar(&f.serviceName, "service-name", "Service", "the maker's name in headers, scheme ids and fixed strings")
	fl.BoolVar(&f.json, "json", false, "print JSON, one object a line")
	return cmd
}

// check validates the flags before anything is sent.
func (f *flags) check() error {
	f.event = strings.ToUpper(f.event)
	switch verify := f.event == webhook.EventVerify; {
	case !verify && f.event != webhook.EventExport:
		return fmt.Errorf("--event %s is not an event of the service: use CANDIDATE-EXPORT or VERIFY", f.event)
	case verify && (f.payload != "" || len(f.documents) > 0):
		return errors.New("the body of VERIFY is fixed and has no documents: leave out --payload and --document")
	case verify && f.uuid != "":
		return errors.New("VERIFY carries no UUID: leave out --uuid")
	case f.uuid != "" && !webhook.ValidUUID(f.uuid):
		return errors.New("--uuid must be 1 to 255 visible ASCII characters, without spaces")
	case f.count < 1:
		return errors.New("--count must be at least 1")
	case f.concurrency < 1 || f.concurrency > maxConcurrency:
		return fmt.Errorf("--concurrency must be 1 to %d", maxConcurrency)
	case f.timeout <= 0 || f.timeout > webhook.AttemptTimeout:
		return fmt.Errorf("--timeout must be above 0s and at most %s, which is how long the service waits for a receiver",
			webhook.AttemptTimeout)
	case f.wait < 0:
		return errors.New("--wait must not be negative; 0s does not wait for the documents to be fetched")
	}
	return nil
}

func (f *flags) run(ctx context.Context, cmd *cobra.Command, arg string) error {
	if err := f.check(); err != nil {
		return terminal.Usage(err)
	}
	target, err := terminal.ParseTarget(arg)
	if err != nil {
		return terminal.Usage(err)
	}
	limit, err := parseRate(f.rate)
	if err != nil {
		return terminal.Usage(err)
	}
	secret, err := f.secret.Read(cmd.InOrStdin())
	if err != nil {
		return err
	}
	names, err := webhook.NamesFor(f.serviceName)
	if err != nil {
		return terminal.Usage(fmt.Errorf("--service-name: %w", err))
	}
	r := &run{
		flags: f, out: terminal.NewScreen(cmd.OutOrStdout(), false), log: cmd.ErrOrStderr(),
		sender: &sender{
			names: names, client: NewClient(f.concurrency), uuid: f.uuid, count: f.count, concurrency: f.concurrency,
			timeout: f.timeout, any2xx: f.any2xx,
			limiter: rate.NewLimiter(limit, max(1, int(min(limit, 1e6)/20))),
			delivery: webhook.Delivery{
				URL: target.String(), Secret: secret, Event: f.event, Body: names.VerifyBody(),
			},
		},
	}
	if f.event == webhook.EventExport {
		if err := r.prepareExport(); err != nil {
			return err
		}
	}
	return r.run(ctx)
}
