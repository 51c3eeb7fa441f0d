package console

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// The start page and the integration's page say that it refuses what it gets, and never that it delivers before it did.
func TestAnIntegrationThatRefusesIsSaidToDo(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	const hris = "/tenants/acme/integrations/hris"
	text := b.see(ops, hris, http.StatusOK)
	require.Contains(t, text, "nothing delivered yet")
	require.NotContains(t, text, ">delivers<")
	b.Write(t, func(tx *store.Tx) error {
		for n := range int64(15) {
			tx.CountAttempt(model.Place{Tenant: "acme", Integration: "hris"}, n, &model.Attempt{
				StartedAt: b.Clock.Now(), Duration: time.Second, Fault: model.ClassDataFault, Status: 422})
		}
		return nil
	})
	for _, page := range []string{"/", hris} {
		require.Contains(t, b.see(ops, page, http.StatusOK), "refuses what it gets since 12:00 UTC: 15 of 15 answered 422", page)
	}
	german := func(r *http.Request) { r.Header.Set("Accept-Language", "de") }
	require.Contains(t, b.send(ops, http.MethodGet, "/", nil, german).Body.String(), "Nimmt nicht an, was es bekommt")
}

// Needs are a list with what helps: who may not do it gets no button. A page of one tenant has those of that tenant.
func TestNeedsAreAList(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Held, func(e *model.Export) { e.Quarantined = true })
	b.export("acme", uuid(2), model.Held)
	b.post(ops, "/tenants/acme/integrations/hris/disable", url.Values{"reason": {"maintenance"}}, http.StatusSeeOther)
	b.Clock.Advance(2 * time.Hour)
	text := b.see(ops, "/", http.StatusOK)
	require.Contains(t, text, "<h1>2 things need you</h1>")
	require.Equal(t, 2, strings.Count(text, `<li class="need">`))
	require.Contains(t, text, `action="/console/tenants/acme/integrations/hris/enable"`)
	require.Contains(t, text, "2 held")
	require.Contains(t, text, "<dt>First one given up</dt><dd>never</dd>", "what is held does not expire")
	require.Contains(t, text, `href="/console/exports?quarantined=true&amp;tenant=acme"`)
	require.Contains(t, text, `aria-label="Attempts of 24 hours: 0, not received: 0"`)
	require.NotContains(t, b.see(viewer, "/", http.StatusOK), `action="/console/tenants`)
	require.Contains(t, b.see(ops, "/?tenant=globex", http.StatusOK), "<h1>Nothing needs you</h1>")
}

// Before the first export the page says what to do next.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	text := b.see(ops, "/", http.StatusOK)
	require.Contains(t, text, "<h1>Four steps to the first export</h1>")
	require.Contains(t, text, `<li class="current">`)
	require.Contains(t, text, `action="/console/tenants/acme/integrations/hris/test"`)
	require.NotContains(t, b.see(viewer, "/", http.StatusOK), "Four steps", "others set the gateway up")
	b.export("acme", uuid(1), model.Delivered)
	text = b.see(ops, "/", http.StatusOK)
	require.Contains(t, text, "<h1>Nothing needs you</h1>")
	require.NotContains(t, text, "Four steps")
}

// What flowed in the last day is four lines, each with a sentence.
func TestWhatFlowed(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Delivered)
	b.Write(t, func(tx *store.Tx) error {
		tx.NoteQuarter("acme", store.Quarter{Begin: b.Clock.Now().Add(-time.Hour), Received: 1200, Delivered: 1100, Waiting: 3})
		tx.NoteQuarter("acme", store.Quarter{Begin: b.Clock.Now(), Received: 34})
		return nil
	})
	text := b.see(ops, "/", http.StatusOK)
	require.Contains(t, text, `<p class="value">1,234</p>`)
	require.Contains(t, text, `aria-label="Came in 24 hours: 1,234; at most 1,200 in a quarter of an hour"`)
	require.Equal(t, 4, strings.Count(text, `<div class="spark">`))
	require.Contains(t, b.see(ops, "/?tenant=acme", http.StatusOK), `aria-label="Came in 24 hours: 1,234;`)
	require.NotContains(t, b.see(ops, "/?tenant=globex", http.StatusOK), `<div class="spark">`)
}

// What counts of a certificate is when it ends, not since when that is near.
func TestACertificateThatEnds(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	server := httptest.NewTLSServer(nil)
	server.Close()
	leaf := server.Certificate()
	b.Reconfigure(func(c *config.Config) {
		acme, _ := c.Tenant("acme")
		acme.Integrations[0].Authentication = &model.Authentication{TLS: &model.ClientTLS{
			Certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw}))}}
	})
	b.Clock.Advance(leaf.NotAfter.Sub(b.Clock.Now()) - 13*24*time.Hour)
	text := b.see(ops, "/", http.StatusOK)
	require.Contains(t, text, `Certificate ends: <time datetime="`+leaf.NotAfter.UTC().Format(time.RFC3339)+`"`)
	require.Contains(t, text, "renew it in tls of the integration")
	require.NotContains(t, text, "<dt>For</dt>")
}
