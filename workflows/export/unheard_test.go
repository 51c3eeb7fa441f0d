package export_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows/export"
)

// carry runs an export's workflow, in which a delivery is taken a step further as deliver does it.
func (b *fixture) carry(e *model.Export, deliver func(context.Context, export.Part) ([]export.DeliverResult, error)) (res export.Result) {
	b.t.Helper()
	env := newWorkflow()
	env.SetStartTime(b.Clock())
	env.RegisterActivityWithOptions(deliver, activity.RegisterOptions{Name: export.DeliverName})
	env.ExecuteWorkflow(export.Workflow, export.Input{Exports: []int64{e.ID}, DeliverTill: e.DeliverTill, To: []string{"hris"}})
	require.NoError(b.t, env.GetWorkflowError())
	require.NoError(b.t, env.GetWorkflowResult(&res))
	for n := range res.Deliveries {
		require.Equal(b.t, e.Tenant, res.Deliveries[n].Of)
		res.Deliveries[n].Of, res.Deliveries[n].Count = "", 0
	}
	return res
}

// A worker dies when it has written what came of an attempt, and Temporal runs the activity again half a minute later: the partner asked
// for ten.
func TestAttemptThatTemporalDidNotHearOfIsNotRepeated(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.status.Store(http.StatusServiceUnavailable)
	b.header.Store("Retry-After", "600")
	var asked []int64
	res := b.carry(b.accept("u-1"), func(ctx context.Context, part export.Part) ([]export.DeliverResult, error) {
		res, err := b.Deliver(ctx, part)
		asked = append(asked, b.asked.Load())
		switch len(asked) {
		case 1:
			b.advance(30 * time.Second)
			return nil, errors.New("the worker died")
		case 2:
			b.advance(9*time.Minute + 30*time.Second)
			b.status.Store(http.StatusOK)
		}
		return res, err
	})
	require.Equal(t, []int64{1, 1, 2}, asked)
	require.Equal(t, []export.DeliverResult{{Integration: "hris", Class: model.ClassDelivered, Attempts: 2}}, res.Deliveries)
}

// The next attempt is made on a node whose clock is ten minutes behind, five seconds after the last one, and not ten minutes later.
func TestNodeWhoseClockIsBehindGoesOn(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.status.Store(http.StatusInternalServerError)
	var asked []int64
	res := b.carry(b.accept("u-1"), func(ctx context.Context, part export.Part) ([]export.DeliverResult, error) {
		if len(asked) == 1 {
			b.advance(5*time.Second - 10*time.Minute)
			b.status.Store(http.StatusOK)
		}
		res, err := b.Deliver(ctx, part)
		asked = append(asked, b.asked.Load())
		return res, err
	})
	require.Equal(t, []int64{1, 2}, asked)
	require.Equal(t, []export.DeliverResult{{Integration: "hris", Class: model.ClassDelivered, Attempts: 2}}, res.Deliveries)
}

// Temporal goes while an attempt is under way, and its activity is told to stop. The partner answers all the same.
func TestAttemptIsNotCutOff(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	e := b.accept("u-1")
	res := b.carry(e, func(ctx context.Context, part export.Part) ([]export.DeliverResult, error) {
		ctx, stop := context.WithCancel(ctx)
		b.meanwhile(http.StatusOK, stop)
		return b.Deliver(ctx, part)
	})
	require.Equal(t, []export.DeliverResult{{Integration: "hris", Class: model.ClassDelivered, Attempts: 1}}, res.Deliveries)
	require.Equal(t, []int{http.StatusOK}, b.attempts(e))
}
