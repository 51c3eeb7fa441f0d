package verification_test

import (
	"testing"

	"github.com/hiregate/hiregate/workflows/replaytest"
	"github.com/hiregate/hiregate/workflows/verification"
)

func TestRecordedHistories(t *testing.T) {
	replaytest.Run(t, map[string]any{verification.WorkflowName: verification.Workflow},
		map[string]any{verification.WorkflowName: verification.Input{}, verification.VerifyName: verification.Input{}})
}
