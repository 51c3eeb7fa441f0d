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
)

// A node that stood still writes nothing over what another one did meanwhile, whether that was the first attempt or a later one. Its
// own attempt was made, and is kept.
func TestLateAttemptLeavesTheOutcome(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]int{"first": 0, "second": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, late := range []int{http.StatusInternalServerError, http.StatusGone} {
				b := exporttest.NewFixture(t)
				b.Status.Store(http.StatusInternalServerError)
				e := b.Accept("u-1")
				answers := []int{}
				for range before {
					b.DeliverOnce(e)
					answers = append(answers, http.StatusInternalServerError)
				}
				b.Status.Store(http.StatusOK)
				b.Meanwhile(late, func() { b.DeliverOnce(e) })
				res, _, _ := b.DeliverOnce(e)
				require.Equal(t, export.DeliverResult{Integration: "hris", Class: model.ClassDelivered, Attempts: before + 2}, res)
				require.Equal(t, model.Delivered, b.Delivery(e).Outcome)
				require.Equal(t, before+2, b.Delivery(e).Attempts)
				require.Equal(t, append(answers, http.StatusOK, late), b.Attempts(e))
			}
		})
	}
}

// What the partner took is delivered, whatever another node, or somebody who removed the integration, made of it meanwhile.
func TestLateDeliveryIsADelivery(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]int{"first": 0, "second": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, meanwhile := range []func(b *exporttest.Fixture, e *model.Export){
				func(b *exporttest.Fixture, e *model.Export) { b.DeliverOnce(e) },
				func(b *exporttest.Fixture, e *model.Export) { b.DeliverOnce(e); b.EndDeliveries() },
			} {
				b := exporttest.NewFixture(t)
				b.Status.Store(http.StatusInternalServerError)
				e := b.Accept("u-1")
				for range before {
					b.DeliverOnce(e)
				}
				b.Advance(time.Second)
				b.Meanwhile(http.StatusOK, func() { meanwhile(b, e) })
				res, _, _ := b.DeliverOnce(e)
				require.Equal(t, model.ClassDelivered, res.Class)
				d := b.Delivery(e)
				require.Equal(t, model.Delivered, d.Outcome)
				require.Zero(t, d.NextAt)
				require.Equal(t, before+2, d.Attempts)
				require.Len(t, b.Attempts(e), before+2)
			}
		})
	}
}

// Two failed at once: the schedule of the one that was written first holds.
func TestLateFailureKeepsTheSchedule(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Status.Store(http.StatusInternalServerError)
	e := b.Accept("u-1")
	b.Advance(time.Second)
	var next time.Time
	b.Meanwhile(http.StatusBadRequest, func() {
		b.DeliverOnce(e)
		next = b.Delivery(e).NextAt
		b.Advance(time.Second)
	})
	_, wait, class := b.DeliverOnce(e)
	require.Equal(t, string(model.ClassRetrying), class)
	require.Equal(t, next.Sub(b.Clock()), wait)
	d := b.Delivery(e)
	require.Equal(t, next, d.NextAt)
	require.Equal(t, 2, d.Attempts)
	require.Equal(t, "answered 500; only 2xx means received", d.Reason)
}

// What was moved into another round meanwhile is not begun anew in the former one.
func TestLateAttemptFollowsIntoTheNextRound(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Status.Store(http.StatusInternalServerError)
	e := b.Accept("u-1")
	b.DeliverOnce(e)
	read := b.Delivery(e)
	b.Advance(read.NextAt.Sub(b.Clock()))
	b.Meanwhile(http.StatusInternalServerError, func() {
		if err := b.Store.Write(t.Context(), func(tx *store.Tx) error {
			if err := tx.MarkDispatched(e.ID, 0, b.Clock(), "hris"); err != nil {
				return err
			}
			_, err := tx.BeginRound(e.ID, []string{"hris"}, b.Clock(), e.DeliverTill, read)
			return err
		}); err != nil {
			t.Errorf("moving a delivery: %v", err)
		}
	})
	results, _, _ := b.DeliverAll(exporttest.Part(e))
	require.Empty(t, results, "its round has no delivery any more")
	all, err := b.Store.ListDeliveries(t.Context(), e.ID)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, 1, all[0].Round)
	require.Equal(t, 2, all[0].Attempts)
}
