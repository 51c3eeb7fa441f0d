package gateway

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows"
)

// A workflow that panics again and again is named in the status, as long as it does and a while longer.
func TestStatusNamesWorkflowsThatFail(t *testing.T) {
	t.Parallel()
	r := &Runtime{faults: new(workflows.Faults)}
	needs, err := failingWorkflows(r, t.Context(), time.Now())
	require.NoError(t, err)
	require.Empty(t, needs)
	sdk := r.faults.Handler().WithTags(map[string]string{"workflow_type": "export", "activity_type": "deliver"})
	sdk.Counter("temporal_activity_task_error").Inc(1)
	sdk.Counter("temporal_activity_task_error").Inc(1)
	sdk.Counter("temporal_activity_execution_attempts").Inc(1)
	needs, err = failingWorkflows(r, t.Context(), time.Now())
	require.NoError(t, err)
	require.Len(t, needs, 1)
	require.Equal(t, model.NeedFaults, needs[0].Kind)
	require.Contains(t, needs[0].Sentence, "deliver (panic, 2 times)")
	needs, err = failingWorkflows(r, t.Context(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Empty(t, needs)
}
