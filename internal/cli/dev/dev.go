// Package dev has the command `hiregate dev`: the gateway with everything it needs on one machine.
package dev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/caddyfile"
	"github.com/hiregate/hiregate/internal/cli/lifeline"
	"github.com/hiregate/hiregate/internal/cli/listen"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// partnerSecret is the integrations' secret in dev.Caddyfile.
const partnerSecret = "hris-signing-secret"

type flags struct {
	http, temporal, ui, partner, admin int // ports
	noPartner, reset, verbose          bool
	dir                                string
	breaks                             time.Duration // that each act of --break lasts; 0: without it
}

// Command returns the command `hiregate dev`, which runs the gateway with everything it needs on this machine.
func Command() *cobra.Command {
	f := new(flags)
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Runs the gateway, Temporal and a sample partner on this machine",
		Long: `Runs the gateway with everything it needs, to try it and to develop against it: a Temporal server with its UI
(temporal-dev, which lies beside this program), the gateway, and a sample partner that receives what the gateway
delivers (as hiregate listen does). All of it listens on this machine's loopback addresses only.

Once all of it answers, it prints the addresses to open, and then the lines of the sample partner and warnings. What
else the gateway logs is in gateway.log in the folder of the data. At http://localhost:8080 the gateway has

  /hooks/acme             receives exports of the tenant acme; secret acme-signing-secret
  /hooks?client=globex    receives exports of the tenant globex; secret globex-signing-secret
  /console                the web console
  /apply                  the Apply API; user partner@example.com, password correct horse, job NURSE-1
  /jobs/NURSE-1           the form where people apply for that job
  /signin                 the OpenID provider; client demo, secret demo-secret
  /manage                 the management API; key dev-key, described at /manage/openapi.json
  /healthz, /metrics      for monitoring

The tenant initech has sample data: candidates, jobs and job applications. Its integration is this gateway's own hook
of acme, so hiregate candidate export initech/c-zoe sends to acme. The sample partner's secret is hris-signing-secret.

The data lies in the folder --dir and is there again at the next start, unless that has --reset. The gateway's
configuration is written to dev.Caddyfile in that folder at every start.

Ctrl-C stops all of it: first the gateway, which finishes what it is sending, then the others. A second Ctrl-C
ends everything at once.`,
		Example: `  hiregate dev
  hiregate dev --reset        # begin again, with only the sample data
  hiregate dev --break        # the sample partner fails for a minute, is slow for one, and heals
  hiregate dev --http 9080 --dir /tmp/hiregate
  hiregate dev --no-partner --partner 3000   # your own application listens on port 3000, at /acme/inbound
  hiregate dev --no-partner   # and, from another terminal: hiregate listen --secret hris-signing-secret --fail-rate 0.5`,
		SilenceUsage: true, // it would hide the error
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && cmd.Flags().Changed("break") {
				return fmt.Errorf("dev takes no arguments: write --break=%s, without a space", args[0])
			}
			return terminal.Exactly(0, "dev takes no arguments: `hiregate dev --help` lists the flags")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runtime.GOOS == "windows" {
				return errors.New("hiregate dev runs on Linux and macOS: on Windows use WSL, or start a gateway with hiregate run")
			}
			ctx, stop := terminal.Interruptible(cmd)
			defer stop()
			err := f.run(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr())
			if ctx.Err() != nil {
				return nil // an interrupt is no error, nor is what it interrupted
			}
			return err
		},
	}
	cmd.SetFlagErrorFunc(terminal.FlagError)
	fl := cmd.Flags()
	fl.IntVar(&f.http, "http", 8080, "port of the gateway")
	fl.IntVar(&f.temporal, "temporal", 7233, "port of Temporal")
	fl.IntVar(&f.ui, "ui", 8233, "port of Temporal's UI")
	fl.IntVar(&f.partner, "partner", 8090, "port of the sample partner")
	fl.IntVar(&f.admin, "admin", 2019, "port of Caddy's admin API")
	fl.BoolVar(&f.noPartner, "no-partner", false, "leave the sample partner out; deliveries still go to its port")
	fl.BoolVar(&f.verbose, "verbose", false, "show all that the gateway logs")
	fl.DurationVar(&f.breaks, "break", 0, "show what becomes of exports while the sample partner fails for so "+
		"long, is slow for as long, and is well again (without a value: 1m)")
	fl.Lookup("break").NoOptDefVal = "1m"
	fl.StringVar(&f.dir, "dir", ".hiregate", "folder of the data")
	fl.BoolVar(&f.reset, "reset", false, "remove the data of earlier runs first: exports, documents, people, workflows")
	return cmd
}

func (f *flags) ports() []port {
	ports := []port{
		{flag: "http", number: f.http, both: true},
		{flag: "temporal", number: f.temporal},
		{flag: "ui", number: f.ui},
		{flag: "partner", number: f.partner},
		{flag: "admin", number: f.admin},
	}
	if f.noPartner {
		ports = append(ports[:3], ports[4])
	}
	return ports
}

// run runs until ctx ends or a child does. Lines of the children and the table go to out, what else there is to say to
// hints.
func (f *flags) run(ctx context.Context, out, hints io.Writer) error {
	began := time.Now()
	if f.dir == "" { // it would be the folder one is in
		return terminal.Usage(errors.New("--dir is empty: name the folder of the data, or leave --dir out for .hiregate"))
	}
	switch {
	case f.breaks != 0 && f.breaks < time.Second:
		return terminal.Usage(errors.New("--break must be at least 1s: it is how long the sample partner fails"))
	case f.breaks != 0 && f.noPartner:
		return terminal.Usage(errors.New("--break has the sample partner fail: leave out --no-partner"))
	}
	if err := checkPorts(f.ports()); err != nil {
		return terminal.Usage(err)
	}
	server, err := findTemporal()
	if err != nil {
		return err
	}
	if err := f.prepareDir(); err != nil {
		return err
	}
	claim, err := claimDir(ctx, f.dir)
	if err != nil {
		return err
	}
	defer claim.release()
	if err := tryPortsAgain(f.ports()); err != nil {
		return err
	}
	if f.reset {
		if err := reset(f.dir); err != nil {
			return err
		}
	}
	log, err := openLog(f.dir)
	if err != nil {
		return err
	}
	defer log.close()
	config := filepath.Join(f.dir, configName)
	if err := os.WriteFile(config, caddyfile.Dev, 0o600); err != nil {
		return fmt.Errorf("writing the gateway's configuration: %w", err)
	}
	progress := func(format string, args ...any) { fmt.Fprintf(hints, format+"\n", args...) }
	progress("Starting Temporal, the gateway and the rest; the data lies in %s", f.dir)
	c := &crew{began: began, progress: progress, inherit: claim.children, lost: make(chan *child, 3)}
	defer c.stop()
	console := newConsole(out)
	console.verbose = f.verbose
	defer console.close()
	partner, err := f.start(ctx, c, server, config, console, log)
	if err != nil {
		return err
	}
	if err := f.sampleData(ctx); err != nil {
		return err
	}
	if err := f.announce(out, time.Since(began)); err != nil {
		return err
	}
	console.release()
	if f.breaks > 0 {
		playing, end := context.WithCancel(ctx)
		var play sync.WaitGroup
		play.Go(func() { f.play(playing, partner, console) })
		defer play.Wait()
		defer end()
	}
	return c.wait(ctx)
}

func (f *flags) prepareDir() error {
	dir, err := filepath.Abs(f.dir)
	if err != nil {
		return fmt.Errorf("--dir %s: %w", f.dir, terminal.Cause(err))
	}
	if strings.ContainsAny(dir, "\"`{}%?#\n\\") {
		return fmt.Errorf("--dir %s can't stand in a Caddyfile: choose a folder whose path has no quotes, braces, "+
			"backslashes, nor any of %%, ? and #", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("--dir %s can't be made: %w", dir, terminal.Cause(err))
	}
	f.dir = dir
	return nil
}

// start starts the children and waits until each answers: the gateway last, because it asks for the others at once. It
// returns the sample partner; nil with --no-partner.
func (f *flags) start(
	ctx context.Context, c *crew, server temporalProgram, config string, console *console, log *logFile,
) (partner *child, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program itself: %w", err)
	}
	temporal := server.child(f.dir, f.temporal, f.ui, console.lines("temporal", 35))
	if err := c.start(temporal); err != nil {
		return nil, err
	}
	if !f.noPartner {
		partner = f.partnerChild(self, console.lines("partner", 32))
		if err := c.start(partner); err != nil {
			return nil, err
		}
		if err := c.await(ctx, partner); err != nil {
			return nil, err
		}
	}
	if err := c.await(ctx, temporal); err != nil {
		return nil, err
	}
	key, err := f.signinKey()
	if err != nil {
		return nil, err
	}
	lines := console.lines("gateway", 36)
	lines.log = log
	gateway := f.gatewayChild(self, config, key, lines)
	if err := c.start(gateway); err != nil {
		return nil, err
	}
	return partner, c.await(ctx, gateway)
}

func (f *flags) partnerChild(self string, lines *lines) *child {
	cmd := exec.Command(self, "listen", "--addr", loopback(f.partner), "--lifeline", "--issuer", f.issuer())
	cmd.Env = append(os.Environ(), terminal.SecretVariable+"="+partnerSecret, listen.ClientSecretVariable+"="+demoSecret)
	return &child{name: "the sample partner", cmd: cmd, lines: lines, answers: answering(f.partner),
		grace: 5 * time.Second}
}

func (f *flags) gatewayChild(self, config, key string, lines *lines) *child {
	cmd := exec.Command(self, "run", "--config", config, "--adapter", "caddyfile")
	bind := "shared/127.0.0.1"
	if hasIPv6() {
		bind += " shared/[::1]"
	}
	cmd.Env = append(os.Environ(),
		lifeline.Variable+"=stdin",
		"HIREGATE_BIND="+bind,
		"HIREGATE_HTTP_PORT="+strconv.Itoa(f.http),
		"HIREGATE_ADMIN_PORT="+strconv.Itoa(f.admin),
		"HIREGATE_TEMPORAL_PORT="+strconv.Itoa(f.temporal),
		"HIREGATE_TEMPORAL_UI_PORT="+strconv.Itoa(f.ui),
		"HIREGATE_PARTNER_PORT="+strconv.Itoa(f.partner),
		"HIREGATE_DIR="+f.dir,
		"HIREGATE_SIGNIN_KEY="+key,
		"XDG_CONFIG_HOME="+filepath.Join(f.dir, "caddy"),
		"XDG_DATA_HOME="+filepath.Join(f.dir, "caddy"),
	)
	// Above the 25 s that its workers take for the attempts that are under way, and the 10 s of its requests.
	return &child{name: "the gateway", cmd: cmd, lines: lines, answers: f.healthy, grace: 40 * time.Second}
}

// healthy asks the gateway whether it reaches everything it needs.
func (f *flags) healthy(ctx context.Context) error {
	response, err := ask(ctx, fmt.Sprintf("http://%s/healthz", loopback(f.http)))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var health struct {
		Status string `json:"status"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&health); err != nil {
		return fmt.Errorf("its /healthz answers %s, and not in JSON", response.Status)
	}
	if health.Status != "ok" {
		return fmt.Errorf("its /healthz says %q", health.Status)
	}
	return nil
}

// answering returns the check that a GET at a port answers 200.
func answering(port int) func(context.Context) error {
	return func(ctx context.Context) error {
		response, err := ask(ctx, fmt.Sprintf("http://%s/", loopback(port)))
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("port %d answers %s", port, response.Status)
		}
		return nil
	}
}

func ask(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return terminal.Exchange(terminal.Direct, request)
}

func loopback(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }
