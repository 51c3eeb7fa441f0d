// Command bench measures the gateway on this machine, beside a bare Caddy in the same run, and prints one table.
// Client and servers share the machine: ratios tell more than rates.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
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
	if len(os.Args) > 1 && os.Args[1] == "run" { // we are the server that syncs bodies to files
		lifeline.Hold()
		caddycmd.Main()
		return
	}
	var b bench
	flag.DurationVar(&b.during, "during", 8*time.Second, "how long each load lasts")
	flag.IntVar(&b.rounds, "rounds", 48, "how often each server that acknowledges is loaded, half a second each, in "+
		"turn; the median counts")
	flag.IntVar(&b.exports, "exports", 1500, "how many exports go end to end")
	flag.IntVar(&b.listed, "listed", 1_000_000, "over how many exports the lists are measured, beside 10,000, "+
		"and the console")
	flag.StringVar(&b.temporal, "temporal-dev", os.Getenv("TEMPORAL_DEV_BIN"), "the temporal-dev binary")
	flag.StringVar(&b.binary, "hiregate", "bin/hiregate", "the gateway's binary")
	flag.BoolVar(&b.acks, "acks", false, "measure the acknowledgements alone")
	flag.IntVar(&b.wrong, "timing", 0, "measure nothing but this many wrong passwords, for a known user and "+
		"for unknown ones each")
	flag.BoolVar(&b.shares, "tenants", false,
		"measure nothing but how much a tenant with slow partners delays another one")
	flag.BoolVar(&b.onPostgres, "postgres", false, "measure a scenario on PostgreSQL")
	flag.StringVar(&b.only, "scenario", "", "measure nothing but how exports leave: burst, documents, sustained, "+
		"low, hang, backlog, costs or health; or the pages of the console")
	flag.IntVar(&b.burstSize, "burst", 20_000, "how many exports are a burst; a quarter of it with documents")
	flag.DurationVar(&b.sustain, "sustain", 5*time.Minute, "how long exports are sent in the scenario sustained")
	flag.IntVar(&b.waiting, "waiting", 100_000, "how many exports wait in the scenario backlog")
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

// bench is one run of everything.
type bench struct {
	during                  time.Duration
	rounds, exports, listed int
	burstSize, waiting      int
	sustain                 time.Duration
	wrong                   int
	acks, shares            bool
	onPostgres              bool
	only                    string
	temporal, binary        string

	self     string // this program, which is a server as well
	dir      string
	postgres *storetest.Server
	made     int // databases of it
}

// database gives the address of an empty database: a new one in PostgreSQL, or the file of a folder.
func (b *bench) database(postgres bool, folder string) (string, error) {
	if !postgres {
		return "sqlite://" + filepath.Join(folder, "hiregate.db"), nil
	}
	b.made++
	return b.postgres.Create(fmt.Sprint("bench_", b.made), "template1")
}

func (b *bench) run(payload string) error {
	body, err := os.ReadFile(payload)
	if err != nil {
		return fmt.Errorf("reading the export to send: %w (run it from the repository's root)", err)
	}
	if b.binary, err = filepath.Abs(b.binary); err != nil {
		return err
	}
	bare, err := withoutAttachments(body)
	if err != nil {
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
	if b.wrong > 0 {
		return b.timing(b.wrong)
	}
	if b.shares {
		return b.tenants()
	}
	if b.only != "" && !b.onPostgres {
		return b.scenario(b.only, bare, body)
	}
	if b.postgres, err = storetest.NewServer(); err != nil {
		return err
	}
	defer b.postgres.Close()
	if b.only != "" {
		return b.scenario(b.only, bare, body)
	}
	say("acknowledgements: %d rounds of %s for each of four servers, %d connections, %d bytes", b.rounds, turn,
		connections, len(body))
	acks, err := b.acknowledgements(body)
	if err != nil {
		return err
	}
	if err := reportAcknowledgements(acks); err != nil || b.acks {
		return err
	}
	say("applications: %s without a file and %s with one, for each of three servers", b.during, b.during)
	taken, err := b.applications()
	if err != nil {
		return err
	}
	if err := reportApplications(taken); err != nil {
		return err
	}
	for _, postgres := range []bool{false, true} {
		if err := b.rest(postgres, bare); err != nil {
			return fmt.Errorf("on %s: %w", nameOf(postgres), err)
		}
	}
	return nil
}

// tidyWhenInterrupted removes the folder, which may hold a million exports.
func (b *bench) tidyWhenInterrupted() {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	<-interrupted
	os.RemoveAll(b.dir)
	fmt.Fprintln(os.Stderr, "bench: it was interrupted")
	os.Exit(1)
}

func nameOf(postgres bool) string {
	if postgres {
		return "PostgreSQL"
	}
	return "SQLite"
}

// rest measures on one database what is not compared with a bare Caddy.
func (b *bench) rest(postgres bool, body []byte) error {
	database := nameOf(postgres)
	say("end to end on %s: %d exports through Temporal to a partner", database, b.exports)
	through, err := b.endToEnd(postgres, body)
	if err != nil {
		return err
	}
	say("transitions into a step with a helper, on %s: %s", database, b.during)
	entered, err := b.transitions(postgres)
	if err != nil {
		return err
	}
	say("lists over 10000 and %d exports on %s", b.listed, database)
	pages, err := b.lists(postgres)
	if err != nil {
		return err
	}
	if err := reportRest(database, through, entered, pages); err != nil {
		return err
	}
	return b.signin(postgres)
}

// signed are the headers of an export, but for its UUID.
func signed(body []byte) string {
	return "X-Service-Event: " + webhook.EventExport + "\r\nX-Service-Signature: " + webhook.Sign(secret, body) + "\r\n"
}

// withoutAttachments takes the documents out of an export: nobody serves them here, and their fetching would go on for
// hours.
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

// table is what a report writes its rows to: cells that end with tabs.
func table() *tabwriter.Writer {
	return tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
}

func reportRest(database string, through throughput, entered result, pages []listed) error {
	w := table()
	fmt.Fprintf(w, "\non %s\tper second\tp50\tp99\tfailed\t\n", database)
	fmt.Fprintf(w, "end to end (Temporal on SQLite), %d history events\t%.0f\t\t\t%d\t\n", through.Events, through.Rate,
		through.Lost)
	fmt.Fprintf(w, "transitions with a helper\t%.0f\t%s\t%d\t\n", entered.rate(), entered.percentiles(), entered.Failed)
	for _, p := range pages {
		for _, l := range theLists {
			took := p.Times[l.name]
			fmt.Fprintf(w, "a page of 50, %s, of %d exports\t\t%s\t%s\t\t\n", l.name, p.Exports,
				took[0].Round(time.Microsecond), took[1].Round(time.Microsecond))
		}
	}
	return w.Flush()
}
