// Command bench measures the gateway on this machine, and a bare Caddy beside it. Client and servers share the machine:
// compare ratios rather than rates.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	"github.com/hiregate/hiregate/internal/cli/lifeline"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/internal/webhook"
	_ "github.com/hiregate/hiregate/modules"
)

const (
	connections = 32
	secret      = "bench-secret"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "run" { // as the server with the handler bench_read
		lifeline.Hold()
		caddycmd.Main()
		return
	}
	var b bench
	flag.StringVar(&b.only, "scenario", "", "measure only this `scenario`: "+strings.Join(scenarioNames(), ", "))
	flag.BoolFunc("acks", "the same as -scenario acks", func(string) error { b.only = "acks"; return nil })
	flag.BoolVar(&b.onPostgres, "postgres", false, "measure on PostgreSQL; acks and signin measure on both databases")
	flag.DurationVar(&b.during, "during", 8*time.Second, "how long a load lasts in signin, low and hang")
	flag.IntVar(&b.rounds, "rounds", 48, "how often acks loads each server, half a second each, in turn")
	flag.IntVar(&b.burstSize, "burst", 20_000, "how many exports are a burst; a quarter of them with documents")
	flag.DurationVar(&b.sustain, "sustain", 5*time.Minute, "how long sustained sends exports")
	flag.IntVar(&b.waiting, "waiting", 100_000, "how many exports wait in backlog and release")
	flag.IntVar(&b.listed, "listed", 1_000_000, "how many exports console lists")
	flag.StringVar(&b.temporal, "temporal-dev", os.Getenv("TEMPORAL_DEV_BIN"), "the temporal-dev binary")
	flag.StringVar(&b.s3, "s3-dev", os.Getenv("S3_DEV_BIN"), "the s3-dev binary")
	flag.StringVar(&b.binary, "hiregate", "bin/hiregate", "the gateway's binary")
	flag.IntVar(&b.aged, "aged", 200_000, "how many exports retention deletes")
	flag.DurationVar(&b.minute, "minute", time.Minute,
		"how long recovery measures before a fault, and after it; in faults they last three quarters of it at most")
	flag.IntVar(&b.perSecond, "rate", 0, "exports a second in recovery and faults; 0: 60 % of what leaves in a burst, and 100")
	flag.IntVar(&b.times, "times", 3, "how often recovery makes each fault")
	flag.StringVar(&b.fault, "fault", "",
		"recovery and faults make only this `fault`: "+strings.Join(faultNames(recoveryFaults), ", ")+", receiver; "+
			strings.Join(faultNames(clusterFaults), ", "))
	payload := flag.String("payload", "testdata/samples/export-full.json", "the export that is sent")
	flag.Parse()
	if b.rounds < 1 {
		fmt.Fprintln(os.Stderr, "bench: -rounds must be at least 1")
		os.Exit(2)
	}
	if err := b.run(*payload); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run of the program: its flags, and what its scenarios share.
type bench struct {
	only                       string // scenario; empty: all
	onPostgres                 bool
	during, sustain            time.Duration
	rounds                     int
	burstSize, waiting, listed int
	aged                       int
	minute                     time.Duration
	perSecond, times           int
	fault                      string
	temporal, s3, binary       string
	roundTrip                  time.Duration // what a round trip to PostgreSQL takes longer

	full, body []byte // the export to send, with its documents and without
	self       string // path of this program
	dir        string
	postgres   *storetest.Server // started when a scenario first needs it
	created    int               // databases in it
}

func (b *bench) run(payload string) (err error) {
	if b.full, err = os.ReadFile(payload); err != nil {
		return fmt.Errorf("reading the export to send: %w (run it from the repository's root)", err)
	}
	if b.body, err = withoutAttachments(b.full); err != nil {
		return err
	}
	if b.binary, err = filepath.Abs(b.binary); err != nil {
		return err
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "hiregate-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	go b.tidyWhenInterrupted()
	defer func() {
		if b.postgres != nil {
			b.postgres.Close()
		}
	}()
	return b.runScenarios()
}

// database returns the address of an empty database: a new one in PostgreSQL, or a SQLite file in the folder.
func (b *bench) database(postgres bool, folder string) (address string, err error) {
	if !postgres {
		return "sqlite://" + filepath.Join(folder, "hiregate.db"), nil
	}
	if b.postgres == nil {
		if b.postgres, err = storetest.NewServer(); err != nil {
			return "", err
		}
	}
	b.created++
	address, err = b.postgres.Create(fmt.Sprint("bench_", b.created), "template1")
	if err == nil && b.roundTrip > 0 {
		address, err = away(address, b.roundTrip)
	}
	return address, err
}

// tidyWhenInterrupted removes the folder, which may hold a million exports.
func (b *bench) tidyWhenInterrupted() {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	<-interrupted
	os.RemoveAll(b.dir)
	fmt.Fprintln(os.Stderr, "bench: interrupted")
	os.Exit(1)
}

func nameOf(postgres bool) string {
	if postgres {
		return "PostgreSQL"
	}
	return "SQLite"
}

// signed returns the headers of an export, except its UUID.
func signed(body []byte) string {
	return "X-Service-Event: " + webhook.EventExport + "\r\nX-Service-Signature: " + webhook.Sign(secret, body) + "\r\n"
}

// withoutAttachments removes the documents from an export. No server has them here, and the gateway would try to fetch
// them for hours.
func withoutAttachments(body []byte) ([]byte, error) {
	var export struct {
		Candidate map[string]any `json:"candidate"`
	}
	if err := json.Unmarshal(body, &export); err != nil {
		return nil, fmt.Errorf("reading the export to send: %w", err)
	}
	profiles, _ := export.Candidate["profiles"].([]any)
	for _, p := range profiles {
		if profile, ok := p.(map[string]any); ok {
			delete(profile, "attachments")
		}
	}
	return json.Marshal(export)
}

func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}

// table returns a writer to standard output that aligns cells, each of which ends with a tab.
func table() *tabwriter.Writer {
	return tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
}
