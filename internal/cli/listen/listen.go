// Package listen has the command `hiregate listen`: a sample partner, which receives exports and lets people sign in.
package listen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/webhook"
)

type flags struct {
	secret                       terminal.SigningFlags
	addr, serviceName, save      string
	failRate                     float64
	slow                         time.Duration
	verifyStatus, status         int
	noDownload, lifeline, json   bool
	issuer, client, clientSecret string // of sign-in
}

// ClientSecretVariable is the environment variable that may hold the secret of sign-in instead of --client-secret.
const ClientSecretVariable = "HIREGATE_CLIENT_SECRET"

// DemoClient is the OAuth client that hiregate dev makes for the sample partner.
const DemoClient = "demo"

// Command returns the command `hiregate listen`, which plays a partner that receives the webhook of the contract's part
// B.
func Command() *cobra.Command {
	f := new(flags)
	cmd := &cobra.Command{
		Use:   "listen",
		Short: "Plays a partner: receives the webhook and downloads the documents",
		Long: `Plays a partner: receives the webhook at any path, checks the signature, answers the verification event, and
prints one line for each export: when, for which client (query parameter "client", else the first segment of the
path), its UUID, whether the signature is valid, how many documents it has and how large they are, what was
answered, and whether it was acknowledged before. Nothing of the candidate is printed.

Documents are downloaded after the answer. When that takes longer than a second, the line comes without them and
a second line ("documents") when they are there. GET / shows the counts.

With --issuer it is an application as well that people sign in to, at its address on localhost in a browser: it sends
them to that provider of OpenID Connect and shows the claims that it gets. Its redirect URI, which the provider has to
know, is http://localhost:PORT/callback.

With --json every line is a JSON object: "kind" is "listening" (the first), "verify", "export", "documents",
"refused" or "summary" (the last).`,
		Example: `  hiregate listen --secret hris-signing-secret
  hiregate listen --secret hris-signing-secret --fail-rate 0.5 --slow 2s
  hiregate listen --secret hris-signing-secret --addr 127.0.0.1:9090 --save received --json
  hiregate listen --secret hris-signing-secret --issuer http://localhost:8080/signin --client-secret demo-secret`,
		SilenceUsage: true, // it would hide the error
		Args:         terminal.Exactly(0, "listen takes no arguments: the address goes into --addr"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := terminal.Interruptible(cmd)
			defer stop()
			return f.run(ctx, cmd)
		},
	}
	cmd.SetFlagErrorFunc(terminal.FlagError)
	fl := cmd.Flags()
	fl.StringVar(&f.addr, "addr", "127.0.0.1:8090", "address to listen at; :8090 is every address of this machine")
	f.secret.Add(fl, "secret that the sender signs with")
	fl.IntVar(&f.verifyStatus, "verify-status", http.StatusOK, "status to answer the verification event with")
	fl.IntVar(&f.status, "status", http.StatusOK, "status to answer exports with")
	fl.Float64Var(&f.failRate, "fail-rate", 0, "share of exports to answer 500 instead, from 0 to 1")
	fl.DurationVar(&f.slow, "slow", 0, "how long to wait before an export is answered")
	fl.BoolVar(&f.noDownload, "no-download", false, "leave the documents where they are")
	fl.StringVar(&f.save, "save", "", "folder to keep bodies and documents in, by UUID (personal data!)")
	fl.StringVar(&f.issuer, "issuer", "",
		"address of the provider that people sign in at, such as http://localhost:8080/signin")
	fl.StringVar(&f.client, "client", DemoClient, "OAuth client that it is there")
	fl.StringVar(&f.clientSecret, "client-secret", "",
		"secret of that client (or the environment variable "+ClientSecretVariable+")")
	fl.StringVar(&f.serviceName, "service-name", "Service", "the maker's name in headers and fixed strings")
	fl.BoolVar(&f.lifeline, "lifeline", false, "end as soon as standard input ends; a line there, such as 503 2s, "+
		"sets --status and --slow")
	fl.BoolVar(&f.json, "json", false, "print JSON, one object a line")
	return cmd
}

// answerable reports whether a status can be answered with.
func answerable(status int) bool { return 200 <= status && status <= 599 }

func (f *flags) check() error {
	switch {
	case !(f.failRate >= 0 && f.failRate <= 1):
		return errors.New("--fail-rate must be from 0 (never) to 1 (always)")
	case f.slow < 0:
		return errors.New("--slow must not be negative: write it like 2s")
	case !answerable(f.verifyStatus):
		return errors.New("--verify-status must be a status from 200 to 599")
	case !answerable(f.status):
		return errors.New("--status must be a status from 200 to 599")
	}
	return nil
}

func (f *flags) run(ctx context.Context, cmd *cobra.Command) error {
	if err := f.check(); err != nil {
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
	if f.save != "" {
		if err := os.MkdirAll(f.save, 0o700); err != nil {
			return fmt.Errorf("--save %s can't be used: %w", f.save, terminal.Cause(err))
		}
	}
	l, err := net.Listen("tcp", f.addr)
	if err != nil {
		return addressSentence(f.addr, err)
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	p := &partner{
		names: names, secret: secret, verifyStatus: f.verifyStatus, failRate: f.failRate,
		archive: archive(f.save), journal: newJournal(terminal.NewScreen(cmd.OutOrStdout(), false), f.json), seen: newMemory(rememberedExports),
	}
	p.manner.Store(&manner{status: f.status, slow: f.slow})
	if p.signIn, err = f.signIn(l.Addr()); err != nil {
		l.Close()
		return err
	}
	if !f.noDownload {
		p.downloads = newDownloader()
	}
	if err := p.journal.greet(l.Addr().String()); err != nil {
		l.Close()
		return err
	}
	var cut <-chan struct{}
	if f.lifeline {
		cut = p.directed(cmd.InOrStdin())
	}
	return p.run(ctx, end, l, cut)
}

// signIn returns the partner's sign-in; nil without --issuer.
func (f *flags) signIn(at net.Addr) (*signIn, error) {
	if f.issuer == "" {
		return nil, nil
	}
	secret := cmp.Or(f.clientSecret, os.Getenv(ClientSecretVariable))
	if secret == "" {
		return nil, fmt.Errorf("there is no secret to sign in with: give one with --client-secret, or in the "+
			"environment variable %s", ClientSecretVariable)
	}
	_, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return nil, err
	}
	return newSignIn(f.issuer, f.client, secret, "http://localhost:"+port)
}

// run serves requests. It ends gracefully with ctx, or at once when the lifeline is cut. end stops the downloads.
func (p *partner) run(ctx context.Context, end context.CancelFunc, l net.Listener, cut <-chan struct{}) error {
	server := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(ctx, w, r) }),
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), // every request has its own line
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	var err error
	select {
	case err = <-ended:
		err = fmt.Errorf("receiving at %s: %w", l.Addr(), err)
	case <-cut:
		err = server.Close()
	case <-ctx.Done():
		grace, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if server.Shutdown(grace) != nil {
			err = server.Close()
		}
	}
	end()
	p.background.Wait()
	return errors.Join(err, p.journal.summary())
}

// addressSentence says what to do when an address can't be listened at.
func addressSentence(addr string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("the address %s is taken: end the program that listens there, or choose another with --addr", addr)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("you are not allowed to listen at %s: choose a port from 1024 up with --addr", addr)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s is no address of this machine: choose one that is with --addr", addr)
	case !strings.Contains(addr, ":"):
		return terminal.Usage(fmt.Errorf("--addr %s names no port: write it like 127.0.0.1:8090 or :8090", addr))
	default:
		return fmt.Errorf("--addr %s can't be listened at: %w", addr, terminal.Cause(err))
	}
}
