package commands

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// announce prints where everything is, and what to try.
func (f *devFlags) announce(w io.Writer, took time.Duration) error {
	gateway := fmt.Sprintf("http://localhost:%d", f.http)
	fmt.Fprintf(w, "\nEverything answers after %s.\n\n", formatDuration(took))
	table := NewTable(w)
	table.Row("  exports of acme", gateway+"/hooks/acme", "secret acme-secret")
	table.Row("  exports of globex", gateway+"/hooks?client=globex", "secret globex-secret")
	if f.noPartner {
		table.Row("  deliveries go to", "http://"+loopback(f.partner), "secret "+partnerSecret+"; nobody listens there yet")
	} else {
		table.Row("  sample partner", "http://"+loopback(f.partner), "secret "+partnerSecret)
	}
	table.Row("  health", gateway+"/healthz")
	table.Row("  metrics", gateway+"/metrics")
	table.Row("  Temporal UI", fmt.Sprintf("http://localhost:%d", f.ui))
	table.Row("  Temporal", loopback(f.temporal))
	table.Row("  Caddy's admin API", fmt.Sprintf("http://localhost:%d", f.admin))
	table.Row("  data", f.dir)
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nTry it from another terminal:\n\n  %s\n\nCtrl-C stops everything.\n\n", f.example())
	return err
}

// example is a line to type; with the samples where it is typed in the repository.
func (f *devFlags) example() string {
	words := []string{os.Args[0], "send", fmt.Sprintf("http://localhost:%d/hooks/acme", f.http), "--secret", "acme-secret"}
	for _, sample := range []struct{ flag, path string }{
		{"--payload", "testdata/samples/export-full.json"},
		{"--document", "testdata/samples/resume.pdf"},
	} {
		if _, err := os.Stat(sample.path); err == nil {
			words = append(words, sample.flag, sample.path)
		}
	}
	return strings.Join(words, " ")
}
