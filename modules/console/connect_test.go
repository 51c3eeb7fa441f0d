package console

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// A client is connected in steps whose state is stored: whoever comes later goes on with the one that is next, and is
// offered what came before there was an integration.
func TestConnectAClient(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.AllowLoopback(t)
	b.Fixture.Gateway.InboundURL = func(tenant string) string { return "https://gate.example/hooks/" + tenant }
	require.Contains(t, b.see(ops, "/tenants", http.StatusOK), `href="/console/connect"`)
	require.NotContains(t, b.see(viewer, "/tenants", http.StatusOK), `href="/console/connect"`)
	b.see(viewer, "/connect", http.StatusForbidden)

	connect := func(id, secret string, want int) string {
		return b.post(ops, "/connect", url.Values{"name": {"Larkfield <b>"}, "id": {id}, "secret": {secret}}, want)
	}
	require.Contains(t, connect("acme", "", http.StatusConflict), "acme is taken: choose another identifier")
	require.Contains(t, connect("No!", "", http.StatusUnprocessableEntity), "use 1 to 63 of the characters")
	require.Contains(t, connect("larkfield", "short", http.StatusUnprocessableEntity), `role="alert"`)
	made := connect("larkfield", "", http.StatusOK)
	require.Contains(t, made, "https://gate.example/hooks/larkfield</textarea>")
	tenant, ok := b.Fixture.Gateway.Config.Tenant("larkfield")
	require.True(t, ok)
	require.Equal(t, "Larkfield <b>", tenant.Title)
	require.Contains(t, made, tenant.Secrets[0].Reveal()+"</textarea>")
	require.NotContains(t, b.see(ops, "/connect/larkfield/1", http.StatusOK), tenant.Secrets[0].Reveal(), "it is shown once")
	require.Contains(t, connect("larkfield", "", http.StatusConflict), "is taken")
	again, _ := b.Fixture.Gateway.Config.Tenant("larkfield")
	require.Equal(t, tenant.Secrets, again.Secrets)
	require.Contains(t, b.see(ops, "/tenants", http.StatusOK), `href="/console/connect/larkfield">Go on connecting`)

	leads := func() string {
		w := b.send(ops, http.MethodGet, "/connect/larkfield", nil)
		require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
		return w.Header().Get("Location")
	}
	require.Equal(t, "/console/connect/larkfield/1", leads())
	require.Contains(t, b.see(ops, "/connect/larkfield/1", http.StatusOK), "none came yet")
	b.Write(t, func(tx *store.Tx) error {
		return tx.UpsertSecretUse("larkfield", tenant.Secrets[0].Fingerprint("larkfield"), b.Clock.Now())
	})
	require.Contains(t, b.see(ops, "/connect/larkfield/1", http.StatusOK), "a signed request came")
	require.Equal(t, "/console/connect/larkfield/2", leads())
	require.Contains(t, b.post(ops, "/connect/larkfield/3", url.Values{}, http.StatusConflict), "The sample did not come in")

	b.Clock.Advance(time.Minute)
	b.Write(t, func(tx *store.Tx) error {
		e := inbox.NewExport("larkfield", uuid(1), []byte(`{"candidate":{}}`), b.Clock.Now())
		e.ID = model.FirstID(b.Clock.Now()) // another test may be ahead
		e.Receipt = model.NewReceipt(e.ID)
		if _, err := inbox.Insert(tx, e); err != nil {
			return err
		}
		return tx.MarkDispatched(e.ID, 0, b.Clock.Now())
	})
	server, form := receiver(t, "", http.StatusOK)
	server.Start()
	form.Set("url", server.URL+"/in")
	form.Del("do")
	b.Clock.Advance(time.Minute)
	w := b.send(ops, http.MethodPost, "/connect/larkfield/2", form)
	require.Equal(t, "/console/connect/larkfield/2?done=verified", w.Header().Get("Location"), w.Body)
	require.Equal(t, "/console/connect/larkfield/3", leads())
	saved := b.see(ops, "/connect/larkfield/2", http.StatusOK)
	require.Contains(t, saved, "1 export came before, and is not delivered")
	require.Contains(t, saved, "hris answers")
	w = b.send(ops, http.MethodPost, "/connect/larkfield/earlier", url.Values{})
	require.Equal(t, "/console/connect/larkfield/3?done=begunEarlier", w.Header().Get("Location"), w.Body)
	all, _, err := b.Runtime.Store().ListRedeliveries(t.Context(), []string{"larkfield"}, store.Page{Limit: 10})
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, model.RedeliverMissing, all[0].Mode)
}
