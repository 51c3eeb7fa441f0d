package export_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/export"
)

// meanwhile has something happen on another node while the partner is asked for the first time: a node that stood still for so long finds it done.
func (b *fixture) meanwhile(status int, do func()) {
	var late atomic.Bool
	b.partner.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer := int(b.status.Load())
		if late.CompareAndSwap(false, true) {
			answer = status
			b.elsewhere(do)
		}
		b.asked.Add(1)
		w.WriteHeader(answer)
	})
}

func (b *fixture) attempts(e *model.Export) []int {
	b.t.Helper()
	all, err := b.Store.ListAttempts(b.t.Context(), b.delivery(e).ID)
	require.NoError(b.t, err)
	answers := make([]int, len(all))
	for n, a := range all {
		answers[n] = a.Status
	}
	return answers
}

// A node that stood still writes nothing over what another one did meanwhile, whether that was the first attempt or a later one. Its
// own attempt was made, and is kept.
func TestLateAttemptLeavesTheOutcome(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]int{"first": 0, "second": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, late := range []int{http.StatusInternalServerError, http.StatusGone} {
				b := newFixture(t)
				b.status.Store(http.StatusInternalServerError)
				e := b.accept("u-1")
				answers := []int{}
				for range before {
					b.deliver(e)
					answers = append(answers, http.StatusInternalServerError)
				}
				b.status.Store(http.StatusOK)
				b.meanwhile(late, func() { b.deliver(e) })
				res, _, _ := b.deliver(e)
				require.Equal(t, export.DeliverResult{Integration: "hris", Class: model.ClassDelivered, Attempts: before + 2}, res)
				require.Equal(t, model.Delivered, b.delivery(e).Outcome)
				require.Equal(t, before+2, b.delivery(e).Attempts)
				require.Equal(t, append(answers, http.StatusOK, late), b.attempts(e))
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
			for _, meanwhile := range []func(b *fixture, e *model.Export){
				func(b *fixture, e *model.Export) { b.deliver(e) },
				func(b *fixture, e *model.Export) { b.deliver(e); b.endDeliveries() },
			} {
				b := newFixture(t)
				b.status.Store(http.StatusInternalServerError)
				e := b.accept("u-1")
				for range before {
					b.deliver(e)
				}
				b.advance(time.Second)
				b.meanwhile(http.StatusOK, func() { meanwhile(b, e) })
				res, _, _ := b.deliver(e)
				require.Equal(t, model.ClassDelivered, res.Class)
				d := b.delivery(e)
				require.Equal(t, model.Delivered, d.Outcome)
				require.Zero(t, d.NextAt)
				require.Equal(t, before+2, d.Attempts)
				require.Len(t, b.attempts(e), before+2)
			}
		})
	}
}

func (b *fixture) endDeliveries() {
	if err := b.Store.Write(b.t.Context(), func(tx *store.Tx) error {
		_, err := tx.FailDeliveries("acme", "hris", "integration hris was removed", b.Clock())
		return err
	}); err != nil {
		b.t.Errorf("ending deliveries: %v", err)
	}
}

// Two failed at once: the schedule of the one that was written first holds.
func TestLateFailureKeepsTheSchedule(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.status.Store(http.StatusInternalServerError)
	e := b.accept("u-1")
	b.advance(time.Second)
	var next time.Time
	b.meanwhile(http.StatusBadRequest, func() {
		b.deliver(e)
		next = b.delivery(e).NextAt
		b.advance(time.Second)
	})
	_, wait, class := b.deliver(e)
	require.Equal(t, string(model.ClassRetrying), class)
	require.Equal(t, next.Sub(b.Clock()), wait)
	d := b.delivery(e)
	require.Equal(t, next, d.NextAt)
	require.Equal(t, 2, d.Attempts)
	require.Equal(t, "answered 500; only 2xx means received", d.Reason)
}

// What was moved into another round meanwhile is not begun anew in the former one.
func TestLateAttemptFollowsIntoTheNextRound(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.status.Store(http.StatusInternalServerError)
	e := b.accept("u-1")
	b.deliver(e)
	read := b.delivery(e)
	b.advance(read.NextAt.Sub(b.Clock()))
	b.meanwhile(http.StatusInternalServerError, func() {
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
	results, _, _ := b.deliverAll(part(e))
	require.Empty(t, results, "its round has no delivery any more")
	all, err := b.Store.ListDeliveries(t.Context(), e.ID)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, 1, all[0].Round)
	require.Equal(t, 2, all[0].Attempts)
}
