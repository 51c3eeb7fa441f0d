// Command bench measures the gateway on this machine, beside a bare Caddy in the same run, and prints one table. Client and
// servers share the machine: ratios tell more than rates.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	"github.com/hiregate/hiregate/internal/webhook"
	_ "github.com/hiregate/hiregate/modules"
)

const (
	connections = 32
	secret      = "bench-secret"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "run" { // we are the server that syncs bodies to files
		caddycmd.Main()
		return
	}
	during := flag.Duration("during", 8*time.Second, "how long each load lasts")
	rounds := flag.Int("rounds", 3, "how often the acknowledgement loads are repeated, in turn; the median counts")
	exports := flag.Int("exports", 1500, "how many exports go end to end")
	temporal := flag.String("temporal-dev", os.Getenv("TEMPORAL_DEV_BIN"), "the temporal-dev binary")
	binary := flag.String("hiregate", "bin/hiregate", "the gateway's binary")
	payload := flag.String("payload", "testdata/samples/export-full.json", "the export that is sent")
	flag.Parse()
	if err := run(*binary, *during, *rounds, *exports, *temporal, *payload); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(binary string, during time.Duration, rounds, exports int, temporal, payload string) error {
	body, err := os.ReadFile(payload)
	if err != nil {
		return fmt.Errorf("reading the export to send: %w (run it from the repository's root)", err)
	}
	if binary, err = filepath.Abs(binary); err != nil {
		return err
	}
	bare, err := withoutAttachments(body)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "hiregate-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	say("acknowledgements: %d rounds of %s for each of three servers, %d connections, %d bytes", rounds, during, connections, len(body))
	acks, err := acknowledgements(binary, dir, signed(body), body, rounds, during)
	if err != nil {
		return err
	}
	say("end to end: %d exports through Temporal to a partner", exports)
	through, err := endToEnd(binary, dir, temporal, signed(bare), bare, exports)
	if err != nil {
		return err
	}
	return report(acks, through)
}

// signed are the headers of an export, but for its UUID.
func signed(body []byte) string {
	return "X-Service-Event: " + webhook.EventExport + "\r\nX-Service-Signature: " + webhook.Sign(secret, body) + "\r\n"
}

// withoutAttachments takes the documents out of an export: nobody serves them here, and their fetching would go on for hours.
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

func report(acks []measured, through throughput) error {
	fmt.Printf("\n%s\n\n", strings.TrimSpace(machine()))
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "server\tanswers/s\tof bare\tp50\tp99\tsyncs/answer\tfailed\t")
	for _, m := range acks {
		syncs := "-"
		if m.Syncs >= 0 {
			syncs = fmt.Sprintf("%.3f", m.Syncs)
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.2f\t%s\t%s\t%s\t%d\t\n", m.Name, m.rate(), m.rate()/acks[0].rate(),
			m.P50.Round(10*time.Microsecond), m.P99.Round(10*time.Microsecond), syncs, m.Failed)
	}
	fmt.Fprintln(w)
	fmt.Fprintln(w, "end to end\texports/s\t\thistory events\t\t\tlost\t")
	fmt.Fprintf(w, "SQLite, Temporal on SQLite\t%.0f\t\t%d\t\t\t%d\t\n", through.Rate, through.Events, through.Lost)
	return w.Flush()
}
