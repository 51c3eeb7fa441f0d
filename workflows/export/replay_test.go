package export_test

import (
	"testing"

	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/replaytest"
)

func TestRecordedHistories(t *testing.T) {
	replaytest.Run(t, map[string]any{export.WorkflowName: export.Workflow},
		map[string]any{export.WorkflowName: export.Input{}, export.DeliverName: export.Part{}, export.FetchDocumentsName: export.Part{}})
}
