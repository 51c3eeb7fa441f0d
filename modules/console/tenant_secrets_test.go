package console

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// An administrator gives a client another secret, which is shown once, and ends the former one; revokes a key that opens
// it alone; and sees who has a role there. A tenant of the Caddyfile says where it stands, and can't be changed.
func TestPageOfAClient(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.initech()
	const page = "/tenants/initech"
	secrets := func() (all []string) {
		tenant, ok := b.Fixture.Gateway.Config.Tenant("initech")
		require.True(t, ok)
		return tenant.SigningKeys()
	}
	require.Contains(t, b.post(ops, page+"/secrets", url.Values{"secret": {"short"}}, http.StatusUnprocessableEntity), `role="alert"`)
	made := b.post(ops, page+"/secrets", url.Values{"once": {"1"}}, http.StatusOK)
	require.Len(t, secrets(), 1)
	require.Contains(t, made, secrets()[0]+"</textarea>")
	require.NotContains(t, b.see(ops, page, http.StatusOK), secrets()[0])
	require.Equal(t, "/console"+page+"?done=secret-added", b.post(ops, page+"/secrets", url.Values{"secret": {"a secret of the service"}},
		http.StatusSeeOther))
	require.Equal(t, "a secret of the service", secrets()[1])
	shown := b.see(ops, page, http.StatusOK)
	require.NotContains(t, shown, "Let it go on")
	end := page + "/secrets/1/end"
	b.post(ops, end, url.Values{"version": {"&#34;stale&#34;"}}, http.StatusPreconditionFailed)
	ends := url.Values{"at": {b.Clock.Now().Add(time.Hour).UTC().Format(fieldTime)}}
	require.Equal(t, "/console"+page+"?done=secret-ends", b.post(ops, end, ends, http.StatusSeeOther))
	require.Contains(t, b.see(ops, page, http.StatusOK), "Let it go on: secret 1")
	require.Equal(t, "/console"+page+"?done=secret-kept", b.post(ops, page+"/secrets/1/keep", nil, http.StatusSeeOther))
	require.NotContains(t, b.see(ops, page, http.StatusOK), "Let it go on")
	b.post(ops, end, url.Values{"at": {"2020-01-01T00:00"}}, http.StatusUnprocessableEntity)
	b.post(ops, end, url.Values{"at": {"soon"}}, http.StatusUnprocessableEntity)
	version := regexp.MustCompile(`name="version" value="([^"]*)"`).FindStringSubmatch(b.see(ops, page, http.StatusOK))[1]
	unescaped := url.Values{"version": {regexp.MustCompile(`&#34;`).ReplaceAllString(version, `"`)}}
	require.Equal(t, "/console"+page+"?done=secret-ended", b.post(ops, end, unescaped, http.StatusSeeOther))
	require.Equal(t, []string{"a secret of the service"}, secrets())

	for id, tenant := range map[string]string{"k-1": "initech", "k-2": "acme", "k-3": ""} {
		_, hash := model.NewAPIKey()
		b.Write(t, func(tx *store.Tx) error {
			return tx.InsertAPIKey(&model.APIKey{ID: id, Label: "label of " + id, Tenant: tenant, Role: model.Viewer, CreatedAt: b.Clock.Now()}, hash)
		})
	}
	shown = b.see(ops, page, http.StatusOK)
	require.Contains(t, shown, "label of k-1")
	require.NotContains(t, shown, "label of k-2")
	require.NotContains(t, shown, "label of k-3")
	b.post(ops, page+"/keys/k-2/revoke", url.Values{}, http.StatusNotFound)
	b.post(ops, page+"/keys/k-1/revoke", url.Values{}, http.StatusSeeOther)
	require.NotContains(t, b.see(ops, page, http.StatusOK), "label of k-1")

	acme, _ := b.Fixture.Gateway.Config.Tenant("acme")
	acme.Source = "acme.caddy:3"
	b.Console.Grants[0].Source = "Caddyfile:7"
	declared := b.see(ops, "/tenants/acme", http.StatusOK)
	require.Contains(t, declared, "<code>acme.caddy:3</code>")
	require.Contains(t, declared, "<code>Caddyfile:7</code>", "where the role stands")
	require.Contains(t, declared, viewer)
	require.NotContains(t, declared, `/tenants/acme/secrets"`)
	b.post(ops, "/tenants/acme/secrets", url.Values{}, http.StatusConflict)
	require.NotContains(t, b.see(viewer, "/tenants/acme", http.StatusOK), ops)
	var audit api.List[model.AuditEntry]
	admin := b.admin()
	require.NoError(t, admin.get("/v1/audit", url.Values{"tenant": {"initech"}}, &audit))
	var done []string
	for _, entry := range audit.Items {
		done = append(done, entry.Action+" "+entry.Object)
	}
	require.Contains(t, done, "add secrets/1")
	require.Contains(t, done, "remove secrets/1")
}

// An administrator makes an API key that opens a client alone, which is shown once, with its duties, its end and who made it.
func TestKeysOfAClient(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.initech()
	const page, keys = "/tenants/initech", "/tenants/initech/keys"
	for _, form := range []url.Values{{"label": {""}, "role": {"viewer"}}, {"label": {"CI"}, "role": {"king"}},
		{"label": {"CI"}, "role": {"viewer"}, "expires": {"soon"}}, {"label": {"CI"}, "role": {"viewer"}, "expires": {"2020-01-01T00:00"}}} {
		require.Contains(t, b.post(ops, keys, form, http.StatusUnprocessableEntity), `role="alert"`, form)
	}
	form := url.Values{"label": {"Nightly report"}, "role": {"operator"}, "once": {"1"},
		"expires": {b.Clock.Now().Add(48 * time.Hour).UTC().Format(fieldTime)}}
	made := regexp.MustCompile(`hgk_[\w-]+`).FindString(b.post(ops, keys, form, http.StatusOK))
	require.Len(t, made, len("hgk_")+43)
	shown := b.see(ops, page, http.StatusOK)
	require.NotContains(t, shown, made)
	for _, text := range []string{"Nightly report", "look; work with candidates, jobs and exports", "by <bdi>" + ops, "not used yet", "ends <time"} {
		require.Contains(t, shown, text)
	}
	b.post(viewer, "/tenants/acme/keys", form, http.StatusForbidden)
	b.Clock.Advance(48 * time.Hour)
	require.Contains(t, b.see(ops, page, http.StatusOK), "expired <time")
}
