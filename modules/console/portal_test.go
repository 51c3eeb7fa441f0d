package console

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// portal makes a link as an operator does, and returns what a browser has that followed it.
func (b *fixture) portal(tenant string, form url.Values) func(*http.Request) {
	b.t.Helper()
	w := b.send(ops, http.MethodPost, "/tenants/"+tenant+"/portal", form)
	require.Equal(b.t, http.StatusOK, w.Code, w.Body)
	found := regexp.MustCompile(`<pre>(https:[^<]+)</pre>`).FindStringSubmatch(w.Body.String())
	require.NotEmpty(b.t, found, w.Body)
	link, below := strings.CutPrefix(html.UnescapeString(found[1]), here)
	require.True(b.t, below)
	entered := b.send("", http.MethodGet, link, nil)
	require.Equal(b.t, http.StatusSeeOther, entered.Code, entered.Body)
	require.Equal(b.t, "/console/tenants/"+tenant, entered.Header().Get("Location"))
	cookie := entered.Result().Cookies()[0]
	require.True(b.t, cookie.Secure && cookie.HttpOnly)
	return func(r *http.Request) { r.AddCookie(cookie) }
}

// A link shows a partner nothing of the operator's network. Whoever only looks whether the link works, as previews do,
// gets no cookie.
func TestPortalsShowNoAddresses(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Fixture.Gateway.Config.Workflows = "http://temporal.internal:8233/namespaces/default/workflows/"
	b.export("acme", uuid(1), model.Failed)
	page := "/exports/acme/" + uuid(1)
	for _, secret := range []string{"temporal.internal", "192.0.2.1:443"} {
		require.Contains(t, b.see(ops, page, http.StatusOK), secret, "people see it who are signed in")
	}
	visitor := b.portal("acme", url.Values{"bodies": {"yes"}})
	for _, ask := range []struct{ method, path string }{{http.MethodGet, page}, {http.MethodPost, page + "/body"},
		{http.MethodGet, "/exports"}, {http.MethodGet, "/tenants/acme"},
		{http.MethodGet, "/tenants/acme/integrations/hris"}} {
		w := b.send("", ask.method, ask.path, nil, visitor)
		require.Equal(t, http.StatusOK, w.Code, ask.path)
		require.NotContains(t, w.Body.String(), "temporal.internal", ask.path)
		require.NotContains(t, w.Body.String(), "192.0.2.1", ask.path)
	}

	w := b.send(ops, http.MethodPost, "/tenants/acme/portal", url.Values{})
	found := regexp.MustCompile(`<pre>(https:[^<]+)</pre>`).FindStringSubmatch(w.Body.String())
	require.NotNil(t, found)
	link, _ := strings.CutPrefix(html.UnescapeString(found[1]), here)
	for _, path := range []string{link, "/sign-in", "/callback?code=c&state=s"} {
		w := b.send("", http.MethodHead, path, nil)
		require.Equal(t, http.StatusOK, w.Code)
		require.Empty(t, w.Result().Cookies(), path)
	}
}

// What a receiver repeats of a request shows those who may not read bodies neither the signature nor where it went, which a
// portal with bodies shows nobody either.
func TestRepeatedSignaturesAreForOperators(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	signature := strings.Repeat("0123456789abcdef", 4)
	for n, tenant := range []string{"acme", "globex"} {
		d := b.Delivery(t, b.Fixture.Export(t, tenant, uuid(n+1)), "other", model.Retrying)
		b.Write(t, func(tx *store.Tx) error {
			return tx.InsertAttempt(&model.Attempt{DeliveryID: d.ID, Status: 500, StartedAt: gatewaytest.Noon,
				Answer: []byte("you sent " + signature)})
		})
	}
	page := "/exports/acme/" + uuid(1)
	for _, who := range []string{ops, operator} {
		require.Contains(t, b.see(who, page, http.StatusOK), "you sent "+signature, who)
	}
	for _, seen := range []string{b.see(recruiter, "/exports/globex/"+uuid(2), http.StatusOK),
		b.send("", http.MethodGet, page, nil, b.portal("acme", url.Values{"bodies": {"yes"}})).Body.String()} {
		require.Contains(t, seen, "you sent (secret)")
		require.NotContains(t, seen, signature[:20])
	}
	for _, seen := range []string{b.see(viewer, page, http.StatusOK),
		b.send("", http.MethodGet, page, nil, b.portal("acme", url.Values{})).Body.String()} {
		require.NotContains(t, seen, "you sent")
		require.Contains(t, seen, "The text of the answer may repeat data of a candidate, and is not shown to you.")
	}
}

// A partner reads about itself as "you", in both languages; an operator reads about it by name.
func TestPartnerIsYou(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Delivered)
	visitor := b.portal("acme", url.Values{})
	for language, want := range map[string]string{"en": "<h1>Delivered to you at hris.</h1>",
		"de": "<h1>Bei Ihnen angekommen, an hris.</h1>"} {
		in := func(r *http.Request) { r.Header.Set("Accept-Language", language) }
		page := "/exports/acme/" + uuid(1)
		require.Contains(t, b.send("", http.MethodGet, page, nil, visitor, in).Body.String(), want)
		require.NotContains(t, b.send(ops, http.MethodGet, page, nil, in).Body.String(), want)
		for _, seen := range []string{page, "/exports", "/tenants/acme", "/tenants/acme/integrations/hris"} {
			w := b.send("", http.MethodGet, seen, nil, visitor, in)
			require.NotRegexp(t, `[Tt]he partner|[Dd]er Partner|beim Partner`, w.Body.String(), seen)
		}
	}
}

// Whoever has the link sees one tenant and redelivers its exports, and does nothing else, for an hour.
func TestPortal(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Failed)
	b.export("globex", uuid(2), model.Failed)
	export := "/exports/acme/" + uuid(1)
	visitor := b.portal("acme", url.Values{})
	require.Contains(t, b.send("", http.MethodGet, export, nil, visitor).Body.String(), "<summary>Copy as text</summary>")
	for path, want := range map[string]int{
		"/": http.StatusSeeOther, "/tenants/acme": http.StatusOK, "/exports": http.StatusOK, export: http.StatusOK,
		"/tenants/acme/integrations/hris": http.StatusOK, "/audit": http.StatusForbidden, "/tenants": http.StatusForbidden,
		"/redeliveries": http.StatusForbidden, "/tenants/acme/portal": http.StatusForbidden,
		"/tenants/globex": http.StatusNotFound, "/exports/globex/" + uuid(2): http.StatusNotFound,
	} {
		w := b.send("", http.MethodGet, path, nil, visitor)
		require.Equal(t, want, w.Code, path)
		require.NotContains(t, w.Body.String(), uuid(2))
	}
	for path, want := range map[string]int{
		export + "/redeliver": http.StatusSeeOther, export + "/release": http.StatusForbidden,
		export + "/erase": http.StatusForbidden, "/tenants/acme/integrations/hris/disable": http.StatusForbidden,
		"/exports/globex/" + uuid(2) + "/redeliver": http.StatusNotFound, "/tenants/acme/portal": http.StatusForbidden,
	} {
		require.Equal(t, want, b.send("", http.MethodPost, path, url.Values{"sure": {"yes"}}, visitor).Code, path)
	}
	audit := b.see(ops, "/audit", http.StatusOK)
	require.Contains(t, audit, "made a link for the client")
	require.Regexp(t, `portal:[0-9a-f-]{36}</span></span></td><td[^>]+>redelivered`, audit)

	// Those who are signed in stay what they are.
	require.Equal(t, http.StatusOK, b.send(ops, http.MethodGet, "/audit", nil, visitor).Code)
	b.Clock.Advance(time.Hour)
	require.Equal(t, "/console/sign-in", strings.Split(b.send("", http.MethodGet, export, nil,
		visitor).Header().Get("Location"), "?")[0], "the hour is over")
	for _, ticket := range []string{"", "x"} {
		require.Equal(t, http.StatusForbidden, b.send("", http.MethodGet, "/portal?ticket="+ticket, nil).Code)
	}
	require.Equal(t, http.StatusForbidden, b.send(viewer, http.MethodPost, "/tenants/acme/portal", url.Values{}).Code)
	require.Equal(t, http.StatusNotFound, b.send(recruiter, http.MethodPost, "/tenants/acme/portal", url.Values{}).Code)
}

// A link is listed on the page of its client, with who has it, who made it and whether it was opened. Whoever may make one may
// revoke it, and it ends at once, also where it is open.
func TestPortalLinksAreListedAndRevoked(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.portal("acme", url.Values{"label": {"Sam Rivera"}, "bodies": {"yes"}})
	visitor := b.portal("globex", url.Values{})
	require.Equal(t, http.StatusOK, b.send(ops, http.MethodPost, "/tenants/acme/portal", url.Values{"label": {"Unopened"}}).Code)
	page := b.see(ops, "/tenants/acme", http.StatusOK)
	for _, text := range []string{"Sam Rivera", "sees exports and bodies", "by <bdi>" + ops, "opened <time", "not opened yet"} {
		require.Contains(t, page, text)
	}
	require.NotContains(t, page, "ticket=")
	require.NotContains(t, b.see(viewer, "/tenants/acme", http.StatusOK), "Sam Rivera")
	require.NotContains(t, b.send("", http.MethodGet, "/tenants/globex", nil, visitor).Body.String(), "not opened yet")

	revoke := regexp.MustCompile(`/tenants/globex/portals/[0-9a-f-]+/revoke`).FindString(b.see(ops, "/tenants/globex", http.StatusOK))
	require.NotEmpty(t, revoke)
	require.Equal(t, http.StatusForbidden, b.send("", http.MethodPost, revoke, nil, visitor).Code)
	require.Equal(t, http.StatusOK, b.send("", http.MethodGet, "/tenants/globex", nil, visitor).Code)
	b.post(ops, revoke, nil, http.StatusSeeOther)
	require.Equal(t, http.StatusSeeOther, b.send("", http.MethodGet, "/tenants/globex", nil, visitor).Code, "they are to sign in")
	b.post(ops, revoke, nil, http.StatusNotFound)
	require.NotContains(t, b.see(ops, "/tenants/globex", http.StatusOK), "/portals/")
	b.Clock.Advance(time.Hour)
	require.NotContains(t, b.see(ops, "/tenants/acme", http.StatusOK), "Sam Rivera")
}

// A link that a gateway of an earlier version made has no row, and works until its end.
func TestPortalLinkOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	link, err := b.Console.PortalLink(gateway.Portal{ID: "4f8f7a3e-2c55-4a53-9d0c-7a1f2f0f4a11", Tenant: "acme",
		Till: b.Clock.Now().Add(time.Minute)})
	require.NoError(t, err)
	path, _ := strings.CutPrefix(link, here)
	require.Equal(t, http.StatusSeeOther, b.send("", http.MethodGet, path, nil).Code)
	b.Clock.Advance(time.Minute)
	require.Equal(t, http.StatusForbidden, b.send("", http.MethodGet, path, nil).Code)
}
