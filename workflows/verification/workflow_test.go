package verification_test

import (
	"context"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/verification"
)

var hris = &model.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/in", Secret: "s", Verify: true}

// engine is a Temporal that is asked to start verifications, and whose workflow has the activity that is pending.
type engine struct {
	workflowservice.WorkflowServiceClient
	answer  func(client.StartWorkflowOptions) error // to a start
	started []client.StartWorkflowOptions
	inputs  []any
	info    *workflow.WorkflowExecutionInfo // nil: there is no such workflow
	pending []*workflow.PendingActivityInfo
	hurried []string
}

type engineClient struct {
	client.Client
	service *engine
}

func (c engineClient) ExecuteWorkflow(_ context.Context, o client.StartWorkflowOptions, name any, args ...any) (client.WorkflowRun, error) {
	c.service.started, c.service.inputs = append(c.service.started, o), append(c.service.inputs, name, args[0])
	return nil, c.service.answer(o)
}

func (c engineClient) WorkflowService() workflowservice.WorkflowServiceClient { return c.service }

func (s *engine) DescribeWorkflowExecution(context.Context, *workflowservice.DescribeWorkflowExecutionRequest, ...grpc.CallOption) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if s.info == nil {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: s.info, PendingActivities: s.pending}, nil
}

func (s *engine) UpdateActivityOptions(_ context.Context, in *workflowservice.UpdateActivityOptionsRequest, _ ...grpc.CallOption) (*workflowservice.UpdateActivityOptionsResponse, error) {
	s.hurried = append(s.hurried, in.GetExecution().GetWorkflowId()+" "+in.GetId())
	return &workflowservice.UpdateActivityOptionsResponse{}, nil
}

// A verification that goes on with the same setting is left alone; one that has ended may be followed by another.
func TestStartOfAVerification(t *testing.T) {
	t.Parallel()
	setting := hex.EncodeToString(hris.Setting())
	plain := client.StartWorkflowOptions{ID: "verification/acme/hris/" + setting[:16], TaskQueue: "hiregate-deliver",
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary: "VERIFY of acme/hris", Priority: temporal.Priority{PriorityKey: 2, FairnessKey: "acme"}}
	found := plain
	found.TypedSearchAttributes = temporal.NewSearchAttributes(workflows.AttributeTenant.ValueSet([]string{"acme"}),
		workflows.AttributeEvent.ValueSet("VERIFY"), workflows.AttributeIntegration.ValueSet("hris"))
	unknown := func(o client.StartWorkflowOptions) error {
		if o.TypedSearchAttributes.Size() > 0 {
			return serviceerror.NewInvalidArgument("no mapping defined for search attribute")
		}
		return nil
	}
	for name, c := range map[string]struct {
		attributes bool
		answer     func(client.StartWorkflowOptions) error
		started    []client.StartWorkflowOptions
	}{
		"found":                       {true, func(client.StartWorkflowOptions) error { return nil }, []client.StartWorkflowOptions{found}},
		"without attributes":          {false, unknown, []client.StartWorkflowOptions{plain}},
		"Temporal does not know them": {true, unknown, []client.StartWorkflowOptions{found, plain}},
	} {
		s := &engine{answer: c.answer}
		require.NoError(t, verification.Start(t.Context(), engineClient{service: s}, hris, c.attributes), name)
		require.Equal(t, c.started, s.started, name)
		for n := range s.started {
			require.Equal(t, []any{verification.WorkflowName, verification.Input{Tenant: "acme", Integration: "hris", Setting: setting}}, s.inputs[2*n:2*n+2], name)
		}
	}
	away := errors.New("connection refused")
	require.ErrorIs(t, verification.Start(t.Context(), engineClient{service: &engine{answer: func(client.StartWorkflowOptions) error { return away }}}, hris, true), away)
}

// Who waits for the next attempt makes it now. Where no verification goes on, or it is just ending, there is nothing to hurry: one is started.
func TestHurriedVerification(t *testing.T) {
	t.Parallel()
	running := &workflow.WorkflowExecutionInfo{Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING}
	waiting := []*workflow.PendingActivityInfo{{ActivityId: verification.VerifyName, State: enums.PENDING_ACTIVITY_STATE_SCHEDULED, NextAttemptScheduleTime: timestamppb.New(time.Now()),
		LastAttemptCompleteTime: timestamppb.New(time.Now())}}
	id := "verification/acme/hris/" + hex.EncodeToString(hris.Setting())[:16]
	for name, c := range map[string]struct {
		engine  engine
		hurried []string
	}{
		"waits":       {engine{info: running, pending: waiting}, []string{id + " verify"}},
		"ends":        {engine{info: running}, nil},
		"has ended":   {engine{info: &workflow.WorkflowExecutionInfo{Status: enums.WORKFLOW_EXECUTION_STATUS_COMPLETED}}, nil},
		"never began": {engine{}, nil},
	} {
		require.NoError(t, verification.Hurry(t.Context(), engineClient{service: &c.engine}, "default", hris), name)
		require.Equal(t, c.hurried, c.engine.hurried, name)
	}
}

// A verification goes on for a week, and its activity has longer than an attempt takes.
func TestHowLongAVerificationGoesOn(t *testing.T) {
	t.Parallel()
	env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
	env.SetTestTimeout(time.Minute)
	var got []any
	env.RegisterActivityWithOptions(func(ctx context.Context, in verification.Input) (verification.Result, error) {
		info := activity.GetInfo(ctx)
		got = []any{info.ActivityID, info.TaskQueue, info.StartToCloseTimeout, info.ScheduleToCloseTimeout, in}
		return verification.Result{State: model.Configured}, nil
	}, activity.RegisterOptions{Name: verification.VerifyName})
	in := verification.Input{Tenant: "acme", Integration: "hris", Setting: "s"}
	env.ExecuteWorkflow(verification.Workflow, in)
	require.NoError(t, env.GetWorkflowError())
	var res verification.Result
	require.NoError(t, env.GetWorkflowResult(&res))
	require.Equal(t, model.Configured, res.State)
	require.Equal(t, []any{"verify", "hiregate-deliver", 45 * time.Second, 7 * 24 * time.Hour, in}, got)
}
