package redelivery_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	_ "github.com/hiregate/hiregate/internal/store/storetest/tables"
	"github.com/hiregate/hiregate/workflows/dispatch"
	"github.com/hiregate/hiregate/workflows/redelivery"
	"github.com/hiregate/hiregate/workflows/rounds"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// fixture is the activity over a real store. Temporal is away, so that the rounds it begins wait. The integration hris is
// configured.
type fixture struct {
	*redelivery.Activities
	t      *testing.T
	config *config.Config
	hris   *model.Integration
}

func each(t *testing.T, test func(*fixture)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, address string) {
		db, err := store.Open(t.Context(), address, store.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		c, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1"})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		tenant := &model.Tenant{Name: "acme", Integrations: []model.Integration{
			{Tenant: "acme", Name: "hris", URL: "https://hr.example/in", Secret: "s", Verify: true},
		}}
		b := &fixture{t: t, config: &config.Config{Tenants: map[string]*model.Tenant{"acme": tenant}},
			hris: &tenant.Integrations[0]}
		inForce := new(config.InForce)
		inForce.Push(b.config)
		now := func() time.Time { return noon.Add(time.Hour) }
		dispatcher := &dispatch.Dispatcher{Store: db, Client: c, InForce: inForce, Now: now, Log: zap.NewNop(),
			Attributes: new(atomic.Bool)}
		b.Activities = &redelivery.Activities{Store: db, Client: c, InForce: inForce, Now: now, Log: zap.NewNop(),
			Redeliverer: &rounds.Redeliverer{Dispatcher: dispatcher}}
		b.set(store.IntegrationStatus{State: model.Configured, UpdatedAt: noon})
		test(b)
	})
}

func (b *fixture) write(fn func(*store.Tx) error) {
	b.t.Helper()
	require.NoError(b.t, b.Store.Write(b.t.Context(), fn))
}

func (b *fixture) set(s store.IntegrationStatus) {
	b.t.Helper()
	b.write(func(tx *store.Tx) error { return tx.UpsertIntegrationStatus(b.hris, s) })
}

// failed puts an export into the store whose delivery to hris failed.
func (b *fixture) failed(key string, change ...func(*model.Export)) *model.Export {
	b.t.Helper()
	e := inbox.NewExport("acme", key, []byte("{}"), noon)
	for _, fn := range change {
		fn(e)
	}
	b.write(func(tx *store.Tx) error {
		if _, err := inbox.Insert(tx, e); err != nil {
			return err
		}
		if err := tx.MarkDispatched(e.ID, 0, noon, "hris"); err != nil {
			return err
		}
		d := model.NewDelivery(e, "hris", 0, noon)
		d.Fail(model.ClassPartnerFault, "answered 500; only 2xx means received")
		return tx.UpsertDelivery(d)
	})
	return e
}

// job puts a redelivery of all failed exports into the store.
func (b *fixture) job(id string, total ...int64) {
	b.t.Helper()
	j := &model.Redelivery{ID: id, Total: append(total, 0)[0], Rate: model.MaxRedeliveryRate, State: model.RedeliveryRunning, CreatedAt: noon,
		UpdatedAt: noon, Selection: model.Selection{Tenant: "acme", Integration: "hris", Since: noon.Add(-time.Hour),
			Until: noon.AddDate(1, 0, 0), Mode: model.RedeliverFailed}}
	b.write(func(tx *store.Tx) error { return tx.InsertRedelivery(j) })
}

func (b *fixture) state(id string, to model.RedeliveryState, from ...model.RedeliveryState) {
	b.t.Helper()
	b.write(func(tx *store.Tx) error {
		changed, err := tx.UpdateRedeliveryState(id, to, "", noon, from...)
		require.True(b.t, changed)
		return err
	})
}

// run runs the activity once. It gives how the redelivery then stands, or why the activity waits.
func (b *fixture) run(id string) (state model.RedeliveryState, class string) {
	b.t.Helper()
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(b.Redeliver, activity.RegisterOptions{Name: redelivery.RedeliverName})
	value, err := env.ExecuteActivity(redelivery.RedeliverName, redelivery.Input{Redelivery: id})
	if err == nil {
		var res redelivery.Result
		require.NoError(b.t, value.Get(&res))
		return res.State, ""
	}
	var retry *temporal.ApplicationError
	require.True(b.t, errors.As(err, &retry), "%v", err)
	return "", retry.Type()
}

func (b *fixture) read(id string) *model.Redelivery {
	b.t.Helper()
	j, err := b.Store.Redelivery(b.t.Context(), id)
	require.NoError(b.t, err)
	return j
}

func (b *fixture) round(e *model.Export) int {
	b.t.Helper()
	now, err := b.Store.Export(b.t.Context(), e.ID)
	require.NoError(b.t, err)
	return now.Round
}

// It begins a round of each export, goes on where it was, and skips what can't be redelivered.
func TestRedeliverComesToEachExport(t *testing.T) {
	t.Parallel()
	each(t, func(b *fixture) {
		first := b.failed("u-1")
		all := []*model.Export{b.failed("u-2"), b.failed("u-3")}
		ended := b.failed("u-4", func(e *model.Export) {
			e.Origin, e.DocumentsTill, e.DeliverTill = model.Triggered, noon, noon
		})
		b.job("j-1")
		b.write(func(tx *store.Tx) error { // as a worker does that then dies
			_, err := tx.AdvanceRedelivery("j-1", first.ID, false, noon)
			return err
		})
		state, _ := b.run("j-1")
		require.Equal(b.t, model.RedeliveryFinished, state)
		require.Zero(b.t, b.round(first), "it came to an export twice")
		for _, e := range all {
			require.Equal(b.t, 1, b.round(e))
		}
		require.Zero(b.t, b.round(ended))
		j := b.read("j-1")
		require.Equal(b.t, []int64{0, 0, 2, 1}, []int64{j.Delivered, j.Failed, j.Waiting, j.Skipped})
		require.False(b.t, j.EndedAt.IsZero())
		state, _ = b.run("j-1")
		require.Equal(b.t, model.RedeliveryFinished, state)
	})
}

// Two redeliveries of the same range, side by side, deliver nothing twice.
func TestRedeliveriesSideBySide(t *testing.T) {
	t.Parallel()
	each(t, func(b *fixture) {
		var all []*model.Export
		for n := range 20 {
			all = append(all, b.failed(fmt.Sprint("u-", n)))
		}
		var both sync.WaitGroup
		for _, id := range []string{"j-1", "j-2"} {
			b.job(id)
			both.Go(func() { b.run(id) })
		}
		both.Wait()
		for _, e := range all {
			require.Equal(b.t, 1, b.round(e))
		}
		one, other := b.read("j-1"), b.read("j-2")
		require.Equal(b.t, model.RedeliveryFinished, one.State)
		require.Equal(b.t, model.RedeliveryFinished, other.State)
		require.EqualValues(b.t, len(all), one.Waiting+other.Waiting)
	})
}

// What was counted and is not chosen any more, before the redelivery comes to it, is skipped: nothing is left of one that ended.
func TestRedeliverySkipsWhatAnotherDelivers(t *testing.T) {
	t.Parallel()
	each(t, func(b *fixture) {
		b.failed("u-1")
		b.failed("u-2")
		b.job("j-1", 2)
		b.job("j-2", 3) // one was erased
		b.run("j-1")
		state, _ := b.run("j-2")
		require.Equal(b.t, model.RedeliveryFinished, state)
		one, other := b.read("j-1"), b.read("j-2")
		require.Equal(b.t, []int64{2, 0}, []int64{one.Waiting, one.Skipped})
		require.Equal(b.t, []int64{0, 3}, []int64{other.Waiting, other.Skipped})
	})
}

func TestRedeliverHeedsItsState(t *testing.T) {
	t.Parallel()
	each(t, func(b *fixture) {
		e := b.failed("u-1")
		b.job("j-1")
		b.state("j-1", model.RedeliveryPaused, model.RedeliveryRunning)
		state, _ := b.run("j-1")
		require.Equal(b.t, model.RedeliveryPaused, state)
		require.Zero(b.t, b.round(e))

		b.state("j-1", model.RedeliveryRunning, model.RedeliveryPaused)
		b.set(store.IntegrationStatus{State: model.Disabled, Reason: "an operator disabled it", ByOperator: true,
			UpdatedAt: noon})
		_, class := b.run("j-1")
		require.Equal(b.t, "held", class)
		require.Zero(b.t, b.round(e), "it would only be held")
		b.set(store.IntegrationStatus{State: model.Configured, UpdatedAt: noon})
		state, _ = b.run("j-1")
		require.Equal(b.t, model.RedeliveryFinished, state)
		require.Equal(b.t, 1, b.round(e))

		b.job("j-2")
		b.state("j-2", model.RedeliveryCancelled, model.RedeliveryRunning)
		state, _ = b.run("j-2")
		require.Equal(b.t, model.RedeliveryCancelled, state)
		_, class = b.run("j-unknown")
		require.Equal(b.t, "unknown_here", class)
	})
}

// One whose integration another node knows waits for it; one whose integration was removed ends.
func TestRedeliveryToAnIntegrationThatIsGone(t *testing.T) {
	t.Parallel()
	each(t, func(b *fixture) {
		b.failed("u-1")
		b.job("j-1")
		b.config.Tenants["acme"].Integrations = nil
		_, class := b.run("j-1")
		require.Equal(b.t, "unknown_here", class)
		b.set(store.IntegrationStatus{State: model.Removed, UpdatedAt: noon})
		b.run("j-1")
		j := b.read("j-1")
		require.Equal(b.t, model.RedeliveryCancelled, j.State)
		require.Equal(b.t, "integration hris was removed", j.Reason)
	})
}
