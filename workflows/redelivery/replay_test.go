package redelivery_test

import (
	"testing"

	"github.com/hiregate/hiregate/workflows/redelivery"
	"github.com/hiregate/hiregate/workflows/replaytest"
)

func TestRecordedHistories(t *testing.T) {
	replaytest.Run(t, map[string]any{redelivery.WorkflowName: redelivery.Workflow},
		map[string]any{redelivery.WorkflowName: redelivery.Input{}, redelivery.RedeliverName: redelivery.Input{}})
}
