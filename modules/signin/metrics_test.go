package signin_test

import (
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
)

// What people and applications do is counted by client, a client that no other test has.
func TestCounters(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Write(t, func(tx *store.Tx) error {
		c := &identity.Client{ID: "counted", Name: "Counted", RedirectURIs: []string{callback}, Algorithm: identity.ES256,
			CreatedAt: b.Now()}
		if err := tx.InsertClient(c); err != nil {
			return err
		}
		return tx.InsertClientSecret(c.ID, identity.HashSecret(secretOf(c.ID)), b.Now())
	})
	p := base().with(params{"client_id": "counted"})
	u := b.browser()
	requirePage(t, u.signIn(u.authorize(p), "ada@example.com", "a guess"), http.StatusForbidden)
	code := u.enter(p).Get("code")
	requireTokens(t, b.exchange("counted", code))
	requireFault(t, b.exchange("counted", code), http.StatusBadRequest, "invalid_grant")
	require.Equal(t, map[string]float64{
		"sign-in wrong_password": 1, "sign-in success": 1, "authorize success": 1,
		"authorization_code success": 1, "authorization_code invalid_grant": 1,
	}, counted(t, "counted"))
}

// counted are the counters of a client, by event or grant, and result.
func counted(t *testing.T, client string) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	require.NoError(t, metrics.Register(registry))
	families, err := registry.Gather()
	require.NoError(t, err)
	all := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "hiregate_signin_total" && f.GetName() != "hiregate_signin_tokens_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["client"] == client {
				all[labels["event"]+labels["grant"]+" "+labels["result"]] = m.GetCounter().GetValue()
			}
		}
	}
	return all
}
