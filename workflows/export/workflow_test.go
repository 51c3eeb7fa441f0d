package export_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/workflows/export"
)

var twice = []export.Target{{Integration: "hris"}, {Integration: "raw"}, {Integration: "hris"}}

func TestATargetThatIsNamedTwiceIsDeliveredToOnce(t *testing.T) {
	t.Parallel()
	env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment()
	env.RegisterActivityWithOptions(func(part export.Part) (export.DeliverResult, error) {
		return export.DeliverResult{Integration: part.Integration, Class: hiring.ClassDelivered}, nil
	}, activity.RegisterOptions{Name: export.DeliverName})
	env.ExecuteWorkflow(export.Workflow, export.Input{Export: 7, To: twice})
	require.NoError(t, env.GetWorkflowError())
	var res export.Result
	require.NoError(t, env.GetWorkflowResult(&res))
	require.Equal(t, []export.DeliverResult{{Integration: "hris", Class: hiring.ClassDelivered}, {Integration: "raw", Class: hiring.ClassDelivered}}, res.Deliveries)
}

// A round that was started with a target twice goes on as if it were named once.
func TestARoundThatWasStartedWithATargetTwice(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/without-documents.json")
	require.NoError(t, err)
	defer f.Close()
	history, err := client.HistoryFromJSON(f, client.HistoryJSONOptions{})
	require.NoError(t, err)
	input := history.Events[0].GetWorkflowExecutionStartedEventAttributes().Input
	var in export.Input
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(input, &in))
	in.To = append(in.To, in.To...)
	input.Payloads[0].Data, err = json.Marshal(in)
	require.NoError(t, err)
	replayer := worker.NewWorkflowReplayer()
	replayer.RegisterWorkflowWithOptions(export.Workflow, workflow.RegisterOptions{Name: export.WorkflowName})
	require.NoError(t, replayer.ReplayWorkflowHistory(nil, history))
}
