package dev

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// lineWidth is how wide the table is at most, in characters.
const lineWidth = 80

// announce prints the addresses to open first, and a command to try. The help has the other addresses.
func (f *flags) announce(w io.Writer, took time.Duration) error {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	line("\nEverything answers after %s. Everybody's password is: %s\n", terminal.FormatDuration(took), demoPassword)
	line("  console           %s", f.consoleURL())
	for _, p := range consolePeople {
		line("    %-21s   %s", p.email, p.role)
	}
	if f.noPartner {
		line("  deliveries go to  http://%s; to receive them:", loopback(f.partner))
		line("    %s listen --secret %s --addr %s", os.Args[0], partnerSecret, loopback(f.partner))
	} else {
		line("  sample partner    %s", f.home())
		line("    %-21s   signs in there", demoEmail)
	}
	line("  Temporal's UI     http://localhost:%d", f.ui)
	line("\nSend an export, as the service does, from another terminal:\n")
	line("  %s\n", f.example())
	if endpoint := fmt.Sprintf("localhost:%d", f.admin); endpoint != admin.DefaultAddress {
		line("For commands such as hiregate status: export %s=%s\n", admin.AddressVariable, endpoint)
	}
	log := filepath.Join(f.dir, logName)
	if current, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(current, log); err == nil && len(short) < len(log) {
			log = short
		}
	}
	here := "its warnings are"
	if f.verbose {
		here = "it is"
	}
	line("The gateway's log is %s; %s here, too.", log, here)
	line("Ctrl-C stops everything. `hiregate dev --help` has all addresses and secrets.\n")
	_, err := io.WriteString(w, out.String())
	return err
}

// example returns a command to type, with the samples where it is typed in the repository.
func (f *flags) example() string {
	words := []string{os.Args[0] + " send", fmt.Sprintf("http://localhost:%d/hooks/acme", f.http), "--secret acme-signing-secret"}
	for _, sample := range []struct{ flag, path string }{
		{"--payload", "testdata/samples/export-full.json"},
		{"--document", "testdata/samples/resume.pdf"},
	} {
		if _, err := os.Stat(sample.path); err == nil {
			words = append(words, sample.flag+" "+sample.path)
		}
	}
	text, width := "", 2
	for n, word := range words {
		switch {
		case n == 0:
		case width+len(" ")+len(word)+len(` \`) > lineWidth:
			text, width = text+" \\\n    ", 4
		default:
			text, width = text+" ", width+1
		}
		text, width = text+word, width+len(word)
	}
	return text
}
