package dev

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/cli/listen"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// announce prints where everything is, and what to try.
func (f *flags) announce(w io.Writer, took time.Duration) error {
	gateway := fmt.Sprintf("http://localhost:%d", f.http)
	fmt.Fprintf(w, "\nEverything answers after %s.\n\n", terminal.FormatDuration(took))
	table := terminal.NewTable(w)
	table.Row("  exports of acme", gateway+"/hooks/acme", "secret acme-secret")
	table.Row("  exports of globex", gateway+"/hooks?client=globex", "secret globex-secret")
	if f.noPartner {
		receiver := fmt.Sprintf("%s listen --secret %s --addr %s", os.Args[0], partnerSecret, loopback(f.partner))
		table.Row("  deliveries go to", "http://"+loopback(f.partner),
			"secret "+partnerSecret+"; to receive there: "+receiver)
		table.Row("  sign-in provider", f.issuer(), "client "+listen.DemoClient+", secret "+demoSecret)
	} else {
		table.Row("  sample partner", "http://"+loopback(f.partner), "secret "+partnerSecret)
		table.Row("  sign-in", f.home(), "as "+demoEmail+" with "+demoPassword)
		table.Row("  its provider", f.issuer(), "client "+listen.DemoClient+", secret "+demoSecret)
	}
	table.Row("  console", f.consoleURL(), "as "+opsEmail+" with "+demoPassword)
	table.Row("  Apply API", gateway+"/apply", "as partner@example.com with correct horse, for the job NURSE-1 of initech")
	table.Row("  management API", gateway+"/manage/v1", "key dev-key; described at "+gateway+"/manage/openapi.json")
	table.Row("  health", gateway+"/healthz")
	table.Row("  metrics", gateway+"/metrics")
	table.Row("  Temporal UI", fmt.Sprintf("http://localhost:%d", f.ui))
	table.Row("  Temporal", loopback(f.temporal))
	endpoint := fmt.Sprintf("localhost:%d", f.admin)
	if endpoint == admin.DefaultAddress {
		table.Row("  Caddy's admin API", "http://"+endpoint)
	} else {
		table.Row("  Caddy's admin API", "http://"+endpoint,
			"for hiregate export and the like: export "+admin.AddressVariable+"="+endpoint)
	}
	table.Row("  data", f.dir)
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, `
Try it from another terminal. Send an export, as a service does, for the tenant acme:

  %s

Export a candidate of the sample tenant initech, whose integration is this gateway's own hook of acme, and hire another one, whom
the step's workflow helper exports:

  curl -X POST -H 'Authorization: Bearer dev-key' %[2]s/candidates/c-zoe/exports
  curl -X POST -H 'Authorization: Bearer dev-key' -H 'Content-Type: application/json' -d '{"step":"hired"}' %[2]s/job-applications/a-kwame-1/transitions

Ctrl-C stops everything.

`, f.example(), gateway+"/manage/v1/tenants/initech")
	return err
}

// example is a line to type; with the samples where it is typed in the repository.
func (f *flags) example() string {
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
