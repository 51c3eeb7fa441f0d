package console

import (
	"encoding/json"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Administrators relay the applications of a stored tenant, test that and end it. The password is shown on no page.
func TestRelayOfATenant(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var given struct{ Password string }
		if _ = json.NewDecoder(r.Body).Decode(&given); given.Password != "hunter2" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, `{"token":"t"}`)
	}))
	t.Cleanup(service.Close)
	b := newFixture(t)
	b.AllowLoopback(t)
	b.Write(t, func(tx *store.Tx) error { return tx.UpsertTenant(&model.Tenant{Name: "initech"}, b.Clock.Now()) })
	require.NoError(t, b.Runtime.Directory.Refresh(t.Context()))
	const of, page = "/tenants/initech", "/tenants/initech/relay"
	send := func(status int, says string, values ...string) {
		t.Helper()
		form := url.Values{"url": {service.URL}, "user": {"partner"}}
		for n := 0; n < len(values); n += 2 {
			form.Set(values[n], values[n+1])
		}
		w := b.send(ops, http.MethodPost, page, form)
		require.Equal(t, status, w.Code, w.Body)
		require.Contains(t, w.Body.String(), says)
		require.NotContains(t, w.Body.String(), "hunter")
	}
	require.Contains(t, b.see(ops, of, http.StatusOK), "Its applications are not relayed")
	send(http.StatusUnprocessableEntity, "password: it is needed")
	send(http.StatusOK, "the service refuses the user name", "password", "hunter1", "do", "test")
	send(http.StatusUnprocessableEntity, "the service refuses the user name", "password", "hunter1", "source", "Flyer")
	send(http.StatusBadRequest, "as whole numbers", "password", "hunter2", "keep", "a week")
	send(http.StatusBadRequest, "rate", "password", "hunter2", "rate", "fast")
	send(http.StatusUnprocessableEntity, "try_for", "password", "hunter2", "tryFor", "900")
	send(http.StatusOK, "The service lets the user sign in", "password", "hunter2", "do", "test")
	require.Nil(t, b.Runtime.Relay.Upstream("initech"), "a test keeps nothing")
	send(http.StatusSeeOther, "", "password", "hunter2", "source", "Flyer", "rate", "1/s burst 2")
	require.Contains(t, b.see(ops, of+"?done=relay-saved", http.StatusOK), "let the user sign in")
	text := b.see(ops, page, http.StatusOK)
	for _, want := range []string{`value="Flyer"`, `value="1/s burst 2"`, `value="168"`, `value="` + service.URL + `"`} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "hunter")
	send(http.StatusPreconditionFailed, "", "version", `"other"`)
	send(http.StatusOK, "The service lets the user sign in", "do", "test")

	version := func() string {
		t.Helper()
		return html.UnescapeString(regexp.MustCompile(`name="version" value="([^"]+)"`).FindStringSubmatch(b.see(ops, page, http.StatusOK))[1])
	}
	before := version()
	send(http.StatusSeeOther, "", "version", before, "keep", "30")
	require.Equal(t, "hunter2", b.Runtime.Relay.Upstream("initech").Password.Reveal(), "left out, it stays")
	remove := func(version string) int {
		t.Helper()
		return b.send(ops, http.MethodPost, page+"/remove", url.Values{"version": {version}}).Code
	}
	require.Equal(t, http.StatusPreconditionFailed, remove(before), "somebody changed it")
	require.Equal(t, http.StatusSeeOther, remove(version()))
	require.Nil(t, b.Runtime.Relay.Upstream("initech"))
}

// What the Caddyfile says of a tenant is shown with its place there, and can be tested alone.
func TestRelayOfATenantOfTheCaddyfile(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Reconfigure(func(c *config.Config) {
		declared := *c.Tenants["acme"]
		declared.Source = "Caddyfile:7"
		declared.ApplyUpstream = &model.ApplyUpstream{URL: "http://192.168.0.1/apply", User: "partner", Password: "hunter2"}
		c.Tenants = maps.Clone(c.Tenants)
		c.Tenants["acme"] = &declared
	})
	text := b.see(viewer, "/tenants/acme", http.StatusOK)
	require.Contains(t, text, "http://192.168.0.1/apply")
	require.NotContains(t, text, "/relay")
	text = b.see(ops, "/tenants/acme/relay", http.StatusOK)
	require.Contains(t, text, "Caddyfile:7")
	require.NotContains(t, text, `name="password"`)
	w := b.send(ops, http.MethodPost, "/tenants/acme/relay", url.Values{"do": {"test"}})
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Contains(t, w.Body.String(), "where egress lets nothing go")
	w = b.send(ops, http.MethodPost, "/tenants/acme/relay", url.Values{"url": {"http://192.168.0.1/apply"}, "user": {"ada"}})
	require.Equal(t, http.StatusConflict, w.Code, w.Body)
	require.NotContains(t, w.Body.String(), "hunter2")
}
