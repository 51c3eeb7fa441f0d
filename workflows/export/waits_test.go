package export_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// Of a client that is down each export says since when and when the next attempt is, also those that were not tried.
func TestEveryExportOfAClientThatIsDownSaysWhy(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Status.Store(http.StatusServiceUnavailable)
	var all []*model.Export
	for n := range 40 {
		all = append(all, b.Dispatched(fmt.Sprint("u-", n)))
	}
	require.Equal(t, export.Wait{Reason: "its first attempt is made in a moment, or under way", NextAt: b.Clock()},
		b.WaitOf("u-39"))
	b.DeliverOnce(all[0])
	one := b.WaitOf("u-0")
	require.Equal(t, "answered 503; only 2xx means received", one.Reason)
	require.WithinRange(t, one.NextAt, b.Clock().Add(4*time.Second), b.Clock().Add(6*time.Second))
	for _, e := range all[1:12] {
		b.DeliverOnce(e)
	}
	probe := b.Gate(b.Integration()).Probe
	for n := range 40 {
		wait := b.WaitOf(fmt.Sprint("u-", n))
		require.Regexp(t, `^integration hris has failed since .+ UTC; next probe .+ UTC: answered 503; only 2xx means `+
			`received$`, wait.Reason)
		require.False(t, wait.NextAt.Before(probe), "no attempt is made before the probe")
	}
}

// What waits for something else than its integration says so.
func TestWhatADeliveryWaitsFor(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Dispatched("u-1")
	b.Set(model.Disabled)
	require.Contains(t, b.WaitOf("u-1").Reason, "integration hris is disabled: as the test has it")
	require.Zero(t, b.WaitOf("u-1").NextAt, "somebody has to enable it")
	b.Set(model.Configured)

	e := b.Accept("u-2")
	e.Attachments, e.ID, e.Key, e.Receipt = 2, model.NewID(b.Clock()), "u-3", "another"
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		if _, err := tx.InsertExport(e); err != nil {
			return err
		}
		return tx.MarkDispatched(e.ID, 0, b.Clock(), "hris")
	}))
	require.Equal(t, export.Wait{Reason: "it waits for its documents, until 12:01:00 UTC at the latest: 0 of 2 are here",
		NextAt: b.Clock().Add(time.Minute)}, b.WaitOf("u-3"))
	b.Advance(time.Minute)
	require.Contains(t, b.WaitOf("u-3").Reason, "its first attempt")

	b.Integration().InFlight = 1
	var full export.Wait
	b.Answer = func(*http.Request) int {
		full = b.WaitOf("u-1")
		return http.StatusOK
	}
	b.DeliverOnce(b.Dispatched("u-4"))
	require.Equal(t, "integration hris has as many attempts under way as it takes, 1: it waits for its turn", full.Reason)

	b.Integration().InFlight, b.Integration().Rate = 0, &model.Rate{PerSecond: .5, Burst: 1}
	b.DeliverOnce(b.Dispatched("u-5"))
	_, _, class := b.DeliverOnce(b.Dispatched("u-6"))
	require.Equal(t, "over_rate", class)
	require.Equal(t, "integration hris gets 30/m burst 1 at most: it waits for its turn", b.WaitOf("u-6").Reason)

	b.Config.Tenants["acme"].Integrations = nil
	require.Equal(t, export.Wait{Reason: "integration hris is not in this gateway's configuration"}, b.WaitOf("u-1"))
}
