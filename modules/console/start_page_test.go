package console

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
		require.Contains(t, b.see(ops, page, http.StatusOK), "refuses what it gets since 12:00: 15 of 15 answered 422", page)
	}
	german := func(r *http.Request) { r.Header.Set("Accept-Language", "de") }
	require.Contains(t, b.send(ops, http.MethodGet, "/", nil, german).Body.String(), "Nimmt nicht an, was es bekommt")
}
