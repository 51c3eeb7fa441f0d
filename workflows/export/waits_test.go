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
)

// waitOf is why the delivery of an export waits, whether it is stored or not.
func (b *fixture) waitOf(key string) export.Wait {
	b.t.Helper()
	e, err := b.Store.ExportByKey(b.t.Context(), "acme", key)
	require.NoError(b.t, err)
	all, err := b.Store.ListDeliveries(b.t.Context(), e.ID)
	require.NoError(b.t, err)
	waits, err := b.Waits(b.t.Context(), b.config, b.Clock(), []*model.Export{e})
	require.NoError(b.t, err)
	require.Len(b.t, all, 1)
	return waits.For(e, all[0])
}

// dispatched accepts an export and marks it as dispatched.
func (b *fixture) dispatched(key string) *model.Export {
	b.t.Helper()
	e := b.accept(key)
	require.NoError(b.t, b.Store.Write(b.t.Context(), func(tx *store.Tx) error {
		return tx.MarkDispatched(e.ID, 0, b.Clock(), "hris")
	}))
	e, err := b.Store.Export(b.t.Context(), e.ID)
	require.NoError(b.t, err)
	return e
}

// Of a client that is down each export says since when and when the next attempt is, also those that were not tried.
func TestEveryExportOfAClientThatIsDownSaysWhy(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.status.Store(http.StatusServiceUnavailable)
	var all []*model.Export
	for n := range 40 {
		all = append(all, b.dispatched(fmt.Sprint("u-", n)))
	}
	require.Equal(t, export.Wait{Reason: "its first attempt is made in a moment, or under way", NextAt: b.Clock()},
		b.waitOf("u-39"))
	b.deliver(all[0])
	one := b.waitOf("u-0")
	require.Equal(t, "answered 503; only 2xx means received", one.Reason)
	require.WithinRange(t, one.NextAt, b.Clock().Add(4*time.Second), b.Clock().Add(6*time.Second))
	for _, e := range all[1:12] {
		b.deliver(e)
	}
	probe := b.Gate(b.integration()).Probe
	for n := range 40 {
		wait := b.waitOf(fmt.Sprint("u-", n))
		require.Regexp(t, `^integration hris has failed since .+ UTC; next probe .+ UTC: answered 503; only 2xx means `+
			`received$`, wait.Reason)
		require.False(t, wait.NextAt.Before(probe), "no attempt is made before the probe")
	}
}

// What waits for something else than its integration says so.
func TestWhatADeliveryWaitsFor(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.dispatched("u-1")
	b.set(model.Disabled)
	require.Contains(t, b.waitOf("u-1").Reason, "integration hris is disabled: as the test has it")
	require.Zero(t, b.waitOf("u-1").NextAt, "somebody has to enable it")
	b.set(model.Configured)

	e := b.accept("u-2")
	e.Attachments, e.ID, e.Key, e.Receipt = 2, model.NewID(b.Clock()), "u-3", "another"
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		if _, err := tx.InsertExport(e); err != nil {
			return err
		}
		return tx.MarkDispatched(e.ID, 0, b.Clock(), "hris")
	}))
	require.Equal(t, export.Wait{Reason: "it waits for its documents, until 12:01:00 UTC at the latest: 0 of 2 are here",
		NextAt: b.Clock().Add(time.Minute)}, b.waitOf("u-3"))
	b.advance(time.Minute)
	require.Contains(t, b.waitOf("u-3").Reason, "its first attempt")

	b.integration().InFlight = 1
	var full export.Wait
	b.answer = func(*http.Request) int {
		full = b.waitOf("u-1")
		return http.StatusOK
	}
	b.deliver(b.dispatched("u-4"))
	require.Equal(t, "integration hris has as many attempts under way as it takes, 1: it waits for its turn", full.Reason)

	b.integration().InFlight, b.integration().Rate = 0, &model.Rate{PerSecond: .5, Burst: 1}
	b.deliver(b.dispatched("u-5"))
	_, _, class := b.deliver(b.dispatched("u-6"))
	require.Equal(t, "over_rate", class)
	require.Equal(t, "integration hris gets 30/m burst 1 at most: it waits for its turn", b.waitOf("u-6").Reason)

	b.config.Tenants["acme"].Integrations = nil
	require.Equal(t, export.Wait{Reason: "integration hris is not in this gateway's configuration"}, b.waitOf("u-1"))
}
