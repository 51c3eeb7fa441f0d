package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An administrator subscribes a system of the service's own to events, switches that off and on, and removes it. Others
// see nothing of it, and nobody sees the secret, or the address but for its host.
func TestSubscriptionsOfATenant(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	post := func(path string, form url.Values) string {
		return b.see(ops, strings.TrimPrefix(b.post(ops, path, form, http.StatusSeeOther), "/console"), http.StatusOK)
	}
	const at = "/tenants/acme/subscriptions"
	const secret = "0123456789abcdef"
	form := url.Values{"name": {"ats"}, "url": {"https://ats.example/events?key=1"}, "secret": {secret}}
	page := post(at, form)
	require.Contains(t, page, "It is sent what changes from now on.")
	require.Contains(t, page, "ats.example")
	require.NotContains(t, page, "key=1")
	require.NotContains(t, page, secret)
	require.NotContains(t, b.see(operator, "/tenants/acme", http.StatusOK), "ats.example")
	b.post(operator, at, form, http.StatusForbidden)
	require.Contains(t, post(at+"/ats/disable", nil), `action="/console/tenants/acme/subscriptions/ats/enable"`)
	require.Contains(t, b.see(ops, "/", http.StatusOK), "Events not sent")
	require.Contains(t, post(at+"/ats/enable", nil), `action="/console/tenants/acme/subscriptions/ats/disable"`)
	require.NotContains(t, post(at+"/ats/remove", nil), "ats.example")
	b.post(ops, at+"/ats/start", nil, http.StatusNotFound)
	b.post(ops, at, url.Values{"name": {"ats"}, "url": {"http://10.0.0.1/events"}, "secret": {secret}}, http.StatusUnprocessableEntity)
}
