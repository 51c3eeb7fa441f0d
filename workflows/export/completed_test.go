package export_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/export"
)

// of returns results of deliveries of an export, as an earlier version made them, and others as they are.
func of(e *model.Export, all []export.DeliverResult) []export.DeliverResult {
	for n := range all {
		if all[n].Of == "" {
			all[n].Export = e.ID
		}
	}
	return all
}

func named(of, integration string, class model.Class, count int) export.DeliverResult {
	return export.DeliverResult{Of: of, Integration: integration, Class: class, Count: count}
}

// The store was restored from a backup: a workflow that ended after it tells what was delivered. All else that it tells is no reason
// to take an export for delivered.
func TestCompletedWorkflowTellsWhatWasDelivered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deliveries []export.DeliverResult // nil: it can't be read
		delivered  bool
	}{
		"delivered":        {[]export.DeliverResult{{Integration: "crm", Class: model.ClassHeld}, {Integration: "hris", Class: model.ClassDelivered}}, true},
		"held":             {[]export.DeliverResult{{Integration: "hris", Class: model.ClassHeld}}, false},
		"another has it":   {[]export.DeliverResult{{Integration: "crm", Class: model.ClassDelivered}, {Integration: "hris", Class: model.ClassPartnerFault}}, false},
		"not of this one":  {[]export.DeliverResult{}, false},
		"it can't be read": {nil, false},
		"among several":    {[]export.DeliverResult{named("acme", "hris", model.ClassDelivered, 3)}, true},
		"to another":       {[]export.DeliverResult{named("acme", "crm", model.ClassDelivered, 3), named("globex", "hris", model.ClassDelivered, 3)}, false},
		"named":            {[]export.DeliverResult{named("acme", "hris", model.ClassDelivered, 3), named("acme/u-1", "hris", model.ClassHeld, 0)}, false},
		"perhaps named":    {[]export.DeliverResult{named("acme", "hris", model.ClassDelivered, 3), named("acme", "hris", model.ClassHeld, 9)}, false},
		"another is named": {[]export.DeliverResult{named("acme", "hris", model.ClassDelivered, 3), named("acme/u-2", "hris", model.ClassHeld, 0)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLossFixture(t)
			e := b.retrying("u-1")
			b.temporal.ended["export/acme/u-1"] = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
			b.temporal.unread = errors.New("it is no result of ours")
			if c.deliveries != nil {
				b.temporal.results = map[string]export.Result{"export/acme/u-1": {Deliveries: of(e, slices.Clone(c.deliveries))}}
			}
			b.advance(20 * time.Minute)
			now, d := b.look(e)
			if !c.delivered {
				require.Equal(t, []any{1, 1, model.Retrying}, []any{now.Round, d.Round, d.Outcome})
				return
			}
			require.Equal(t, []any{0, model.Delivered, model.Class(""), "", time.Time{}}, []any{now.Round, d.Outcome, d.Fault, d.Reason, d.NextAt})
		})
	}
}

// Temporal went away, or hangs, before it told what the workflow delivered: to begin anew would deliver it twice.
func TestWhatCompletedIsAskedUntilItAnswers(t *testing.T) {
	t.Parallel()
	for _, unread := range []error{serviceerror.NewUnavailable("connection refused"), serviceerror.NewDeadlineExceeded("it hangs"), context.DeadlineExceeded} {
		b := newLossFixture(t)
		e := b.retrying("u-1")
		b.temporal.ended["export/acme/u-1"] = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
		b.temporal.unread = unread
		b.advance(20 * time.Minute)
		require.ErrorIs(t, b.watcher.FindLost(t.Context()), unread)
		now, err := b.Store.Export(t.Context(), e.ID)
		require.NoError(t, err)
		require.Zero(t, now.Round)
		b.temporal.results = map[string]export.Result{"export/acme/u-1": {Deliveries: of(e, []export.DeliverResult{{Integration: "hris", Class: model.ClassDelivered}})}}
		_, d := b.look(e)
		require.Equal(t, model.Delivered, d.Outcome)
		require.Zero(t, b.temporal.unbounded)
	}
}

// The same where the process ends just then.
func TestWhatCompletedIsNotBegunAnewAtTheEnd(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	e := b.retrying("u-1")
	b.temporal.ended["export/acme/u-1"] = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	b.temporal.unread = context.Canceled
	b.advance(20 * time.Minute)
	ctx, end := context.WithCancel(t.Context())
	questions := 0
	b.temporal.asked = func() { // first whether it runs, then what it delivered
		if questions++; questions == 2 {
			end()
		}
	}
	require.ErrorContains(t, b.watcher.FindLost(ctx), "reading what a workflow delivered")
	now, err := b.Store.Export(t.Context(), e.ID)
	require.NoError(t, err)
	require.Zero(t, now.Round)
}

// A Temporal that takes a question and never answers must not keep for good whoever asks: what looks for what is lost, or releases what
// is held, would never come to it again.
func TestNobodyAsksTemporalWithoutEnd(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	b.set(model.Disabled)
	b.held("u-1")
	b.set(model.Configured)
	require.Len(t, b.tend(), 1)
	b.advance(2 * time.Hour)
	require.NoError(t, b.watcher.FindLost(t.Context()))
	require.Zero(t, b.temporal.unbounded)
}

// What goes on while it is compared is left to go on, and holds up no other.
func TestWhatGoesOnMeanwhileIsNotConcluded(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	e := b.retrying("u-1")
	b.temporal.ended["export/acme/u-1"] = enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
	other := b.retrying("u-2")
	b.lose(other)
	b.advance(20 * time.Minute)
	questions := 0
	b.temporal.asked = func() {
		if questions++; questions == 3 { // after one for each of the page
			b.deliver(e)
		}
	}
	_, d := b.look(e)
	require.Equal(t, []any{model.Retrying, 2}, []any{d.Outcome, d.Attempts})
	now, err := b.Store.Export(t.Context(), other.ID)
	require.NoError(t, err)
	require.True(t, now.DispatchedAt.IsZero())
}

// The same of what is erased meanwhile.
func TestWhatIsErasedMeanwhileHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	erased, other := b.retrying("u-1"), b.retrying("u-2")
	b.lose(erased)
	b.lose(other)
	b.advance(20 * time.Minute)
	b.temporal.asked = sync.OnceFunc(func() { b.erase(erased) })
	now, _ := b.look(other)
	require.True(t, now.DispatchedAt.IsZero())
	now, _ = b.look(erased)
	require.False(t, now.DispatchedAt.IsZero())
}

// Where Temporal does not answer, nothing is lost: its deliveries are on their way.
func TestNothingIsLostWhileTemporalIsAway(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	e := b.retrying("u-1")
	b.advance(20 * time.Minute)
	b.watcher.Reconciler.Client = engineClient{service: new(away)}
	require.Error(t, b.watcher.FindLost(t.Context()))
	b.watcher.Reconciler.Client = engineClient{service: b.temporal}
	now, _ := b.look(e)
	require.Zero(t, now.Round)
}

// Held does not run out, and what is lost with it has its time.
func TestWhatIsLostBesideWhatIsHeldHasItsTime(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	b.set(model.Disabled)
	e := b.dispatched("u-1", "hris", "crm")
	b.deliver(e)
	b.lose(e)
	b.advance(model.DeliveryWindow + time.Hour)
	now, d := b.look(e)
	require.Equal(t, []any{1, model.Held}, []any{now.Round, d.Outcome})
	require.Equal(t, b.Clock().Add(model.DeliveryWindow), now.DeliverTill)
}

// What is parked for one integration has no workflow, and is not lost with another's.
func TestParkedIsNotLostBesideWhatIs(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	b.set(model.Disabled)
	e := b.dispatched("u-1", "hris", "crm")
	b.park(e)
	b.lose(e)
	now, d := b.look(e)
	require.Equal(t, []any{1, []string{"crm"}}, []any{now.Round, now.Integrations})
	require.Equal(t, []any{0, true}, []any{d.Round, d.Parked})
}

// Its workflow was lost before it fetched anything, and its delivery waited for nothing: nothing of its documents is known yet.
func TestDocumentsThatNobodyBeganToFetchAreFetched(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	b.integration().Documents = model.Passthrough
	e := b.take("u-1", `{"candidate":{"profiles":[{"attachments":[{"url":"`+b.partner.URL+`/one"}]}]}}`, func(e *model.Export) { e.Attachments = 1 })
	b.mark(e, "hris")
	b.deliver(e)
	b.lose(e)
	documents, err := b.Store.ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	require.Empty(t, documents)
	b.advance(20 * time.Minute)
	now, _ := b.look(e)
	require.Zero(t, now.Round)
	documents, err = b.Store.ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	require.Len(t, documents, 1)
	require.Equal(t, model.Fetched, documents[0].State)
}

// Many exports are looked at a page at a time, and many overdue ones as well: the breaker of one partner may make thousands so, and
// none of them is lost. Behind them one is.
func TestLostBehindThousandsIsFound(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	b.status.Store(http.StatusInternalServerError)
	var all []*model.Export
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		all = nil
		for n := range 1202 {
			e := inbox.NewExport("acme", fmt.Sprint("u-", n), []byte(`{}`), b.Clock())
			if _, err := inbox.Insert(tx, e); err != nil {
				return err
			}
			all = append(all, e)
			if n < 1000 { // these wait for Temporal
				continue
			}
			if err := tx.MarkDispatched(e.ID, 0, b.Clock(), "hris"); err != nil || n == 1201 {
				return err // the last one was never attempted
			}
			if err := tx.UpsertDelivery(&model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Retrying, Attempts: 1,
				NextAt: b.Clock(), CreatedAt: b.Clock(), UpdatedAt: b.Clock()}); err != nil {
				return err
			}
			b.temporal.running["export/acme/"+e.Key] = nil
		}
		return nil
	}))
	never, last := all[1201], all[1200]
	b.lose(last)
	b.advance(20 * time.Minute)
	now, _ := b.look(never)
	require.True(t, now.DispatchedAt.IsZero())
	now, err := b.Store.Export(t.Context(), last.ID)
	require.NoError(t, err)
	require.True(t, now.DispatchedAt.IsZero())
}
