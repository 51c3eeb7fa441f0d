package submission_test

import (
	"testing"

	"github.com/hiregate/hiregate/workflows/replaytest"
	"github.com/hiregate/hiregate/workflows/submission"
)

func TestRecordedHistories(t *testing.T) {
	replaytest.Run(t, map[string]any{submission.WorkflowName: submission.Workflow},
		map[string]any{submission.WorkflowName: submission.Input{}, submission.AttemptName: submission.Input{}})
}
