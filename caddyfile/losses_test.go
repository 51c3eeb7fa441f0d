package caddyfile_test

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/app"
	"github.com/hiregate/hiregate/workflows/temporaltest"
)

// warned are the warnings that hiregate validate logs of a Caddyfile, which is valid.
func warned(t *testing.T, text string) (all []string) {
	t.Helper()
	folder := t.TempDir()
	written := filepath.Join(folder, "log")
	raw, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
	require.NoError(t, err)
	var config map[string]any
	require.NoError(t, json.Unmarshal(raw, &config))
	config["logging"] = map[string]any{"logs": map[string]any{"default": map[string]any{
		"level": "WARN", "writer": map[string]any{"output": "file", "filename": written},
		"encoder": map[string]any{"format": "json"}}}}
	raw, err = json.Marshal(config)
	require.NoError(t, err)
	require.NoError(t, validate(t, raw, folder))
	log, err := os.ReadFile(written)
	require.NoError(t, err)
	for line := range bytes.Lines(log) {
		var entry struct{ Msg, Logger string }
		require.NoError(t, json.Unmarshal(line, &entry), string(line))
		if entry.Logger == "hiregate" {
			all = append(all, entry.Msg)
		}
	}
	return all
}

// head is the head of a Caddyfile; Temporal is at an address.
func head(t *testing.T, temporal, namespace string) string {
	t.Helper()
	return `{
	admin off
	hiregate {
		dev
		public_url https://gate.example.com
		database sqlite://` + t.TempDir() + `/hiregate.db
		documents file://` + t.TempDir() + `
		temporal ` + temporal + ` {
			namespace ` + namespace + `
		}
		tenant acme {
			secret s
		}
	}
}
`
}

const served = `	handle_path /documents/* {
		documents
	}
	handle {
		respond 404
	}
}
`

// hook is a block of a site that receives exports.
func hook(block, tenantFrom string) string {
	return "	" + block + " {\n		export_receiver {\n			tenant_from " + tenantFrom + "\n		}\n	}\n"
}

func TestValidateFindsWhatLosesExports(t *testing.T) {
	const (
		site      = "gate.example.com {\n"
		documents = "	handle_path /documents/* {\n		documents\n	}\n"
		healthz   = "		healthz\n	}\n"
		catchAll  = "	handle {\n		respond 404\n	}\n"
	)
	good := hook("handle /hooks/*", "path 1")
	for name, test := range map[string]struct {
		site string
		want []string // each a part of a warning
	}{
		"nothing": {site + good + served, nil},
		"no catch-all": {site + good + documents + "}\n",
			[]string{"site gate.example.com has no catch-all: Caddy answers an unknown path with an empty 200"}},
		"a proxy is a catch-all": {site + good + documents + "	reverse_proxy 127.0.0.1:1\n}\n", nil},
		"a segment that is not open": {site + hook("handle /hooks/*", "path 0") + served,
			[]string{"tenant_from path 0 of export_receiver finds no tenant in any address that comes to it (/hooks/*)"}},
		"a path without so many segments": {site + hook("handle /hooks", "path 1") + served,
			[]string{"(/hooks): count the segments"}},
		"a stripped path":               {site + hook("handle_path /hooks/*", "path 0") + served, nil},
		"the name of a declared tenant": {site + hook("handle /hooks/acme", "path 1") + served, nil},
		"a query parameter":             {site + hook("handle /hooks", "query client") + served, nil},
		"no documents": {site + good + catchAll + "}\n",
			[]string{"nobody serves https://gate.example.com/documents, where the documents"}},
		"documents at another host": {site + good + catchAll + "}\nother.example.com {\n" + served,
			[]string{"nobody serves https://gate.example.com/documents"}},
		"a site for all other hosts": {site + good + served + "http://, https:// {\n	respond 404\n}\n", nil},
		"a catch-all that answers 200": {site + good + documents + "	handle {\n		respond OK\n	}\n}\n",
			[]string{"site gate.example.com answers 200 to an unknown path, and whoever sends an export there takes it for received"}},
		"a catch-all that answers 204": {site + good + documents + "	handle {\n		respond 204\n	}\n}\n",
			[]string{"site gate.example.com answers 204 to an unknown path"}},
		"a site for all other hosts that answers 200": {site + good + served + "http://, https:// {\n	respond OK\n}\n",
			[]string{"the site for all other hosts answers 200 to an unknown path"}},
		"a site of something else": {site + good + served + "www.example.com {\n	respond OK\n}\n", nil},
		"health alone":             {":9180 {\n	handle /healthz* {\n" + healthz + catchAll + "}\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := warned(t, head(t, "127.0.0.1:1", "default")+test.site)
			require.Len(t, got, len(test.want), "%q", got)
			for n, part := range test.want {
				require.Contains(t, got[n], part)
				require.Regexp(t, `, at Caddyfile:\d+\)?$`, got[n])
			}
		})
	}
}

// A URL that two integrations share is warned of, and loses nothing: the exit code stays.
func TestValidateFindsSharedURLs(t *testing.T) {
	integration := func(name, url string) string {
		return "			integration " + name + " {\n				url " + url + "\n				secret s\n			}\n"
	}
	text := head(t, "127.0.0.1:1", "default") + "gate.example.com {\n" + hook("handle /hooks/*", "path 1") + served
	with := func(acme, globex string) string {
		return strings.Replace(text, "			secret s\n		}\n", "			secret s\n"+acme+"		}\n		tenant globex {\n			secret s\n"+globex+"		}\n", 1)
	}
	const one, other = "https://hr.example.com/in/1", "https://hr.example.com/in/2"
	require.Empty(t, warned(t, with(integration("hris", one), integration("hris", other))))
	for _, text := range []string{with(integration("hris", one), integration("crm", one)),
		with(integration("hris", one)+integration("crm", one), integration("hris", other))} {
		got := warned(t, text)
		require.Len(t, got, 1)
		require.Regexp(t, "^acme/hris, (globex|acme)/crm have the same URL, so that their receiver can't tell by the identifier in it whose ", got[0])
		require.NotContains(t, got[0], "/in/")
		require.Empty(t, app.Losses())
	}
}

// A short secret is warned of, and loses nothing; not on a laptop.
func TestValidateFindsShortSecrets(t *testing.T) {
	t.Setenv("HIREGATE_SHORT", "fifteen-bytes..")
	t.Setenv("HIREGATE_SHORT_ENOUGH", "sixteen-bytes...")
	site := "gate.example.com {\n" + hook("handle /hooks/*", "path 1") + served
	text := head(t, "127.0.0.1:1", "default") + site
	require.Empty(t, warned(t, text), "with dev")
	text = strings.Replace(text, "\t\tdev\n", "", 1)
	with := func(secret string) string { return strings.Replace(text, "secret s\n", "secret "+secret+"\n", 1) }
	require.Empty(t, warned(t, with("{env.HIREGATE_SHORT_ENOUGH}")))
	require.Equal(t, []string{"tenant acme: a secret is shorter than 16 bytes: use a random one, such as the output of " +
		"openssl rand -base64 32"}, warned(t, with("{env.HIREGATE_SHORT}")))
	require.Empty(t, app.Losses())
}

// Every example is free of them.
func TestExamplesLoseNothing(t *testing.T) {
	for _, name := range examples(t) {
		text := read(t, name)
		unset(t, text)
		folder := t.TempDir()
		require.Empty(t, warned(t, string(inside(t, folder, text))), name)
	}
}

// A Caddyfile that drops an integration is told which steps still export to it, while a gateway uses the database.
func TestValidateFindsHelpersWithoutTheirIntegration(t *testing.T) {
	without := head(t, "127.0.0.1:1", "default") + "gate.example.com {\n" + served
	require.Empty(t, warned(t, without), "there is no database yet")
	db, err := store.Open(t.Context(), regexp.MustCompile(`sqlite://\S+`).FindString(without), store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
		return tx.UpsertStep(&model.Step{Row: model.Row{Tenant: "acme"}, ID: "hired", Name: "Hired",
			Helper: &model.Helper{Integrations: []string{"archive"}}}, time.Now())
	}))
	require.Equal(t, []string{"acme: the helper of step Hired exports to what is no integration of the tenant, and nobody " +
		"gets that: archive; add the integration, or change the helper"}, warned(t, without))
	require.Empty(t, warned(t, strings.Replace(without, "secret s\n",
		"secret s\nintegration archive {\nurl https://archive.example.com/in\nsecret t\n}\n", 1)))
}

func TestValidateAsksForTheNamespace(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	t.Setenv("TEMPORAL_DEV_BIN", temporalBin(t))
	temporaltest.Start(t, t.TempDir(), l.Addr().(*net.TCPAddr).Port)
	site := "gate.example.com {\n" + served
	require.Empty(t, warned(t, head(t, l.Addr().String(), "default")+site))
	got := warned(t, head(t, l.Addr().String(), "prod")+site)
	require.Len(t, got, 1)
	require.True(t, strings.HasPrefix(got[0], "namespace prod does not exist in Temporal"), got[0])
	require.True(t, strings.HasSuffix(got[0], ", at Caddyfile:8"), got[0])
}

// temporalBin is temporal-dev of the environment, else the one that was built.
func temporalBin(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("TEMPORAL_DEV_BIN"); path != "" {
		return path
	}
	path, err := filepath.Abs("../bin/temporal-dev")
	require.NoError(t, err)
	return path
}

// Everything that lacks options is named at once.
func TestValidateNamesAllThatIsIncomplete(t *testing.T) {
	_, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(`{
	hiregate {
		public_url https://gate.example.com
		database sqlite:///var/lib/hiregate/hiregate.db
		tenant acme {
			integration hris {
				url https://hr.acme.example/inbound
			}
		}
		tenant globex {
		}
	}
}
`), map[string]any{"filename": "Caddyfile"})
	for _, part := range []string{
		"integration hris is not complete: add `secret {env.ACME_HRIS_SECRET}`, at Caddyfile:6",
		"tenant acme is not complete: add `secret {env.ACME_SECRET}`, at Caddyfile:5",
		"tenant globex is not complete: add `secret {env.ACME_SECRET}`, at Caddyfile:10",
		"hiregate is not complete: add `documents file:///var/lib/hiregate/documents`, at Caddyfile:2",
	} {
		require.ErrorContains(t, err, part)
	}
}
