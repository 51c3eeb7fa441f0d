package export_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/export"
)

// engine is a Temporal that knows which activities of a running workflow are pending, and how others ended; it keeps which
// activities were reset.
type engine struct {
	workflowservice.WorkflowServiceClient
	running map[string][]*workflow.PendingActivityInfo
	ended   map[string]enums.WorkflowExecutionStatus
	reset   []string
	asked   func() // with each question for a workflow; may be nil
}

type engineClient struct {
	client.Client
	service workflowservice.WorkflowServiceClient
}

func (c engineClient) WorkflowService() workflowservice.WorkflowServiceClient { return c.service }

func (s *engine) DescribeWorkflowExecution(_ context.Context, in *workflowservice.DescribeWorkflowExecutionRequest, _ ...grpc.CallOption) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if s.asked != nil {
		s.asked()
	}
	pending, ok := s.running[in.GetExecution().GetWorkflowId()]
	if status, ended := s.ended[in.GetExecution().GetWorkflowId()]; ended {
		return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{Status: status}}, nil
	}
	if !ok {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING}, PendingActivities: pending,
	}, nil
}

func (s *engine) ResetActivity(_ context.Context, in *workflowservice.ResetActivityRequest, _ ...grpc.CallOption) (*workflowservice.ResetActivityResponse, error) {
	s.reset = append(s.reset, in.GetExecution().GetWorkflowId()+" "+in.GetId())
	return &workflowservice.ResetActivityResponse{}, nil
}

// What is under way is not begun a second time before its first attempt has ended, nor after a redelivery to another integration.
func TestRedeliveryOfWhatWasNotTriedYet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tenant := b.config.Tenants["acme"]
	for _, name := range []string{"crm", "late"} {
		tenant.Integrations = append(tenant.Integrations, hiring.Integration{Tenant: "acme", Name: name, URL: b.partner.URL + "/" + name, Secret: "s"})
	}
	e := b.accept("u-1")
	dispatched := func(round int, names ...string) {
		require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, round, b.Clock(), names...) }))
	}
	dispatched(0, "hris", "crm")
	hris := &workflow.PendingActivityInfo{ActivityId: "deliver/hris", State: enums.PENDING_ACTIVITY_STATE_STARTED}
	temporal := &engine{running: map[string][]*workflow.PendingActivityInfo{"export/acme/u-1": {hris}}}
	again := b.again()
	again.Client = engineClient{service: temporal}
	redeliver := func(names ...string) (export.Redelivery, error) {
		return again.Redeliver(t.Context(), "acme", "u-1", names, func(*store.Tx, export.Redelivery) error { return nil })
	}
	refused := func(names ...string) {
		_, err := redeliver(names...)
		reason := new(export.RefusedError)
		require.ErrorAs(t, err, &reason)
		require.Contains(t, reason.Reason, "waits for the documents")
	}

	res, err := redeliver("hris")
	require.NoError(t, err)
	require.Equal(t, export.Redelivery{Hurried: []string{"hris"}}, res)
	require.Empty(t, temporal.reset, "the attempt that is being made was cut short")
	refused("crm")

	res, err = redeliver("late")
	require.NoError(t, err)
	require.Equal(t, export.Redelivery{Round: 1, Started: []string{"late"}}, res, "it was added later: nothing is on its way there")
	dispatched(1, "late")
	hris.State, hris.NextAttemptScheduleTime = enums.PENDING_ACTIVITY_STATE_SCHEDULED, timestamppb.Now() // at a closed breaker, or at in_flight
	res, err = redeliver("hris")
	require.NoError(t, err)
	require.Equal(t, export.Redelivery{Round: 1, Hurried: []string{"hris"}}, res)
	require.Equal(t, []string{"export/acme/u-1 deliver/hris"}, temporal.reset)
	refused("crm")
	delivered, _, _ := b.deliver(e)
	require.Equal(t, export.DeliverResult{Integration: "hris", Class: hiring.ClassDelivered, Attempts: 1}, delivered)

	b.advance(time.Hour)
	delete(temporal.running, "export/acme/u-1") // Temporal lost it
	res, err = redeliver("hris", "crm")
	require.NoError(t, err)
	require.Equal(t, export.Redelivery{Round: 2, Started: []string{"hris", "crm"}}, res)
}

// A redelivery to one integration gives the others no longer: their round ends when its workflow does.
func TestRedeliveryMovesNoEndButItsOwn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.status.Store(500)
	e := b.accept("u-1")
	_, _, class := b.deliver(e)
	require.Equal(t, string(hiring.ClassPartnerFault), class)
	b.advance(time.Hour)
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		if err := tx.MarkDispatched(e.ID, 0, b.Clock(), "hris", "crm"); err != nil {
			return err
		}
		_, err := tx.NextRound(e.ID, []string{"crm"}, b.Clock(), b.Clock().Add(hiring.DeliveryWindow))
		return err
	}))
	b.advance(hiring.DeliveryWindow - time.Hour - 40*time.Second)
	_, wait, _ := b.deliver(e)
	require.LessOrEqual(t, wait, 10*time.Second, "the last attempt is made half a minute before the end")
	b.advance(wait)
	res, _, _ := b.deliver(e)
	require.Equal(t, hiring.ClassPartnerFault, res.Class)
	require.Equal(t, hiring.Failed, b.delivery(e).Outcome)
}

func TestActivityIsToldTheEndOfItsRound(t *testing.T) {
	t.Parallel()
	env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment()
	env.SetStartTime(noon)
	var told export.Part
	env.RegisterActivityWithOptions(func(part export.Part) (export.DeliverResult, error) {
		told = part
		return export.DeliverResult{Integration: "hris", Class: hiring.ClassDelivered}, nil
	}, activity.RegisterOptions{Name: export.DeliverName})
	env.ExecuteWorkflow(export.Workflow, export.Input{Export: 7, Round: 1, DeliverTill: noon.Add(time.Hour), To: []export.Target{{Integration: "hris"}}})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, export.Part{Export: 7, Round: 1, Integration: "hris", Till: noon.Add(time.Hour)}, told)
}
