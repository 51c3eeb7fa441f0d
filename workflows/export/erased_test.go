package export_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
	"github.com/hiregate/hiregate/workflows/rounds"
)

// Its workflow ends by itself: there is nothing left to send.
func TestErasedExportIsNotDelivered(t *testing.T) {
	t.Parallel()
	failed := export.DeliverResult{Integration: "hris", Class: model.ClassOurFault}
	t.Run("held", func(t *testing.T) {
		t.Parallel()
		b := exporttest.NewFixture(t)
		e := b.Accept("u-1")
		b.Dispatch(e)
		b.Set(model.Disabled)
		b.DeliverOnce(e)
		b.Erase(e)
		b.Set(model.Configured)
		res, _, class := b.DeliverOnce(e)
		require.Equal(t, []any{failed, ""}, []any{res, class})
		require.Equal(t, store.ErasedReason, b.Delivery(e).Reason)
		require.Zero(t, b.Asked.Load())
	})
	t.Run("while its workflow is started", func(t *testing.T) {
		t.Parallel()
		b := exporttest.NewFixture(t)
		e := b.Accept("u-1")
		b.Erase(e)
		b.Dispatch(e)
		res, _, class := b.DeliverOnce(e)
		require.Equal(t, []any{failed, ""}, []any{res, class})
		require.Equal(t, []any{model.Failed, store.ErasedReason}, []any{b.Delivery(e).Outcome, b.Delivery(e).Reason})
		require.Zero(t, b.Asked.Load())
	})
	t.Run("while the partner is asked", func(t *testing.T) {
		t.Parallel()
		b := exporttest.NewFixture(t)
		e := b.Accept("u-1")
		b.Dispatch(e)
		b.Meanwhile(http.StatusOK, func() { b.Erase(e) })
		res, _, _ := b.DeliverOnce(e)
		require.Equal(t, model.ClassDelivered, res.Class)
		require.Equal(t, model.Delivered, b.Delivery(e).Outcome, "the partner has it")
	})
}

// What was erased while Temporal lost it, or started it, is not begun anew, and keeps nobody from what is.
func TestErasedExportIsNotFound(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	erased := b.Accept("u-1")
	b.Erase(erased)
	b.Mark(erased, "hris")
	b.Lose(erased)
	other := b.Dispatched("u-2", "hris")
	b.Lose(other)
	b.Advance(20 * time.Minute)
	now, _ := b.Look(other)
	require.True(t, now.DispatchedAt.IsZero())
	now, _ = b.Look(erased)
	require.False(t, now.DispatchedAt.IsZero())

	_, err := b.Watcher.EndQuarantine(t.Context(), "acme", "u-1", exporttest.Alone)
	refused := new(rounds.RefusedError)
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Reason, "was erased")
}
