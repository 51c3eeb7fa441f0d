package export_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// A worker dies when it has written what came of an attempt, and Temporal runs the activity again half a minute later: the partner asked
// for ten.
func TestAttemptThatTemporalDidNotHearOfIsNotRepeated(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Status.Store(http.StatusServiceUnavailable)
	b.Header.Store("Retry-After", "600")
	var asked []int64
	res := b.Carry(b.Accept("u-1"), func(ctx context.Context, part export.Part) ([]export.DeliverResult, error) {
		res, err := b.Deliver(ctx, part)
		asked = append(asked, b.Asked.Load())
		switch len(asked) {
		case 1:
			b.Advance(30 * time.Second)
			return nil, errors.New("the worker died")
		case 2:
			b.Advance(9*time.Minute + 30*time.Second)
			b.Status.Store(http.StatusOK)
		}
		return res, err
	})
	require.Equal(t, []int64{1, 1, 2}, asked)
	require.Equal(t, []export.DeliverResult{{Integration: "hris", Class: model.ClassDelivered, Attempts: 2}}, res.Deliveries)
}

// The next attempt is made on a node whose clock is ten minutes behind, five seconds after the last one, and not ten minutes later.
func TestNodeWhoseClockIsBehindGoesOn(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Status.Store(http.StatusInternalServerError)
	var asked []int64
	res := b.Carry(b.Accept("u-1"), func(ctx context.Context, part export.Part) ([]export.DeliverResult, error) {
		if len(asked) == 1 {
			b.Advance(5*time.Second - 10*time.Minute)
			b.Status.Store(http.StatusOK)
		}
		res, err := b.Deliver(ctx, part)
		asked = append(asked, b.Asked.Load())
		return res, err
	})
	require.Equal(t, []int64{1, 2}, asked)
	require.Equal(t, []export.DeliverResult{{Integration: "hris", Class: model.ClassDelivered, Attempts: 2}}, res.Deliveries)
}

// Temporal goes while an attempt is under way, and its activity is told to stop. The partner answers all the same.
func TestAttemptIsNotCutOff(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	e := b.Accept("u-1")
	res := b.Carry(e, func(ctx context.Context, part export.Part) ([]export.DeliverResult, error) {
		ctx, stop := context.WithCancel(ctx)
		b.Meanwhile(http.StatusOK, stop)
		return b.Deliver(ctx, part)
	})
	require.Equal(t, []export.DeliverResult{{Integration: "hris", Class: model.ClassDelivered, Attempts: 1}}, res.Deliveries)
	require.Equal(t, []int{http.StatusOK}, b.Attempts(e))
}
