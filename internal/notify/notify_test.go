package notify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/notify"
	"github.com/hiregate/hiregate/internal/store"
)

// That an integration fails is told once by all nodes, when it has lasted, and so is the first export after it. One
// that comes and goes is not told of each time.
func TestFailingAndRecovered(t *testing.T) {
	t.Parallel()
	each(t, func(b *fixture) {
		b.attempts(model.ClassPartnerFault, model.ClassPartnerFault)
		b.advance(notify.Lasting)
		require.Empty(t, b.told(), "two failures come and go")
		b.attempts(model.ClassDataFault, model.ClassPartnerFault)
		all := b.told()
		require.Equal(t, []string{"integration.failing"}, types(all))
		require.Equal(t, map[string]any{"tenant": "acme", "integration": "hris", "since": "2026-11-20T12:00:00Z",
			"failures": 3.0, "class": "partner_fault"}, all[0].Data)
		require.Equal(t, noon.Add(notify.Lasting), all[0].Timestamp)
		require.True(t, all[0].signed("new") && all[0].signed("old"))
		require.False(t, all[0].signed("another"))
		require.NotContains(t, string(all[0].raw), "hunter2")

		b.attempts(model.ClassPartnerFault, model.ClassPartnerFault)
		b.advance(time.Hour)
		require.Empty(t, b.told(), "it goes on")

		b.attempts("")
		all = b.told()
		require.Equal(t, []string{"integration.recovered"}, types(all))
		require.Equal(t, map[string]any{"tenant": "acme", "integration": "hris", "since": "2026-11-20T13:00:30Z"},
			all[0].Data)

		flaps := 0
		for range 60 { // for an hour
			b.attempts(model.ClassPartnerFault, model.ClassPartnerFault, model.ClassPartnerFault)
			b.advance(notify.Lasting)
			flaps += len(b.told())
			b.attempts("")
			b.advance(time.Minute - notify.Lasting)
			flaps += len(b.told())
		}
		require.LessOrEqual(t, flaps, 6)
		require.GreaterOrEqual(t, flaps, 4)
	})
}

// An integration that refuses what it gets is told once, and so is the first export after that.
func TestRefusingAndRecovered(t *testing.T) {
	t.Parallel()
	each(t, func(b *fixture) {
		const data = model.ClassDataFault
		b.attempts(data, data, data, data, data, data, data, data, data)
		require.Empty(t, b.told())
		b.advance(time.Hour)
		b.attempts(data, data, data, data, data, data, data, data, data, data)
		all := b.told()
		require.Equal(t, []string{"integration.refusing"}, types(all))
		require.Equal(t, map[string]any{"tenant": "acme", "integration": "hris", "since": "2026-11-20T12:00:00Z",
			"count": 19.0, "attempts": 19.0, "status": 422.0}, all[0].Data)
		b.advance(time.Hour)
		b.attempts(data)
		require.Empty(t, b.told(), "it goes on")
		b.attempts("")
		require.Equal(t, []string{"integration.recovered"}, types(b.told()))
	})
}

// A moment of failures is told neither when it begins nor when it ends.
func TestAMomentIsNoNews(t *testing.T) {
	t.Parallel()
	each(t, func(b *fixture) {
		b.attempts(model.ClassPartnerFault, model.ClassPartnerFault, model.ClassPartnerFault)
		require.Empty(t, b.told())
		b.attempts("")
		b.advance(notify.Lasting)
		require.Empty(t, b.told())
	})
}

// That an integration is disabled is told with who did it, and what it then holds with how much that is.
func TestDisabledAndHeld(t *testing.T) {
	t.Parallel()
	each(t, func(b *fixture) {
		i := &b.config.Tenants["acme"].Integrations[0]
		b.write(func(tx *store.Tx) error {
			return tx.UpsertIntegrationStatus(i, store.IntegrationStatus{State: model.Disabled, Reason: "they move",
				ByOperator: true, UpdatedAt: noon})
		})
		b.hold("u-1", "u-2")
		all := b.told()
		require.Equal(t, []string{"integration.disabled"}, types(all))
		require.Equal(t, map[string]any{"tenant": "acme", "integration": "hris", "since": "2026-11-20T12:00:00Z",
			"by": "operator"}, all[0].Data)
		b.advance(notify.Lasting)
		all = b.told()
		require.Equal(t, []string{"integration.held"}, types(all))
		require.Equal(t, map[string]any{"tenant": "acme", "integration": "hris", "since": "2026-11-20T12:00:00Z",
			"count": 2.0}, all[0].Data)
		b.write(func(tx *store.Tx) error {
			return tx.UpsertIntegrationStatus(i, store.IntegrationStatus{State: model.Configured, UpdatedAt: noon})
		})
		require.Empty(t, b.told(), "its end is not told")
		b.advance(notify.Pause)
		b.write(func(tx *store.Tx) error {
			return tx.UpsertIntegrationStatus(i, store.IntegrationStatus{State: model.Disabled, UpdatedAt: noon})
		})
		all = b.told()
		require.Equal(t, []string{"integration.disabled"}, types(all))
		require.Equal(t, "partner", all[0].Data["by"])
	})
}

// hold adds exports that are held for hris.
func (b *fixture) hold(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		e := b.accept(key, false)
		d := model.NewDelivery(e, "hris", 0, noon)
		d.Hold("integration hris is disabled", noon)
		b.write(func(tx *store.Tx) error { return tx.UpsertDelivery(d) })
	}
}

func (b *fixture) accept(key string, quarantined bool) *model.Export {
	b.t.Helper()
	e := inbox.NewExport("acme", key, []byte(`{"key":"`+key+`"}`), b.clock())
	e.Quarantined = quarantined
	_, err := inbox.Accept(b.t.Context(), b.db, e)
	require.NoError(b.t, err)
	return e
}

// What happens to exports is counted in the transaction in which it does, told a minute after the first, and then once
// an hour, by one node.
func TestWhatHappensToExportsIsCounted(t *testing.T) {
	t.Parallel()
	each(t, func(b *fixture) {
		end := func(change func(*model.Delivery), n int, prefix string) {
			for i := range n {
				e := b.accept(fmt.Sprint(prefix, i), false)
				d := model.NewDelivery(e, "hris", 0, b.clock())
				change(d)
				b.write(func(tx *store.Tx) error { return tx.UpsertDelivery(d) })
			}
		}
		end(func(d *model.Delivery) { d.Fail(model.ClassPartnerFault, "answered 500") }, 20, "failed-")
		end(func(d *model.Delivery) { d.Expire(model.Triggered, "late") }, 1, "expired-")
		end(func(d *model.Delivery) { d.Deliver() }, 1, "delivered-")
		end(func(d *model.Delivery) { d.Fail(model.ClassOurFault, store.ErasedReason) }, 1, "erased-")
		for n := range 3 {
			b.accept(fmt.Sprint("quarantined-", n), true)
		}
		b.accept("quarantined-0", true) // a repeat
		b.write(func(tx *store.Tx) error { tx.CountEvent(model.DocumentsLost, "acme", "", b.clock()); return nil })
		require.Empty(t, b.told(), "they are collected")
		b.advance(store.TellAfter)
		got := map[string]map[string]any{}
		for _, m := range b.told() {
			require.NotContains(t, got, m.Type, "told twice")
			got[m.Type] = m.Data
		}
		require.Equal(t, map[string]map[string]any{
			"exports.failed": {"tenant": "acme", "integration": "hris", "count": 21.0,
				"since": "2026-11-20T12:00:00Z"},
			"exports.quarantined": {"tenant": "acme", "count": 3.0, "since": "2026-11-20T12:00:00Z"},
			"documents.lost":      {"tenant": "acme", "count": 1.0, "since": "2026-11-20T12:00:00Z"},
		}, got)
		told := b.clock()

		b.advance(10 * time.Minute)
		end(func(d *model.Delivery) { d.Fail(model.ClassPartnerFault, "answered 500") }, 2, "later-")
		b.advance(store.TellAfter)
		require.Empty(t, b.told(), "it was told within the hour")
		b.advance(told.Add(store.TellEvery).Sub(b.clock()))
		all := b.told()
		require.Equal(t, []string{"exports.failed"}, types(all))
		require.Equal(t, 2.0, all[0].Data["count"])
		require.Equal(t, "2026-11-20T12:11:00Z", all[0].Data["since"])
		b.advance(24 * time.Hour)
		require.Empty(t, b.told())
	})
}

// A subscriber hears of what it wants, of its tenant or of all, and nobody of what happened before they subscribed.
func TestSubscribers(t *testing.T) {
	t.Parallel()
	each(t, func(b *fixture) {
		address := strings.TrimSuffix(b.config.Subscribers[0].URL, "/all")
		b.config.Subscribers = nil
		b.accept("before", true)
		b.advance(store.TellAfter)
		require.Empty(t, b.told())
		b.config.Subscribers = []model.Subscriber{
			{URL: address + "/quarantine", Secret: "s", Events: []model.Event{model.ExportsQuarantined}},
			{URL: address + "/failures", Secret: "s", Events: []model.Event{model.ExportsFailed}},
			{URL: address + "/acme", Secret: "s", Tenant: "acme"},
			{URL: address + "/globex", Secret: "s", Tenant: "globex"},
			{URL: address + "/quarantine", Secret: "s", Tenant: "acme"}, // another than the first one
			{URL: address + "/north", Secret: "s", Labels: model.Labels{"region": "north"}},
			{URL: address + "/south", Secret: "s", Labels: model.Labels{"region": "south"}},
		}
		b.config.Tenants["acme"].Labels = model.Labels{"region": "north", "tier": "gold"}
		b.advance(store.TellEvery)
		b.accept("after", true)
		b.advance(store.TellAfter)
		paths, ids := []string{}, map[string]bool{}
		for _, m := range b.told() {
			paths, ids[m.id] = append(paths, m.path), true
			require.Equal(t, 1.0, m.Data["count"])
		}
		require.ElementsMatch(t, []string{"/quarantine", "/acme", "/quarantine", "/north"}, paths)
		require.Len(t, ids, 4, "each has an id of its own")
	})
}

// Another integration of the name of one that was removed begins afresh: that it recovered is not told.
func TestRemovedWhileItFails(t *testing.T) {
	t.Parallel()
	each(t, func(b *fixture) {
		i := &model.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/in", Secret: "s",
			Options: model.Options{Documents: model.Rehost}}
		tenant := &model.Tenant{Name: "acme"}
		b.write(func(tx *store.Tx) error {
			t, added := *tenant, *i
			if err := tx.UpsertTenant(&t, noon); err != nil {
				return err
			}
			err := tx.UpsertIntegration(&added, noon)
			*i = added
			return err
		})
		b.attempts(model.ClassPartnerFault, model.ClassPartnerFault, model.ClassPartnerFault)
		b.advance(notify.Lasting)
		require.Equal(t, []string{"integration.failing"}, types(b.told()))
		b.write(func(tx *store.Tx) error { return tx.DeleteIntegration(i, noon) })
		require.Empty(t, b.told())
		b.attempts("")
		require.Empty(t, b.told())
	})
}
