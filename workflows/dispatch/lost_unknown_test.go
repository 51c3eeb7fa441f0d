package dispatch_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// A Temporal whose database was rolled back says that it does not know a workflow, and that is enough: its exports go on
// within a minute. That a workflow has ended is not: what it did may be about to be stored.
func TestWhatTemporalForgotGoesOnWithinAMinute(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	b.Status.Store(http.StatusInternalServerError)
	never, retrying, ended := b.Dispatched("u-1", "hris"), b.Dispatched("u-2", "hris"), b.Dispatched("u-3", "hris")
	b.DeliverOnce(retrying)
	b.DeliverOnce(ended)
	for _, e := range []*model.Export{never, retrying, ended} {
		b.Lose(e)
	}
	b.Temporal.Ended[model.WorkflowID(ended.Tenant, ended.Key, 0)] = enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
	b.Advance(b.Delivery(retrying).NextAt.Sub(b.Clock()) + 31*time.Second)
	for _, e := range []*model.Export{never, retrying} {
		now, _ := b.Look(e)
		require.True(t, now.DispatchedAt.IsZero(), e.Key)
	}
	_, d := b.Look(ended)
	require.Equal(t, model.Retrying, d.Outcome)
	b.Advance(10 * time.Minute)
	_, d = b.Look(ended)
	require.Equal(t, model.Failed, d.Outcome)
}
