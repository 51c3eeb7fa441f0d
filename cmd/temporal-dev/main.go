// Command temporal-dev is a Temporal server with its web UI in one process, on one SQLite file. It is what
// `hiregate dev` and the end-to-end tests run workflows on: the real server, not a test environment.
//
// It is a Go module of its own because Caddy and the Temporal server need versions of OpenTelemetry and of the
// Temporal API that do not compile together.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/headers"
	"go.uber.org/zap"
)

// version is stamped by the Makefile.
var version = "dev"

const (
	startTimeout = 60 * time.Second // of the server, and again of what is prepared in it
	stopTimeout  = 5 * time.Second
)

// options are the flags, checked.
type options struct {
	db         string // absolute path
	ip         net.IP // loopback
	port       int
	uiPort     int // 0: no UI
	metrics    int // port; 0: no metrics
	namespaces []string
	attributes map[string]enumspb.IndexedValueType
	logLevel   string
	lifeline   bool
	version    bool
}

func main() {
	o, err := parse(os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "temporal-dev:", err)
		os.Exit(2)
	case o.version:
		fmt.Printf("temporal-dev %s (Temporal Server %s)\n", version, headers.ServerVersion)
		return
	}
	if o.lifeline {
		go exitAtEOF(os.Stdin)
	}
	if err := run(o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "temporal-dev:", err)
		os.Exit(1)
	}
}

// parse reads the flags. Errors are sentences for the person at the terminal; flag.ErrHelp means that help was asked
// for and has been written to help.
func parse(args []string, help io.Writer) (options, error) {
	o := options{attributes: map[string]enumspb.IndexedValueType{}}
	var db, ip string
	f := flag.NewFlagSet("temporal-dev", flag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are returned
	f.StringVar(&db, "db", "temporal.db", "SQLite `file`; created when absent, its state survives a restart")
	f.StringVar(&ip, "ip", "127.0.0.1", "loopback `address` of the frontend and the UI")
	f.IntVar(&o.port, "port", 7233, "`port` of the frontend (gRPC)")
	f.IntVar(&o.uiPort, "ui-port", 8233, "`port` of the web UI; 0: no UI")
	f.IntVar(&o.metrics, "metrics-port", 0, "`port` of the server's metrics, for Prometheus, at /metrics; 0: none")
	f.StringVar(&o.logLevel, "log-level", "error", "error, warn or info, on standard error")
	f.BoolVar(&o.lifeline, "lifeline", false, "end at once when standard input reaches its end")
	f.BoolVar(&o.version, "version", false, "print the version and end")
	f.Func("namespace", "`name`, created when missing with 72 h retention; repeatable (default \"default\")",
		func(s string) error {
			if s == "" {
				return errors.New("a namespace needs a name")
			}
			o.namespaces = append(o.namespaces, s)
			return nil
		})
	f.Func("search-attribute", "`name=type`, registered when missing (for instance Colour=Keyword); repeatable",
		func(s string) error {
			name, kind, _ := strings.Cut(s, "=")
			t, err := enumspb.IndexedValueTypeFromString(kind)
			if name == "" || err != nil {
				return errors.New("want Name=Type, with Type one of Text, Keyword, Int, Double, Bool, Datetime, KeywordList")
			}
			o.attributes[name] = t
			return nil
		})
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(help, "temporal-dev runs a Temporal server with its web UI on one SQLite file.")
			f.SetOutput(help)
			f.PrintDefaults()
		}
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q; every option is a flag, see --help", f.Arg(0))
	}
	if o.namespaces == nil {
		o.namespaces = []string{"default"}
	}
	if o.ip = net.ParseIP(ip); o.ip == nil || !o.ip.IsLoopback() {
		return o, fmt.Errorf("--ip %s: want a loopback address such as 127.0.0.1, because this server lets everyone in", ip)
	}
	if o.port < 1 || o.port > 65535 {
		return o, fmt.Errorf("--port %d: want a port from 1 to 65535", o.port)
	}
	if o.uiPort < 0 || o.uiPort > 65535 {
		return o, fmt.Errorf("--ui-port %d: want a port from 1 to 65535, or 0 for no UI", o.uiPort)
	}
	if o.metrics < 0 || o.metrics > 65535 {
		return o, fmt.Errorf("--metrics-port %d: want a port from 1 to 65535, or 0 for no metrics", o.metrics)
	}
	if o.logLevel != "error" && o.logLevel != "warn" && o.logLevel != "info" {
		return o, fmt.Errorf("--log-level %s: want error, warn or info", o.logLevel)
	}
	var err error
	if o.db, err = filepath.Abs(db); err != nil {
		return o, fmt.Errorf("--db %s: %w", db, err)
	}
	return o, nil
}

// run starts everything, says so in one line on out, and stops at SIGINT or SIGTERM. A second signal ends the
// process at once.
func run(o options, out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	if err := checkPorts(o); err != nil {
		return err
	}
	unlock, err := lock(o.db)
	if err != nil {
		return err
	}
	defer unlock()

	cfg, err := newConfig(o)
	if err != nil {
		return err
	}
	if err := create(o.db); err != nil {
		return err
	}
	if err := createSchema(cfg); err != nil {
		return err
	}
	for _, file := range []string{o.db, o.db + "-wal", o.db + "-shm"} { // an earlier version left that to the umask
		if err := os.Chmod(file, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("can't make the database readable for its owner alone, choose another file with --db: %w", err)
		}
	}
	logger, level := newLogger(o.logLevel)
	srv, err := newServer(cfg, logger)
	if err != nil {
		return err
	}
	if err := srv.Start(); err != nil {
		return fmt.Errorf("start the Temporal server: %w", err)
	}
	defer func() {
		level.SetLevel(zap.FatalLevel) // services complain about each other while they are taken down
		shutdown(srv)
	}()

	line := "temporal-dev: ready on " + o.frontend()
	if o.uiPort != 0 {
		stopUI, err := startUI(o)
		if err != nil {
			return err
		}
		defer stopUI()
		line += ", UI on http://" + o.ui()
	}

	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err = prepare(starting, o)
	if err == nil && o.uiPort != 0 {
		err = eventually(starting, func() error { return answers("http://" + o.ui() + "/healthz") })
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	fmt.Fprintln(out, line)

	<-ctx.Done()
	stop()
	return nil
}

// shutdown gives the server a few seconds. What it does not manage in that time is taken up at the next start, as
// after a crash.
func shutdown(srv interface{ Stop() error }) {
	done := make(chan error, 1)
	go func() { done <- srv.Stop() }()
	select {
	case err := <-done:
		if err != nil {
			fmt.Fprintln(os.Stderr, "temporal-dev: stop the Temporal server:", err)
		}
	case <-time.After(stopTimeout):
		fmt.Fprintf(os.Stderr, "temporal-dev: the Temporal server did not stop within %s, ending anyway\n", stopTimeout)
	}
}

// exitAtEOF ends the process when r does: a parent that dies, however it dies, closes its end of the pipe.
func exitAtEOF(r io.Reader) {
	_, _ = io.Copy(io.Discard, r)
	os.Exit(0)
}

func answers(url string) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", url, resp.Status)
	}
	return nil
}
