package caddyfile_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/stretchr/testify/require"
)

var fence = regexp.MustCompile("(?s)```caddyfile\n(.*?)```")

// The examples of docs/caddyfile.md can be copied: each is put where it belongs in a Caddyfile, and adapted.
func TestReference(t *testing.T) {
	const required = "public_url https://gate.example.com\ndatabase sqlite:///var/lib/hiregate/hiregate.db\ndocuments file:///var/lib/hiregate/documents\n"
	option := func(text string) string { return "{\nhiregate {\n" + required + text + "}\n}\n" }
	site := func(text string) string { return "gate.example.com {\n" + text + "}\n" }
	within := map[string]func(string) string{
		"{":            func(text string) string { return text },
		"http://:9180": func(text string) string { return text },
		"temporal":     option,
		"egress":       option,
		"tenant": func(text string) string {
			return option(strings.Replace(text, "\tintegration hris {\n\t\t…\n\t}\n", "", 1))
		},
		"integration":     func(text string) string { return option("tenant acme {\nsecret {env.ACME_SECRET}\n" + text + "}\n") },
		"export_receiver": site,
		"@inbound":        site,
		"handle_path":     site,
	}
	examples := fence.FindAllStringSubmatch(string(read(t, "../docs/caddyfile.md")), -1)
	seen := map[string]bool{}
	for _, example := range examples {
		first := strings.Fields(example[1])[0]
		require.Contains(t, within, first, "say where an example belongs that begins so")
		seen[first] = true
		adapt(t, caddyfile.Format([]byte(within[first](example[1]))))
	}
	require.Len(t, seen, len(within), "an example is gone")
}
