package dispatch_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/dispatch"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
	"github.com/hiregate/hiregate/workflows/rounds"
)

// The gauges are what the alerts go by. They follow what waits also while the sweep has no end, since more come in than Temporal takes.
func TestGaugesFollowWhatWaits(t *testing.T) { // beside no other dispatcher: the gauges are the process's
	b := exporttest.NewFixture(t)
	registry := prometheus.NewRegistry()
	require.NoError(t, metrics.Register(registry))
	value := func(name string) float64 {
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, family := range families {
			if family.GetName() == name {
				m := family.GetMetric()[0]
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
		return -1
	}
	asked, answer := make(chan struct{}, 100), make(chan struct{})
	b.Accept("u-1")
	b.Advance(time.Minute)
	b.Run(exporttest.Starter{Start: func(client.StartWorkflowOptions) error { asked <- struct{}{}; <-answer; return nil }}, false)
	t.Cleanup(func() { close(answer) })
	<-asked
	for _, key := range []string{"u-2", "u-3", "u-4"} {
		b.Accept(key)
	}
	b.Advance(9 * time.Minute)
	require.Eventually(t, func() bool {
		return value("hiregate_inbox_undispatched") == 4 && value("hiregate_inbox_undispatched_oldest_seconds") == 600
	}, 10*time.Second, 20*time.Millisecond, "the gauges stand still")
	writes := value("hiregate_store_writes_total")
	require.NoError(t, b.Store.Ping(t.Context()))
	require.Eventually(t, func() bool { return value("hiregate_store_writes_total") > writes }, 10*time.Second, 20*time.Millisecond)
}

// What Temporal refuses as invalid is set aside, is not tried again, and holds up no other.
func TestRefusedStartBlocksNoOther(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	var asked atomic.Int64
	temporal := exporttest.Starter{Start: func(o client.StartWorkflowOptions) error {
		if o.ID == "export/acme/bad" {
			asked.Add(1)
			return serviceerror.NewInvalidArgument("the id displeases")
		}
		return nil
	}}
	bad := b.Accept("bad") // the first of its page
	b.ClaimAlone(bad)
	var good []*model.Export
	for _, key := range []string{"u-1", "u-2", "u-3"} {
		good = append(good, b.Accept(key))
	}
	b.Advance(time.Minute)
	b.Run(temporal, false)
	bad = b.Becomes(bad, func(e *model.Export) bool { return e.Fault != "" })
	require.Equal(t, "Temporal refuses its workflow: the id displeases", bad.Fault)
	require.False(t, exporttest.Started(bad))
	for _, e := range good {
		e = b.Becomes(e, exporttest.Started)
		require.Empty(t, e.Fault)
		require.Equal(t, []string{"hris"}, e.Integrations)
	}
	times := asked.Load()
	late := b.Accept("u-4")
	b.Advance(time.Minute)
	b.Becomes(late, exporttest.Started)
	require.Equal(t, times, asked.Load(), "it was tried again")
}

// A Temporal that does not know the search attributes, or not yet, gets the workflow without them.
func TestStartWithoutSearchAttributes(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	var with, without atomic.Int64
	e := b.Accept("u-1")
	b.Advance(time.Minute)
	b.Run(exporttest.Starter{Start: func(o client.StartWorkflowOptions) error {
		if o.TypedSearchAttributes.Size() > 0 {
			with.Add(1)
			return serviceerror.NewInvalidArgument("no mapping defined for search attribute")
		}
		without.Add(1)
		return nil
	}}, true)
	e = b.Becomes(e, exporttest.Started)
	require.Empty(t, e.Fault)
	require.Equal(t, []int64{1, 1}, []int64{with.Load(), without.Load()})
}

// While Temporal is away nothing is set aside; what waited, and what was offered meanwhile, is started once it is back.
func TestWhatWaitsIsStartedOnceTemporalIsBack(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	var back atomic.Bool
	var asked atomic.Int64
	all := []*model.Export{b.Accept("u-1"), b.Accept("u-2")}
	b.Advance(time.Minute)
	d := b.Run(exporttest.Starter{Start: func(client.StartWorkflowOptions) error {
		asked.Add(1)
		if !back.Load() {
			return serviceerror.NewUnavailable("connection refused")
		}
		return nil
	}}, false)
	require.Eventually(t, func() bool { return asked.Load() >= 2 }, 30*time.Second, 10*time.Millisecond, "it is not tried again")
	offered := b.Accept("u-3")
	d.Offer(offered)
	all = append(all, offered)
	for _, e := range all {
		now, err := b.Store.Export(t.Context(), e.ID)
		require.NoError(t, err)
		require.False(t, exporttest.Started(now))
		require.Empty(t, now.Fault)
	}
	b.Advance(time.Minute)
	back.Store(true)
	for _, e := range all {
		b.Becomes(e, exporttest.Started)
	}
}

// Whether Temporal is back is asked for one export at a time, however many wait.
func TestTemporalThatIsAwayIsAskedForOne(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	first := b.Accept("u-0")
	for n := range 19 {
		b.Accept(fmt.Sprint("u-", n+1))
	}
	b.Advance(time.Minute)
	asked := make(chan string, 1000)
	b.Run(exporttest.Starter{Start: func(o client.StartWorkflowOptions) error {
		asked <- o.ID
		return serviceerror.NewUnavailable("connection refused")
	}}, false)
	for range 3 {
		require.Equal(t, model.GroupWorkflowID([]*model.Export{first}), <-asked, "the group that was made the first time")
		b.Advance(time.Minute)
	}
}

// A gateway that ends says nothing of Temporal.
func TestStartThatIsCutOffByTheEnd(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Accept("u-1")
	b.Advance(time.Minute)
	core, said := observer.New(zap.InfoLevel)
	ctx, end := context.WithCancel(t.Context())
	d := &dispatch.Dispatcher{Store: b.Store, InForce: b.InForce, Archive: b.Archive, Now: b.Clock, Log: zap.New(core), Attributes: new(atomic.Bool),
		Client: exporttest.Starter{Start: func(client.StartWorkflowOptions) error { end(); return context.Canceled }}}
	exporttest.RunUntil(ctx, d)
	require.Error(t, ctx.Err())
	require.Empty(t, said.All())
}

// What another node started, or this one before it noted that, goes to whom that start was for: the tenant's integrations may be others
// by now.
func TestWhatIsStartedAlreadyIsNoted(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	e := b.Take("u-1", `{"candidate":{}}`, func(e *model.Export) { e.Integrations = []string{"crm", "old"} })
	first, err := converter.GetDefaultDataConverter().ToPayloads(export.Input{Exports: []int64{e.ID}, To: []string{"crm", "old"}})
	require.NoError(t, err)
	b.Advance(time.Minute)
	b.Run(exporttest.Starter{First: first, Start: func(client.StartWorkflowOptions) error {
		return serviceerror.NewWorkflowExecutionAlreadyStarted("it is there", "", "")
	}}, false)
	e = b.Becomes(e, exporttest.Started)
	require.Equal(t, []string{"crm", "old"}, e.Integrations)
	require.Zero(t, e.Round)
}

// While Temporal is slow, what the starters are at, and what waits for them for long, is not started by them and by the sweep.
func TestNothingIsStartedTwice(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	var times sync.Map // of each workflow id
	slow, busy := make(chan struct{}), make(chan struct{}, 100)
	b.Advance(time.Second) // so that what was accepted at noon is older than what comes last
	d := b.Run(exporttest.Starter{Start: func(o client.StartWorkflowOptions) error {
		n, _ := times.LoadOrStore(o.ID, new(atomic.Int64))
		if n.(*atomic.Int64).Add(1); strings.HasPrefix(o.ID, "export/acme/slow") {
			busy <- struct{}{}
			<-slow
		}
		return nil
	}}, false)
	goOn := sync.OnceFunc(func() { close(slow) })
	t.Cleanup(goOn)
	var all []*model.Export
	for n := range 3 { // as many as there are starters
		all = append(all, b.Accept(fmt.Sprint("slow-", n)))
		d.Offer(all[n])
		<-busy
	}
	waits := b.Accept("u-waits")
	d.Offer(waits)
	b.Advance(time.Minute)
	swept := b.Accept("u-swept") // which was not offered
	b.Advance(time.Minute)
	b.Becomes(swept, exporttest.Started) // by the sweep, which leaves the others alone
	goOn()
	b.Becomes(waits, exporttest.Started)
	last := b.Accept("u-last") // too young for the sweep, and behind the other in the queue
	d.Offer(last)
	for _, e := range append(all, last) {
		b.Becomes(e, exporttest.Started)
	}
	times.Range(func(id, n any) bool {
		require.Equal(t, int64(1), n.(*atomic.Int64).Load(), id)
		return true
	})
}

// Somebody else's workflow has the id of an export's. It says nothing that could be read, and holds up no other.
func TestForeignWorkflowHoldsUpNothing(t *testing.T) {
	t.Parallel()
	foreign, err := converter.GetDefaultDataConverter().ToPayloads("not ours")
	require.NoError(t, err)
	for name, first := range map[string]*common.Payloads{"unreadable": foreign, "nothing": nil} {
		b := exporttest.NewFixture(t)
		taken, other := b.Accept("u-taken"), b.Accept("u-2")
		b.ClaimAlone(taken)
		b.Advance(time.Minute)
		b.Run(exporttest.Starter{First: first, Start: func(o client.StartWorkflowOptions) error {
			if o.ID == "export/acme/u-taken" {
				return serviceerror.NewWorkflowExecutionAlreadyStarted("it is there", "", "")
			}
			return nil
		}}, false)
		require.Equal(t, 1, b.Becomes(taken, exporttest.Started).Round, name)
		b.Becomes(other, exporttest.Started)
	}
}

// A redelivery is told to wait for the documents as the mode has it in which it was tried.
func TestRedeliveryIsStartedInItsMode(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	e := b.Accept("u-1")
	b.Dispatch(e)
	b.DeliverOnce(e)
	b.Integration().Documents = model.Passthrough
	_, err := b.Redeliverer().Redeliver(t.Context(), "acme", "u-1", nil, func(*store.Tx, rounds.Redelivery) error { return nil })
	require.NoError(t, err)
	b.Advance(time.Minute)
	started := make(chan export.Input, 1)
	b.Run(exporttest.Starter{Start: func(client.StartWorkflowOptions) error { return nil }, Input: func(in export.Input) { started <- in }}, false)
	in := <-started
	require.Equal(t, []string{"hris"}, in.To)
	require.Equal(t, time.Minute, in.Wait)
}

// Exports of a tenant that was taken out of the configuration wait for it to come back, and hold up nobody.
func TestExportsOfAnUnknownTenantWait(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	var ids sync.Map
	nothing := func(*model.Export) {}
	gone := b.TakeFor("gone", "u-1", `{}`, nothing)
	b.TakeFor("gone", "u-3", `{}`, nothing)
	known := b.Accept("u-2")
	b.Advance(time.Minute)
	b.Run(exporttest.Starter{Start: func(o client.StartWorkflowOptions) error { ids.Store(o.ID, true); return nil }}, false)
	b.Becomes(known, exporttest.Started)
	_, asked := ids.Load("export/gone/u-1")
	require.False(t, asked)
	told := func() (exports []any) {
		for _, entry := range b.Logs.FilterField(zap.String("tenant", "gone")).All() {
			exports = append(exports, entry.ContextMap()["exports"])
		}
		return exports
	}
	require.Eventually(t, func() bool { return len(told()) > 0 }, 30*time.Second, 20*time.Millisecond)
	for range 2 { // it is told once, however often they are met
		b.Advance(time.Minute)
		late := b.Accept(fmt.Sprint("u-late-", b.Clock().Unix()))
		b.Advance(5 * time.Second)
		b.Becomes(late, exporttest.Started)
		require.Equal(t, []any{int64(2)}, told())
	}

	again := *b.Config
	again.Tenants = map[string]*model.Tenant{"acme": b.Config.Tenants["acme"], "gone": {Name: "gone"}}
	b.InForce.Push(&again)
	b.Advance(2 * time.Minute)
	b.Becomes(gone, exporttest.Started)
}

// What was released long before, by the thousand, does not keep the new exports of another tenant waiting.
func TestReleasedExportsTakeTurnsWithNewOnes(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	again := *b.Config
	again.Tenants = map[string]*model.Tenant{"acme": b.Config.Tenants["acme"]}
	const clients, each = 6, 50
	for client := range clients {
		tenant := fmt.Sprint("client-", client)
		again.Tenants[tenant] = &model.Tenant{Name: tenant, Integrations: []model.Integration{{Tenant: tenant, Name: "hris",
			URL: b.Partner.URL + "/inbound", Secret: "s"}}}
		for n := range each {
			e := b.TakeFor(tenant, fmt.Sprint("u-", n), `{}`, func(*model.Export) {})
			require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
				if err := tx.MarkDispatched(e.ID, 0, b.Clock(), "hris"); err != nil {
					return err
				}
				_, err := tx.BeginRound(e.ID, []string{"hris"}, b.Clock(), e.DeliverTill)
				return err
			}))
		}
	}
	b.InForce.Push(&again)
	fresh, _ := b.AcceptMany(20)
	b.Advance(time.Minute)
	var before, released atomic.Int64
	b.Run(exporttest.Starter{Start: func(o client.StartWorkflowOptions) error {
		if o.ID == model.GroupWorkflowID(fresh) {
			before.Store(released.Load())
		} else {
			released.Add(1)
		}
		return nil
	}}, false)
	for _, e := range fresh {
		b.Becomes(e, exporttest.Started)
	}
	require.LessOrEqual(t, before.Load(), int64(clients*8))
	require.Eventually(t, func() bool { return released.Load() == clients*each }, time.Minute, time.Millisecond)
}
