package scan_test

import (
	"testing"

	"github.com/hiregate/hiregate/workflows/replaytest"
	"github.com/hiregate/hiregate/workflows/scan"
)

func TestRecordedHistories(t *testing.T) {
	replaytest.Run(t, map[string]any{scan.WorkflowName: scan.Workflow},
		map[string]any{scan.WorkflowName: scan.Input{}, scan.ScanName: scan.Input{}})
}
