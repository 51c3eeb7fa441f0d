package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// measured is the median round of one server.
type measured struct {
	Name string
	result
	Syncs float64       // syncs of the disk for each answer; negative: not counted
	CPU   time.Duration // processor time of the server for each answer
}

// acknowledgements loads four servers in turn: a bare Caddy, one that syncs each body to a file, and the gateway on both databases.
// Temporal is away, so that what is measured is the way to the acknowledgement and nothing else.
func acknowledgements(binary, dir, headers string, body []byte, rounds int, during time.Duration, postgres func() (string, error)) ([]measured, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	sites := []struct {
		name, binary, site string
		database           func() (string, error)
	}{
		{"bare Caddy, respond 202", binary, "respond 202", nil},
		{"Caddy, body synced to a file", self, "bench_sync * " + filepath.Join(dir, "bodies"), nil},
		{"hiregate, durable, on SQLite", binary, gatewaySite, nil},
		{"hiregate, durable, on PostgreSQL", binary, gatewaySite, postgres},
	}
	all := make([][]measured, len(sites))
	for round := range rounds {
		for n, s := range sites {
			o := options{folder: filepath.Join(dir, fmt.Sprintf("ack-%d-%d", round, n)), site: s.site}
			if s.database != nil {
				if o.database, err = s.database(); err != nil {
					return nil, err
				}
			}
			one, err := acknowledge(s.binary, o, headers, body, during)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			one.Name = s.name
			say("  %-32s %6.0f/s  p99 %s", s.name, one.rate(), one.P99.Round(10*time.Microsecond))
			all[n] = append(all[n], one)
		}
	}
	var medians []measured
	for _, one := range all {
		slices.SortFunc(one, func(a, b measured) int { return cmp.Compare(a.rate(), b.rate()) })
		medians = append(medians, one[len(one)/2])
	}
	return medians, nil
}

func acknowledge(binary string, o options, headers string, body []byte, during time.Duration) (measured, error) {
	defer os.RemoveAll(o.folder)
	s, err := serve(binary, o)
	if err != nil {
		return measured{}, err
	}
	defer s.stop()
	hook := same("/hooks/acme", body)
	if _, err := load(s.address, headers, hook, http.StatusAccepted, connections, during/8); err != nil { // warm up
		return measured{}, err
	}
	m := measured{Syncs: -1}
	before, _ := s.metric("hiregate_store_commits")
	if m.result, m.CPU, err = s.under(func() (result, error) {
		return load(s.address, headers, hook, http.StatusAccepted, connections, during)
	}); err != nil {
		return measured{}, err
	}
	m.CPU /= time.Duration(m.Requests)
	if after, err := s.metric("hiregate_store_commits"); err == nil {
		m.Syncs = (after - before) / float64(m.Requests)
	}
	return m, nil
}

const gatewaySite = `export_receiver {
		tenant_from path 1
	}`

// server is a Caddy with our modules in it, in a process of its own.
type server struct {
	address string
	command *exec.Cmd
}

// options are what a server is made of beside its binary.
type options struct {
	folder, site string
	database     string // default: SQLite in the folder
	temporal     string // default: nobody answers there
	partner      string // host:port to deliver to; empty: nobody
	global       string // further global options
}

func serve(binary string, o options) (*server, error) {
	if err := os.MkdirAll(o.folder, 0o700); err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	integration := ""
	if o.partner != "" {
		integration = "integration hris {\nurl http://" + o.partner + "/inbound\nsecret " + secret + "\ndocuments passthrough\nverify off\n}"
	}
	folder := o.folder
	config := fmt.Sprintf(`{
	admin off
	auto_https off
	persist_config off
	log {
		level ERROR
	}
	%[8]s
	hiregate {
		dev
		public_url http://%[1]s
		database %[7]s
		documents file:%[2]s/documents
		temporal %[3]s
		egress allow 127.0.0.0/8
		tenant acme {
			secret %[4]s
			%[5]s
		}
	}
}
http://%[1]s {
	handle /metrics {
		metrics
	}
	handle_path /manage/* {
		manage_api
	}
	handle {
		%[6]s
	}
}
`, address, folder, cmp.Or(o.temporal, "127.0.0.1:1"), secret, integration, o.site, cmp.Or(o.database, "sqlite:"+folder+"/hiregate.db"), o.global)
	file := filepath.Join(folder, "Caddyfile")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	c := exec.Command(binary, "run", "--config", file, "--adapter", "caddyfile")
	c.Env = append(os.Environ(), "XDG_CONFIG_HOME="+folder, "XDG_DATA_HOME="+folder, "HIREGATE_SIGNIN_KEY=a text of more than thirty-two characters, for a bench")
	var log strings.Builder
	c.Stdout, c.Stderr = io.Discard, &log
	if err := c.Start(); err != nil {
		return nil, err
	}
	s := &server{address, c}
	if err := eventually(30*time.Second, func() error { _, err := s.metric("go_goroutines"); return err }); err != nil {
		s.stop()
		return nil, fmt.Errorf("the server did not come up: %w\n%s", err, log.String())
	}
	return s, nil
}

func (s *server) stop() {
	s.command.Process.Signal(syscall.SIGTERM)
	s.command.Wait()
}

// under is a load, with the processor time that the server spent on it.
func (s *server) under(load func() (result, error)) (r result, cpu time.Duration, err error) {
	const spent = "process_cpu_seconds_total"
	before, err := s.metric(spent)
	if err != nil {
		return r, 0, err
	}
	if r, err = load(); err != nil {
		return r, 0, err
	}
	after, err := s.metric(spent)
	return r, time.Duration((after - before) * float64(time.Second)), err
}

// metric reads one sample without labels from the server's /metrics.
func (s *server) metric(name string) (float64, error) {
	resp, err := http.Get("http://" + s.address + "/metrics")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("no metric %s", name)
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func eventually(patience time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

func machine() string {
	return fmt.Sprintf("%s, %d cores, client and servers on this one machine", runtime.Version(), runtime.NumCPU())
}

// syncer is the handler to compare with: it writes each body to a file of its own and syncs that before it answers.
type syncer struct {
	Folder string `json:"folder"`
}

func init() {
	caddy.RegisterModule(syncer{})
	httpcaddyfile.RegisterHandlerDirective("bench_sync", func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		h.Next()
		var s syncer
		if !h.AllArgs(&s.Folder) {
			return nil, h.ArgErr()
		}
		return &s, nil
	})
	httpcaddyfile.RegisterDirectiveOrder("bench_sync", httpcaddyfile.Before, "respond")
}

// CaddyModule implements caddy.Module.
func (syncer) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.bench_sync", New: func() caddy.Module { return new(syncer) }}
}

// Provision makes the folder.
func (s *syncer) Provision(caddy.Context) error { return os.MkdirAll(s.Folder, 0o700) }

// ServeHTTP implements caddyhttp.MiddlewareHandler.
func (s *syncer) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	f, err := os.CreateTemp(s.Folder, "body-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := io.Copy(f, r.Body); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}
