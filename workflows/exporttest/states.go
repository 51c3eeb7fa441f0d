package exporttest

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
	_ "modernc.org/sqlite"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/dispatch"
	"github.com/hiregate/hiregate/workflows/export"
)

// RunUntil runs a dispatcher with its loops, and more of them, until ctx ends.
func RunUntil(ctx context.Context, d *dispatch.Dispatcher, more ...loop.Loop) {
	var running sync.WaitGroup
	running.Go(func() { d.Run(ctx) })
	running.Go(func() { new(loop.Set).Run(ctx, d.Log, append(d.Loops(), more...)...) })
	running.Wait()
}

// Erase erases an export, as somebody asked.
func (b *Fixture) Erase(e *model.Export) {
	b.T.Helper()
	require.NoError(b.T, b.Store.Write(b.T.Context(), func(tx *store.Tx) error {
		now, left, err := tx.LockRemainder(e.ID)
		if err != nil {
			return err
		}
		return tx.EraseNow(now, left, b.Clock())
	}))
}

// Waiting is the activity of a delivery to hris that waits for its next run.
func Waiting() []*workflow.PendingActivityInfo {
	return []*workflow.PendingActivityInfo{{ActivityId: "deliver", State: enums.PENDING_ACTIVITY_STATE_SCHEDULED, NextAttemptScheduleTime: timestamppb.Now(),
		LastAttemptCompleteTime: timestamppb.Now()}}
}

// What waits at the gate goes out at once, in its own round; what ended meanwhile does not.
// Alone releases an export without writing anything beside it.
func Alone(*store.Tx) error { return nil }

// Triggered makes an export one that was triggered here.
func Triggered(e *model.Export) { e.Origin, e.DeliverTill = model.Triggered, e.DocumentsTill }

// Parked puts exports through the door whose delivery to hris is parked.
func (b *Fixture) Parked(n int) (all []*model.Export) {
	b.T.Helper()
	require.NoError(b.T, b.Store.Write(b.T.Context(), func(tx *store.Tx) error {
		all = nil
		for n := range n {
			e := inbox.NewExport("acme", fmt.Sprint("u-", n), []byte(`{}`), b.Clock())
			if _, err := inbox.Insert(tx, e); err != nil {
				return err
			}
			if err := tx.MarkDispatched(e.ID, 0, b.Clock(), "hris"); err != nil {
				return err
			}
			if err := tx.UpsertDelivery(&model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Held, Parked: true,
				HeldSince: b.Clock(), CreatedAt: b.Clock(), UpdatedAt: b.Clock()}); err != nil {
				return err
			}
			all = append(all, e)
		}
		return nil
	}))
	return all
}

// Dispatch notes that Temporal has the workflow of an export's round by now.
func (b *Fixture) Dispatch(e *model.Export) {
	b.T.Helper()
	require.NoError(b.T, b.Store.Write(b.T.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, e.Round, b.Clock(), "hris") }))
}

// Park holds an export's delivery until it is parked.
func (b *Fixture) Park(e *model.Export) {
	b.T.Helper()
	for class := "held"; class != ""; {
		var wait time.Duration
		_, wait, class = b.DeliverOnce(e)
		b.Advance(wait)
	}
	require.True(b.T, b.Delivery(e).Parked)
}

// Meanwhile has something happen on another node while the partner is asked for the first time: a node that stood still for so long finds it done.
func (b *Fixture) Meanwhile(status int, do func()) {
	var late atomic.Bool
	b.Partner.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer := int(b.Status.Load())
		if late.CompareAndSwap(false, true) {
			answer = status
			b.elsewhere(do)
		}
		b.Asked.Add(1)
		w.WriteHeader(answer)
	})
}

func (b *Fixture) Attempts(e *model.Export) []int {
	b.T.Helper()
	all, err := b.Store.ListAttempts(b.T.Context(), b.Delivery(e).ID)
	require.NoError(b.T, err)
	answers := make([]int, len(all))
	for n, a := range all {
		answers[n] = a.Status
	}
	return answers
}

func (b *Fixture) EndDeliveries() {
	if err := b.Store.Write(b.T.Context(), func(tx *store.Tx) error {
		_, err := tx.FailDeliveries("acme", "hris", "integration hris was removed", b.Clock())
		return err
	}); err != nil {
		b.T.Errorf("ending deliveries: %v", err)
	}
}

// Damage changes what is stored of the body of an export.
func (b *Fixture) Damage(e *model.Export, statement string) {
	b.T.Helper()
	db, err := sql.Open("sqlite", "file:"+b.File+"?_pragma=busy_timeout(5000)")
	require.NoError(b.T, err)
	defer db.Close()
	changed, err := db.ExecContext(b.T.Context(), statement, e.ID)
	require.NoError(b.T, err)
	n, err := changed.RowsAffected()
	require.NoError(b.T, err)
	require.EqualValues(b.T, 1, n)
}

// WaitOf is why the delivery of an export waits, whether it is stored or not.
func (b *Fixture) WaitOf(key string) export.Wait {
	b.T.Helper()
	e, err := b.Store.ExportByKey(b.T.Context(), "acme", key)
	require.NoError(b.T, err)
	all, err := b.Store.ListDeliveries(b.T.Context(), e.ID)
	require.NoError(b.T, err)
	waits, err := b.Waits(b.T.Context(), b.Config, b.Clock(), []*model.Export{e})
	require.NoError(b.T, err)
	require.Len(b.T, all, 1)
	return waits.For(e, all[0])
}

// Dispatched accepts an export and marks it as dispatched.
func (b *Fixture) Dispatched(key string) *model.Export {
	b.T.Helper()
	e := b.Accept(key)
	require.NoError(b.T, b.Store.Write(b.T.Context(), func(tx *store.Tx) error {
		return tx.MarkDispatched(e.ID, 0, b.Clock(), "hris")
	}))
	e, err := b.Store.Export(b.T.Context(), e.ID)
	require.NoError(b.T, err)
	return e
}
