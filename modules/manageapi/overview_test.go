package manageapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// The overview is of the tenants that a key opens.
func TestOverview(t *testing.T) {
	t.Parallel()
	b := setup(t).keyed()
	b.Write(t, func(tx *store.Tx) error {
		for tenant, n := range map[string]int64{"acme": 2, "globex": 3} {
			tx.NoteQuarter(tenant, store.Quarter{Begin: gatewaytest.Noon, Received: n, Waiting: n, Oldest: time.Minute})
		}
		tx.NoteQuarter("", store.Quarter{Begin: gatewaytest.Noon, Waiting: 5, Oldest: time.Minute})
		tx.NoteQuarter("acme", store.Quarter{Begin: gatewaytest.Noon.Add(-8 * 24 * time.Hour), Received: 1})
		return nil
	})
	all, acmes := b.as(b.key("k-1", "", model.Viewer)), b.as(b.key("k-2", "acme", model.Viewer))
	require.Equal(t, []api.Quarter{{Begin: gatewaytest.Noon, Received: 5, Waiting: 5, Oldest: 60}},
		get[api.Overview](all, "/v1/overview?since=2026-11-01T00:00:00Z").Quarters)
	require.Equal(t, []api.Quarter{{Begin: gatewaytest.Noon, Received: 2, Waiting: 2, Oldest: 60}},
		get[api.Overview](acmes, "/v1/overview").Quarters)
	require.Equal(t, int64(3), get[api.Overview](all, "/v1/overview?tenant=globex").Quarters[0].Received)
	require.Equal(t, int64(2), get[api.Overview](acmes, "/v1/overview?tenant=acme").Quarters[0].Received)
	acmes.must(http.StatusNotFound, http.MethodGet, "/v1/overview?tenant=globex", "")
	require.Empty(t, get[api.Overview](all, "/v1/overview?since=2026-11-20T12:15:00Z").Quarters)
}
