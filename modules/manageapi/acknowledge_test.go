package manageapi_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// down has three integrations of three tenants fail with the same answer, but for the id of the request.
func (b *fixture) down() {
	b.many(3)
	b.Reconfigure(func(c *config.Config) {
		for n := range 3 {
			c.Tenants[fmt.Sprintf("t-%04d", n)].Integrations[0].Verify = false
		}
	})
	for n := range 3 {
		tenant := fmt.Sprintf("t-%04d", n)
		for m := range n + 1 {
			d := b.delivery(b.export(tenant, fmt.Sprint("u-", n, m)), "hris", model.Retrying)
			d.Attempts, d.Fault, d.UpdatedAt = 1, model.ClassPartnerFault, gatewaytest.Noon.Add(time.Minute)
			b.Write(b.t, func(tx *store.Tx) error {
				a := &model.Attempt{DeliveryID: d.ID, Status: 503, Answer: fmt.Appendf(nil, "no healthy upstream, request %d\nmore", n),
					StartedAt: gatewaytest.Noon, Duration: time.Second, Fault: model.ClassPartnerFault, Error: "answered 503; only 2xx means received"}
				if err := tx.InsertAttempt(a); err != nil {
					return err
				}
				for range model.FailingAfter {
					tx.CountAttempt(model.Place{Tenant: tenant, Integration: "hris"}, d.ExportID, a)
				}
				return tx.UpsertDelivery(d)
			})
		}
	}
}

// Integrations of all tenants that get the same answer are one need, which is not counted while somebody knows of its cause.
func TestCausesOverAllTenants(t *testing.T) {
	t.Parallel()
	b := setup(t)
	before, beforeGrouped := get[api.GatewayStatus](b, "/v1/status"), get[api.GatewayStatus](b, "/v1/status?grouped=true")
	b.down()
	single := get[api.GatewayStatus](b, "/v1/status")
	grouped := get[api.GatewayStatus](b, "/v1/status?grouped=true")
	require.Equal(t, []int{before.AllNeeds() + 3, beforeGrouped.AllNeeds() + 1}, []int{single.AllNeeds(), grouped.AllNeeds()})
	need := grouped.Needs[0]
	require.Equal(t, []any{"t-0002", int64(6), 503, model.HelpsRetry}, []any{need.Tenant, need.Count, need.Cause.Status, need.Cause.Helps})
	require.Regexp(t, "^no healthy upstream, request [012]$", need.Cause.FirstLine)
	require.Equal(t, []string{"t-0002/hris", "t-0001/hris", "t-0000/hris"}, need.Cause.Integrations)
	require.False(t, need.LostAt.IsZero())
	require.Equal(t, "t-0002", grouped.Integrations[0].Tenant)
	require.EqualValues(t, 1, grouped.NeedsOf["t-0000"])
	require.Nil(t, single.Needs[0].Cause)
	out, _, err := b.cli("cause", "list")
	require.NoError(t, err)
	require.Regexp(t, need.Cause.ID+` +503 no healthy upstream, request \d +t-0002/hris and 2 more +6 `, out)

	at := "/v1/causes/" + need.Cause.ID
	until := b.Clock.Now().Add(time.Hour)
	body := func(until time.Time, note string) string {
		return fmt.Sprintf(`{"until": %q, "note": %q}`, until.Format(time.RFC3339), note)
	}
	b.must(http.StatusUnprocessableEntity, http.MethodPut, at+"/acknowledgement", body(b.Clock.Now(), ""))
	b.must(http.StatusUnprocessableEntity, http.MethodPut, at+"/acknowledgement", body(until.Add(31*24*time.Hour), ""))
	b.must(http.StatusUnprocessableEntity, http.MethodPut, at+"/acknowledgement", body(until, "two\nlines"))
	b.must(http.StatusNotFound, http.MethodPut, "/v1/causes/0000/acknowledgement", body(until, ""))
	b.must(http.StatusOK, http.MethodPut, at+"/acknowledgement", body(until, "they know"))
	after := get[api.GatewayStatus](b, "/v1/status")
	require.Equal(t, single.AllNeeds()-3, after.AllNeeds())
	require.Len(t, after.Acknowledged, 1)
	require.Equal(t, "they know", after.Acknowledged[0].Cause.Acknowledged.Note)
	require.EqualValues(t, 6, after.Acknowledged[0].Count)
	require.Equal(t, before.Stuck, after.Stuck)
	require.EqualValues(t, 3, after.Quiet[model.Failing])

	own := b.keyed().as(b.key("k-1", "t-0001", model.Viewer))
	seen := get[api.GatewayStatus](own, "/v1/status")
	require.Empty(t, seen.Needs)
	require.Equal(t, []string{"t-0001/hris"}, seen.Acknowledged[0].Cause.Integrations)
	require.Empty(t, seen.Acknowledged[0].Cause.FirstLine, "it may repeat what is in a body")
	own.must(http.StatusForbidden, http.MethodPut, at+"/acknowledgement", body(until, ""))
	own.must(http.StatusForbidden, http.MethodPost, at+"/retry", "")
	theirs := b.keyed().as(b.key("k-2", "t-0001", model.Operator))
	theirs.must(http.StatusNotFound, http.MethodDelete, at+"/acknowledgement", "")

	counts := func() int {
		now := get[api.GatewayStatus](b, "/v1/status?grouped=true")
		return now.AllNeeds()
	}
	b.Clock.Advance(time.Hour)
	require.Equal(t, grouped.AllNeeds(), counts(), "it has ended")
	theirs.must(http.StatusOK, http.MethodPut, at+"/acknowledgement", body(until.Add(time.Hour), ""))
	require.Empty(t, get[api.GatewayStatus](theirs, "/v1/status").Needs)
	require.Equal(t, grouped.AllNeeds(), counts(), "that is for their tenant")
	theirs.must(http.StatusNoContent, http.MethodDelete, at+"/acknowledgement", "")
	require.Len(t, get[api.GatewayStatus](theirs, "/v1/status").Needs, 1)

	earlier := fmt.Sprintf(`{"until": %q}`, need.Since.Add(-time.Second).Format(time.RFC3339))
	require.JSONEq(t, `{"begun": 0, "refused": 0}`, b.must(http.StatusAccepted, http.MethodPost, at+"/retry", earlier).body,
		"none had the cause by then")
	require.JSONEq(t, `{"begun": 3, "refused": 0}`, b.must(http.StatusAccepted, http.MethodPost, at+"/retry", "").body)
	require.Equal(t, "running", get[api.Retry](b, "/v1/tenants/t-0001/integrations/hris/retry").State)
	require.Len(t, b.entries("action=retry"), 5, "of the cause, twice, and of each integration")
	tried := get[api.GatewayStatus](b, "/v1/status?grouped=true").Needs[0].Cause.LastTry
	require.Equal(t, &model.CauseTry{At: tried.At, Running: 3}, tried)
	out, _, err = b.cli("cause", "list")
	require.NoError(t, err)
	require.Contains(t, out, "received 0, not received 0, under way at 3")
	require.Equal(t, [][3]string{{"", "acknowledge", "causes/" + need.Cause.ID + "/acknowledgement"},
		{"t-0001", "acknowledge", "causes/" + need.Cause.ID + "/acknowledgement"}}, b.entries("action=acknowledge"))
}
