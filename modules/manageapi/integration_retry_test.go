package manageapi_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// retried is the answer of the API about what is attempted at once.
type retried struct {
	State, Reason             string
	Waiting, Received, Failed int64
	Asked                     bool
}

// What waits for its next attempt is attempted once somebody who may asks for it; a repeat of the request asks for nothing
// more.
func TestRetryOfAnIntegration(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const hris = "/v1/tenants/acme/integrations/hris"
	b.status("acme", "hris", store.IntegrationStatus{State: model.Configured, UpdatedAt: gatewaytest.Noon})
	require.Equal(t, retried{State: "none"}, get[retried](b, hris+"/retry"))
	for n := range 3 {
		b.delivery(b.export("acme", fmt.Sprint("u-", n)), "hris", model.Retrying, 422)
	}
	b.delivery(b.export("acme", "held"), "hris", model.Held)
	b.delivery(b.export("acme", "elsewhere"), "crm", model.Retrying, 422)
	b.Clock.Advance(time.Minute)
	require.Equal(t, retried{State: "none", Waiting: 3}, get[retried](b, hris+"/retry"))

	once := []string{"Idempotency-Key", "7b1f"}
	require.Contains(t, b.must(http.StatusAccepted, http.MethodPost, hris+"/retry", "", once...).body, `"state":"running","waiting":3,"asked":true`)
	at := model.Place{Tenant: "acme", Integration: "hris"}
	first, err := b.Runtime.Store().CatchUp(t.Context(), at)
	require.NoError(t, err)
	require.Contains(t, b.must(http.StatusAccepted, http.MethodPost, hris+"/retry", "", once...).body, `"waiting":3`)
	again, err := b.Runtime.Store().CatchUp(t.Context(), at)
	require.NoError(t, err)
	require.Equal(t, first.BeganAt, again.BeganAt)
	entry := get[struct {
		Items []model.AuditEntry `json:"items"`
	}](b, "/v1/audit?action=retry")
	require.Len(t, entry.Items, 1)
	require.Equal(t, []string{"acme", "integrations/hris"}, []string{entry.Items[0].Tenant, entry.Items[0].Object})

	b.status("acme", "hris", store.IntegrationStatus{State: model.Disabled, Reason: "it answered 410", UpdatedAt: b.Clock.Now()})
	require.Contains(t, b.problem(http.MethodPost, hris+"/retry", "", http.StatusConflict),
		"integration hris is disabled: it answered 410")
	b.problem(http.MethodPost, "/v1/tenants/acme/integrations/none/retry", "", http.StatusNotFound)

	keyed := b.keyed()
	viewer := keyed.as(keyed.key("viewer", "acme", model.Viewer))
	viewer.problem(http.MethodPost, hris+"/retry", "", http.StatusForbidden)
	require.EqualValues(t, 3, get[retried](viewer, hris+"/retry").Waiting)
}

// The command says what became of all that waited, and exits with 1 where some failed again.
func TestRetryCommand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i := b.status("acme", "hris", store.IntegrationStatus{State: model.Configured, UpdatedAt: gatewaytest.Noon})
	end := func(received, failed int64, reason string) {
		at := model.Place{Tenant: i.Tenant, Integration: i.Name}
		var c *model.CatchUp
		require.Eventually(t, func() (running bool) {
			var err error
			c, err = b.Runtime.Store().CatchUp(t.Context(), at)
			return err == nil && c.EndedAt.IsZero()
		}, time.Minute, time.Millisecond)
		c.Received, c.Failed, c.Reason, c.EndedAt = received, failed, reason, time.Now()
		b.Write(t, func(tx *store.Tx) error { _, err := tx.UpdateCatchUp(c, time.Now()); return err })
	}
	for n := range 3 {
		b.delivery(b.export("acme", fmt.Sprint("u-", n)), "hris", model.Retrying, 422)
	}
	b.Clock.Advance(time.Minute)
	out, _, err := b.cli("integration", "retry", "acme/hris", "--detach")
	require.NoError(t, err)
	require.Equal(t, "acme/hris: 3 exports are attempted now; 3 still wait\n", out)
	end(0, 0, "")
	go end(3, 0, "")
	out, _, err = b.cli("integration", "retry", "acme/hris")
	require.NoError(t, err)
	require.Equal(t, "acme/hris: 3 of 3 exports were received, 0 failed again\n", out)
	go end(0, 1, "the oldest was answered 503; the other 2 keep their next attempts")
	out, _, err = b.cli("integration", "retry", "acme/hris")
	require.ErrorContains(t, err, "hiregate export list --tenant acme --integration hris --outcome retrying lists them")
	require.Equal(t, "acme/hris: 0 of 3 exports were received, 1 failed again: the oldest was answered 503; the other 2 keep their next attempts\n", out)
	go end(1, 2, "one was answered 503")
	out, _, err = b.cli("integration", "retry", "acme/hris")
	require.Error(t, err)
	require.Equal(t, "acme/hris: 1 of 3 exports were received, 2 failed again: one was answered 503\n", out)
	out, _, err = b.cli("integration", "retry", "acme/crm")
	require.ErrorContains(t, err, "crm is not verified")
	require.Empty(t, out)
}
