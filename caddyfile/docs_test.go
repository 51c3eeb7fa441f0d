package caddyfile_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/stretchr/testify/require"
)

var excerpt = regexp.MustCompile("(?ms)^```caddyfile\n(.*?)^```$")

// What the guides show of Caddyfiles can be copied: each excerpt is put where it belongs, and adapted.
func TestGuidesCanBeCopied(t *testing.T) {
	t.Parallel()
	guides, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	shown := 0
	for _, path := range guides {
		for _, found := range excerpt.FindAllStringSubmatch(string(read(t, path)), -1) {
			shown++
			adapt(t, caddyfile.Format([]byte(complete(found[1]))))
		}
	}
	require.Greater(t, shown, 8)
}

// complete puts around an excerpt what its place in a Caddyfile has around it.
func complete(text string) string {
	const required = "public_url https://gate.example.com\ndatabase sqlite:///var/lib/hiregate.db\ndocuments " +
		"file:///var/lib/documents\n"
	text = strings.Replace(text, "…", "url https://hr.acme.example/inbound/acme\nsecret {env.ACME_HRIS_SECRET}", 1)
	switch first := strings.Fields(text)[0]; first {
	case "integration", "apply_upstream":
		text = "tenant acme {\nsecret {env.ACME_SECRET}\n" + text + "}\n"
		fallthrough
	case "temporal", "egress", "scan", "seal_key", "retention", "notify", "tenant":
		return "{\nhiregate {\n" + required + text + "}\n}\n"
	case "documents":
		others, _, _ := strings.Cut(required, "documents")
		return "{\nhiregate {\n" + others + text + "}\n}\n"
	case "export_receiver", "@inbound", "handle", "handle_path", "signin", "signin_gate":
		return "gate.example.com {\n" + text + "}\n"
	}
	return text
}

var known = regexp.MustCompile(`is unknown here: write (.*?), at Caddyfile`)

// Every word that the parsers know is in the reference. The wrong Caddyfiles' errors list them.
func TestEveryOptionIsDescribed(t *testing.T) {
	t.Parallel()
	described := string(read(t, "../docs/caddyfile.md"))
	words := []string{"hiregate", "export_receiver", "documents", "manage_api", "signin", "signin_gate", "apply_api", "healthz",
		"welcome"}
	for _, path := range wrong(t, "testdata/wrong", 35) {
		if list := known.FindSubmatch(read(t, path)); list != nil {
			words = append(words, strings.Fields(strings.NewReplacer(",", " ", " or ", " ").Replace(string(list[1])))...)
		}
	}
	require.Subset(t, words, []string{"service_name", "namespace", "rate", "in_flight", "max_body"},
		"a parser's list is not among them")
	for _, word := range words {
		require.Regexp(t, "`"+word+"[` ]", described)
	}
}
