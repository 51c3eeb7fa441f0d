package export_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/rounds"
)

// erase erases an export, as somebody asked.
func (b *fixture) erase(e *model.Export) {
	b.t.Helper()
	require.NoError(b.t, b.Store.Write(b.t.Context(), func(tx *store.Tx) error {
		now, left, err := tx.LockRemainder(e.ID)
		if err != nil {
			return err
		}
		return tx.EraseNow(now, left, b.Clock())
	}))
}

// Its workflow ends by itself: there is nothing left to send.
func TestErasedExportIsNotDelivered(t *testing.T) {
	t.Parallel()
	failed := export.DeliverResult{Integration: "hris", Class: model.ClassOurFault}
	t.Run("held", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t)
		e := b.accept("u-1")
		b.dispatch(e)
		b.set(model.Disabled)
		b.deliver(e)
		b.erase(e)
		b.set(model.Configured)
		res, _, class := b.deliver(e)
		require.Equal(t, []any{failed, ""}, []any{res, class})
		require.Equal(t, store.ErasedReason, b.delivery(e).Reason)
		require.Zero(t, b.asked.Load())
	})
	t.Run("while its workflow is started", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t)
		e := b.accept("u-1")
		b.erase(e)
		b.dispatch(e)
		res, _, class := b.deliver(e)
		require.Equal(t, []any{failed, ""}, []any{res, class})
		require.Equal(t, []any{model.Failed, store.ErasedReason}, []any{b.delivery(e).Outcome, b.delivery(e).Reason})
		require.Zero(t, b.asked.Load())
	})
	t.Run("while the partner is asked", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t)
		e := b.accept("u-1")
		b.dispatch(e)
		b.meanwhile(http.StatusOK, func() { b.erase(e) })
		res, _, _ := b.deliver(e)
		require.Equal(t, model.ClassDelivered, res.Class)
		require.Equal(t, model.Delivered, b.delivery(e).Outcome, "the partner has it")
	})
}

// What was erased while Temporal lost it, or started it, is not begun anew, and keeps nobody from what is.
func TestErasedExportIsNotFound(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	erased := b.accept("u-1")
	b.erase(erased)
	b.mark(erased, "hris")
	b.lose(erased)
	other := b.dispatched("u-2", "hris")
	b.lose(other)
	b.advance(20 * time.Minute)
	now, _ := b.look(other)
	require.True(t, now.DispatchedAt.IsZero())
	now, _ = b.look(erased)
	require.False(t, now.DispatchedAt.IsZero())

	_, err := b.watcher.EndQuarantine(t.Context(), "acme", "u-1", alone)
	refused := new(rounds.RefusedError)
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Reason, "was erased")
}
