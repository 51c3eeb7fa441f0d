package dispatch_test

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
	"github.com/hiregate/hiregate/workflows/exporttest"
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
			b := exporttest.NewLossFixture(t)
			e := b.Retrying("u-1")
			b.Temporal.Ended["export/acme/u-1"] = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
			b.Temporal.Unread = errors.New("it is no result of ours")
			if c.deliveries != nil {
				b.Temporal.Results = map[string]export.Result{"export/acme/u-1": {Deliveries: of(e, slices.Clone(c.deliveries))}}
			}
			b.Advance(20 * time.Minute)
			now, d := b.Look(e)
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
		b := exporttest.NewLossFixture(t)
		e := b.Retrying("u-1")
		b.Temporal.Ended["export/acme/u-1"] = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
		b.Temporal.Unread = unread
		b.Advance(20 * time.Minute)
		require.ErrorIs(t, b.Watcher.FindLost(t.Context()), unread)
		now, err := b.Store.Export(t.Context(), e.ID)
		require.NoError(t, err)
		require.Zero(t, now.Round)
		b.Temporal.Results = map[string]export.Result{"export/acme/u-1": {Deliveries: of(e, []export.DeliverResult{{Integration: "hris", Class: model.ClassDelivered}})}}
		_, d := b.Look(e)
		require.Equal(t, model.Delivered, d.Outcome)
		require.Zero(t, b.Temporal.Unbounded)
	}
}

// The same where the process ends just then.
func TestWhatCompletedIsNotBegunAnewAtTheEnd(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	e := b.Retrying("u-1")
	b.Temporal.Ended["export/acme/u-1"] = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	b.Temporal.Unread = context.Canceled
	b.Advance(20 * time.Minute)
	ctx, end := context.WithCancel(t.Context())
	questions := 0
	b.Temporal.Asked = func() { // first whether it runs, then what it delivered
		if questions++; questions == 2 {
			end()
		}
	}
	require.ErrorContains(t, b.Watcher.FindLost(ctx), "reading what a workflow delivered")
	now, err := b.Store.Export(t.Context(), e.ID)
	require.NoError(t, err)
	require.Zero(t, now.Round)
}

// A Temporal that takes a question and never answers must not keep for good whoever asks: what looks for what is lost, or releases what
// is held, would never come to it again.
func TestNobodyAsksTemporalWithoutEnd(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	b.Set(model.Disabled)
	b.Held("u-1")
	b.Set(model.Configured)
	require.Len(t, b.Tend(), 1)
	b.Advance(2 * time.Hour)
	require.NoError(t, b.Watcher.FindLost(t.Context()))
	require.Zero(t, b.Temporal.Unbounded)
}

// What goes on while it is compared is left to go on, and holds up no other.
func TestWhatGoesOnMeanwhileIsNotConcluded(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	e := b.Retrying("u-1")
	b.Temporal.Ended["export/acme/u-1"] = enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
	other := b.Retrying("u-2")
	b.Lose(other)
	b.Advance(20 * time.Minute)
	questions := 0
	b.Temporal.Asked = func() {
		if questions++; questions == 3 { // after one for each of the page
			b.DeliverOnce(e)
		}
	}
	_, d := b.Look(e)
	require.Equal(t, []any{model.Retrying, 2}, []any{d.Outcome, d.Attempts})
	now, err := b.Store.Export(t.Context(), other.ID)
	require.NoError(t, err)
	require.True(t, now.DispatchedAt.IsZero())
}

// The same of what is erased meanwhile.
func TestWhatIsErasedMeanwhileHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	erased, other := b.Retrying("u-1"), b.Retrying("u-2")
	b.Lose(erased)
	b.Lose(other)
	b.Advance(20 * time.Minute)
	b.Temporal.Asked = sync.OnceFunc(func() { b.Erase(erased) })
	now, _ := b.Look(other)
	require.True(t, now.DispatchedAt.IsZero())
	now, _ = b.Look(erased)
	require.False(t, now.DispatchedAt.IsZero())
}

// Where Temporal does not answer, nothing is lost: its deliveries are on their way.
func TestNothingIsLostWhileTemporalIsAway(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	e := b.Retrying("u-1")
	b.Advance(20 * time.Minute)
	b.Watcher.Reconciler.Client = exporttest.EngineClient{Service: new(exporttest.Away)}
	require.Error(t, b.Watcher.FindLost(t.Context()))
	b.Watcher.Reconciler.Client = exporttest.EngineClient{Service: b.Temporal}
	now, _ := b.Look(e)
	require.Zero(t, now.Round)
}

// Held does not run out, and what is lost with it has its time.
func TestWhatIsLostBesideWhatIsHeldHasItsTime(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	b.Set(model.Disabled)
	e := b.Dispatched("u-1", "hris", "crm")
	b.DeliverOnce(e)
	b.Lose(e)
	b.Advance(model.DeliveryWindow + time.Hour)
	now, d := b.Look(e)
	require.Equal(t, []any{1, model.Held}, []any{now.Round, d.Outcome})
	require.Equal(t, b.Clock().Add(model.DeliveryWindow), now.DeliverTill)
}

// What is parked for one integration has no workflow, and is not lost with another's.
func TestParkedIsNotLostBesideWhatIs(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	b.Set(model.Disabled)
	e := b.Dispatched("u-1", "hris", "crm")
	b.Park(e)
	b.Lose(e)
	now, d := b.Look(e)
	require.Equal(t, []any{1, []string{"crm"}}, []any{now.Round, now.Integrations})
	require.Equal(t, []any{0, true}, []any{d.Round, d.Parked})
}

// Its workflow was lost before it fetched anything, and its delivery waited for nothing: nothing of its documents is known yet.
func TestDocumentsThatNobodyBeganToFetchAreFetched(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	b.Integration().Documents = model.Passthrough
	e := b.Take("u-1", `{"candidate":{"profiles":[{"attachments":[{"url":"`+b.Partner.URL+`/one"}]}]}}`, func(e *model.Export) { e.Attachments = 1 })
	b.Mark(e, "hris")
	b.DeliverOnce(e)
	b.Lose(e)
	documents, err := b.Store.ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	require.Empty(t, documents)
	b.Advance(20 * time.Minute)
	now, _ := b.Look(e)
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
	b := exporttest.NewLossFixture(t)
	b.Status.Store(http.StatusInternalServerError)
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
			b.Temporal.Running["export/acme/"+e.Key] = nil
		}
		return nil
	}))
	never, last := all[1201], all[1200]
	b.Lose(last)
	b.Advance(20 * time.Minute)
	now, _ := b.Look(never)
	require.True(t, now.DispatchedAt.IsZero())
	now, err := b.Store.Export(t.Context(), last.ID)
	require.NoError(t, err)
	require.True(t, now.DispatchedAt.IsZero())
}
