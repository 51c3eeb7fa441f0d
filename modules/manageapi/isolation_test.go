package manageapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi"
)

// others is what the tenant acme has, as the parameters of the routes name it.
var others = strings.NewReplacer("{tenant}", "acme", "{name}", "hris", "{step}", "applied", "{document}", "doc-1",
	"{uuid}", "u-1")

// bodies are good ones: nothing but the key stands against the requests.
func bodyOf(path string) string {
	switch {
	case strings.HasSuffix(path, "/documents"):
		return "file"
	case strings.HasSuffix(path, "/transitions"):
		return `{"step":"applied"}`
	case strings.HasSuffix(path, "/steps"):
		return `{"items":[]}`
	case strings.HasSuffix(path, "/jobs/{id}"):
		return `{"id":"job-7"}`
	case strings.HasSuffix(path, "/job-applications/{id}"):
		return `{"candidate":"c-1"}`
	case strings.HasSuffix(path, "/api-keys"):
		return `{"label":"x","role":"admin","tenant":"acme"}`
	case strings.HasSuffix(path, "/integrations"):
		return `{"name":"x","url":"https://a.example/x","secret":"s-and-sixteen-bytes"}`
	}
	return `{}`
}

// TestAnotherTenantsKeySeesNothing walks every route of the OpenAPI document with the key of another tenant's admin:
// what it gets is what it would get if there were nothing, and all stays as it is.
func TestAnotherTenantsKeySeesNothing(t *testing.T) {
	t.Parallel()
	onEach(t, testAnotherTenantsKeySeesNothing)
}

func testAnotherTenantsKeySeesNothing(t *testing.T, b *fixture) {
	b.people()
	b.must(http.StatusCreated, http.MethodPost, application+"/documents?id=doc-1", "file")
	b.must(http.StatusCreated, http.MethodPut, acme+"/steps/applied/helper", `{}`)
	b.export("acme", "u-1", quarantined)
	b.status("acme", "hris", store.IntegrationStatus{State: model.Disabled, UpdatedAt: b.Clock.Now()})
	keyed := b.keyed()
	keyed.key("acme-key", "acme", model.Admin)
	globex := keyed.as(keyed.key("globex-key", "globex", model.Admin))
	before := b.everything()

	c, err := document()
	require.NoError(t, err)
	walked := 0
	for path, item := range c.root["paths"].(map[string]any) {
		id := "c-1"
		switch {
		case strings.Contains(path, "/job-applications/"):
			id = "a-1"
		case strings.Contains(path, "/jobs/"):
			id = "NURSE-1"
		case strings.Contains(path, "/api-keys/"):
			id = "acme-key"
		}
		address := strings.ReplaceAll(others.Replace(path), "{id}", id)
		nowhere := strings.NewReplacer("/acme", "/nowhere", "acme-key", "no-key").Replace(address)
		for method := range item.(map[string]any) {
			method = strings.ToUpper(method)
			if method == "PARAMETERS" {
				continue
			}
			walked++
			body := ""
			if method == http.MethodPost || method == http.MethodPut {
				body = bodyOf(path)
			}
			for _, headers := range [][]string{nil, {"If-Match", "*"}, {"If-None-Match", "*"}, {"Idempotency-Key", "k"}} {
				got := globex.send(method, address, body, headers...)
				if address == nowhere { // a list across tenants, or a key for another one
					require.NotContains(t, strings.ReplaceAll(got.body, "no tenant of that name: acme", ""), "acme", "%s %s", method,
						address)
					continue
				}
				require.Equal(t, http.StatusNotFound, got.status, "%s %s: %s", method, address, got.body)
				none := strings.ReplaceAll(globex.send(method, nowhere, body, headers...).body, "name: nowhere", "name: acme")
				require.Equal(t, none, got.body, "%s %s tells what is there", method, address) // but the name that was sent
			}
		}
	}
	require.Len(t, manageapi.Routes(), walked)
	require.Equal(t, before, b.everything())
	require.Equal(t, []string{"globex"}, ids(globex, "/v1/tenants"))
	require.Equal(t, []string{"globex-key"}, ids(globex, "/v1/api-keys"))
	for _, i := range items(globex, "/v1/integrations") {
		require.Equal(t, "globex", i["tenant"])
	}
	require.Empty(t, ids(globex, "/v1/exports"))
	b.export("globex", "u-9")
	require.Equal(t, []string{"u-9"}, ids(globex, "/v1/exports"))
	require.Empty(t, ids(globex, "/v1/exports?candidate=c-u-1"))
}

// everything is all that the tenant acme has, as an admin of all reads it.
func (b *fixture) everything() (all []string) {
	for _, path := range []string{
		"", "/integrations", "/candidates", "/jobs", "/steps", "/steps/applied/helper", "/job-applications",
		"/job-applications/a-1/documents",
		"/job-applications/a-1/transitions", "/exports", "/exports/u-1",
	} {
		all = append(all, b.must(http.StatusOK, http.MethodGet, acme+path, "").body)
	}
	return append(all, b.must(http.StatusOK, http.MethodGet, "/v1/api-keys/acme-key", "").body)
}
