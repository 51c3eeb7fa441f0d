package export_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"

	"github.com/hiregate/hiregate/internal/model"
)

// A Temporal whose database was rolled back says that it does not know a workflow, and that is enough: its exports go on
// within a minute. That a workflow has ended is not: what it did may be about to be stored.
func TestWhatTemporalForgotGoesOnWithinAMinute(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	b.status.Store(http.StatusInternalServerError)
	never, retrying, ended := b.dispatched("u-1", "hris"), b.dispatched("u-2", "hris"), b.dispatched("u-3", "hris")
	b.deliver(retrying)
	b.deliver(ended)
	for _, e := range []*model.Export{never, retrying, ended} {
		b.lose(e)
	}
	b.temporal.ended[model.WorkflowID(ended.Tenant, ended.Key, 0)] = enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
	b.advance(b.delivery(retrying).NextAt.Sub(b.Clock()) + 31*time.Second)
	for _, e := range []*model.Export{never, retrying} {
		now, _ := b.look(e)
		require.True(t, now.DispatchedAt.IsZero(), e.Key)
	}
	_, d := b.look(ended)
	require.Equal(t, model.Retrying, d.Outcome)
	b.advance(10 * time.Minute)
	_, d = b.look(ended)
	require.Equal(t, model.Failed, d.Outcome)
}
