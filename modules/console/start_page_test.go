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

// Integrations that fail for the same cause are one thing, with the first line of the answer for those alone who may read
// bodies. Operators try one, or acknowledge it, and then it is not counted.
func TestCausesOverAllTenants(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Reconfigure(func(c *config.Config) {
		globex, _ := c.Tenant("globex")
		globex.Integrations = []model.Integration{{Tenant: "globex", Name: "hris", URL: "https://hr.globex.example/in", Secret: "s"}}
	})
	for _, tenant := range []string{"acme", "globex"} {
		d := b.Delivery(t, b.Export(t, tenant, uuid(1)), "hris", model.Retrying)
		d.Attempts, d.Fault = 1, model.ClassPartnerFault
		a := &model.Attempt{DeliveryID: d.ID, Status: 503, Answer: []byte("<title>Down for repair</title>"), StartedAt: b.Clock.Now(),
			Fault: model.ClassPartnerFault, Error: "answered 503; only 2xx means received"}
		b.Write(t, func(tx *store.Tx) error {
			for range model.FailingAfter {
				tx.CountAttempt(model.Place{Tenant: tenant, Integration: "hris"}, d.ExportID, a)
			}
			if err := tx.InsertAttempt(a); err != nil {
				return err
			}
			return tx.UpsertDelivery(d)
		})
	}
	text := b.see(ops, "/", http.StatusOK)
	require.Contains(t, text, "<h1>1 thing needs you</h1>")
	require.Contains(t, text, "and 1 other</h2>")
	require.Contains(t, text, `<code class="first">Down for repair</code>`)
	require.Contains(t, text, `href="/console/tenants/globex/integrations/hris">globex/hris</a>`)
	require.Equal(t, 1, strings.Count(text, "Try one, then the rest"))
	_, cause, _ := strings.Cut(text, `action="/console/causes/`)
	cause, _, _ = strings.Cut(cause, "/")
	text = b.see(viewer, "/", http.StatusOK)
	require.Contains(t, text, "Nothing is lost by trying.")
	for _, not := range []string{"Down for repair", "Try one, then the rest", "Acknowledge", "globex"} {
		require.NotContains(t, text, not)
	}
	b.post(ops, "/causes/"+cause+"/retry", url.Values{"until": {"now"}}, http.StatusBadRequest)
	_, until, _ := strings.Cut(b.see(ops, "/", http.StatusOK), `name="until" value="`)
	until, _, _ = strings.Cut(until, `"`)
	b.post(ops, "/causes/"+cause+"/retry", url.Values{"until": {until}}, http.StatusSeeOther)
	require.Regexp(t, "Being tried since [^:]*[0-9:]+: 0 received, 0 not received, under way at 2.", b.see(ops, "/", http.StatusOK))
	b.Write(t, func(tx *store.Tx) error {
		for _, tenant := range []string{"acme", "globex"} {
			c, err := b.Runtime.Store().CatchUp(t.Context(), model.Place{Tenant: tenant, Integration: "hris"})
			if err != nil {
				return err
			}
			c.EndedAt, c.Failed, c.Reason = b.Clock.Now(), 1, "the oldest was answered 503"
			if _, err := tx.UpdateCatchUp(c, b.Clock.Now()); err != nil {
				return err
			}
		}
		return nil
	})
	text = b.see(ops, "/", http.StatusOK)
	require.Regexp(t, "Last try at [^:]*[0-9:]+: 0 received, 2 not received.", text)
	require.Contains(t, text, "the oldest was answered 503")
	b.post(ops, "/causes/"+cause+"/acknowledge", url.Values{"hours": {"none"}}, http.StatusBadRequest)
	b.post(viewer, "/causes/"+cause+"/acknowledge", url.Values{"hours": {"24"}}, http.StatusForbidden)
	b.post(ops, "/causes/"+cause+"/acknowledge", url.Values{"hours": {"24"}, "note": {"they repair it"}}, http.StatusSeeOther)
	text = b.see(ops, "/", http.StatusOK)
	require.Contains(t, text, "<h1>Nothing needs you</h1>")
	require.Contains(t, text, "<bdi>they repair it</bdi>")
	require.Contains(t, b.see(viewer, "/", http.StatusOK), "<h1>Nothing needs you</h1>")
	b.post(ops, "/causes/"+cause+"/count", nil, http.StatusSeeOther)
	require.Contains(t, b.see(ops, "/", http.StatusOK), "<h1>1 thing needs you</h1>")
}

// The two clocks say what waits, what is lost when, and by whose fault documents were lost. An export's page has both on its axis.
func TestTwoClocks(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	require.NotContains(t, b.see(ops, "/", http.StatusOK), "Two clocks", "nothing waits")
	e := b.Export(t, "acme", uuid(1), func(e *model.Export) { e.Attachments = 2 })
	b.Delivery(t, e, "hris", model.Retrying, 503)
	b.Write(t, func(tx *store.Tx) error {
		for n := range 2 {
			d := model.Document{ExportID: e.ID, Tenant: "acme", Position: n, CreatedAt: b.Clock.Now()}
			if err := tx.InsertDocument(d); err != nil {
				return err
			}
		}
		return nil
	})
	docs, err := b.Runtime.Store().ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	docs[0].Tries, docs[0].Reason = 3, "files.example answered 503"
	docs[1].State, docs[1].LostAt, docs[1].Reason = model.GivenUp, b.Clock.Now(), "files.example answered 410"
	for _, d := range docs {
		b.Write(t, func(tx *store.Tx) error { _, err := tx.UpdateDocument(d); return err })
	}
	b.Clock.Advance(20 * time.Minute)
	text := b.see(ops, "/", http.StatusOK)
	for _, want := range []string{"Two clocks", `<p class="value">2 h 10 min</p>`, "<dt>To be fetched</dt><dd>1</dd>",
		`<a href="/console/exports?lateDocuments=true">1</a>`, "the service’s fault: 1", "Documents late", "1 document"} {
		require.Contains(t, text, want)
	}
	page := "/exports/acme/" + uuid(1)
	text = b.see(ops, page, http.StatusOK)
	for _, want := range []string{"1 document is late: lost in 2 h 10 min, unless fetched.", "0 of 2 are here, 2 h 10 min left", "1 attempt, 2 d left",
		`action="/console` + page + `/fetch"`, "<b>the service’s fault</b>"} {
		require.Contains(t, text, want)
	}
	require.Equal(t, 3, strings.Count(text, `class="end-line"`), "one of each clock, and the legend's")
	require.NotContains(t, b.see(viewer, page, http.StatusOK), "/fetch")
	b.post(ops, page+"/fetch", nil, http.StatusSeeOther)
	require.Contains(t, b.see(ops, page, http.StatusOK), "documents fetched again", "the audit")
}
