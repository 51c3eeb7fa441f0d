package manageapi_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Whoever looks at an integration that fails sees why, how often, and what its partner answered.
func TestCausesOfAnIntegration(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.delivery(b.export("acme", "u-1"), "hris", model.Retrying)
	d.Attempts = 3
	b.Write(t, func(tx *store.Tx) error {
		for n, status := range []int{503, 422, 422} {
			if err := tx.InsertAttempt(&model.Attempt{DeliveryID: d.ID, Status: status, Answer: []byte(answered),
				StartedAt: gatewaytest.Noon.Add(time.Duration(n) * time.Second), Error: fmt.Sprint("answered ", status),
			}); err != nil {
				return err
			}
		}
		return tx.UpsertDelivery(d)
	})
	b.delivery(b.export("acme", "u-2"), "hris", model.Delivered, 200)
	causes := get[api.Causes](b, acme+"/integrations/hris/causes")
	require.False(t, causes.More)
	require.Len(t, causes.Items, 2)
	for _, c := range causes.Items {
		require.Equal(t, "u-1", c.Sample.UUID)
		require.Contains(t, c.Sample.Answer, answered)
		if c.Status == 422 {
			require.Equal(t, []any{model.ClassDataFault, int64(2), int64(1)}, []any{c.Class, c.Attempts, c.Exports})
		}
	}
	require.Empty(t, get[api.Causes](b, acme+"/integrations/crm/causes").Items)
	require.Empty(t, get[api.Causes](b, acme+"/integrations/hris/causes?since=2030-01-01T00:00:00Z").Items)
	b.problem(http.MethodGet, acme+"/integrations/nothing/causes", "", http.StatusNotFound)
	out, _, err := b.cli("integration", "causes", "acme/hris", "--since", "2026-11-01T00:00:00Z")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^.*422.* +2 +1 +2026-.* +u-1 +.*`+answered, out)
	b.requireCleanLog()
}
