package exporttest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows/export"
)

// Starter is a Temporal that is asked to start workflows.
type Starter struct {
	client.Client
	Start func(o client.StartWorkflowOptions) error
	Input func(export.Input) // of each start; may be nil
	First *common.Payloads   // what a workflow that was started before was started with
	Read  func() error       // whether that can be read; may be nil
}

func (s Starter) ExecuteWorkflow(_ context.Context, o client.StartWorkflowOptions, _ any, args ...any) (client.WorkflowRun, error) {
	if s.Input != nil {
		s.Input(args[0].(export.Input))
	}
	return nil, s.Start(o)
}

func (s Starter) GetWorkflowHistory(context.Context, string, string, bool, enums.HistoryEventFilterType) client.HistoryEventIterator {
	return s
}

func (s Starter) HasNext() bool { return true }

func (s Starter) Next() (*history.HistoryEvent, error) {
	if s.Read != nil {
		if err := s.Read(); err != nil {
			return nil, err
		}
	}
	return &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: &history.WorkflowExecutionStartedEventAttributes{Input: s.First}}}, nil
}

func Started(e *model.Export) bool { return !e.DispatchedAt.IsZero() }

// Away is a Temporal that does not answer.
type Away struct {
	Engine
	Asked atomic.Int64
	Late  bool // it takes the question, and is given up
}

func (a *Away) DescribeWorkflowExecution(context.Context, *workflowservice.DescribeWorkflowExecutionRequest, ...grpc.CallOption) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	a.Asked.Add(1)
	if a.Late {
		return nil, serviceerror.NewDeadlineExceeded("it did not answer")
	}
	return nil, serviceerror.NewUnavailable("connection refused")
}

// Engine is a Temporal that knows which activities of a running workflow are pending, and how others ended; it keeps which
// activities were hurried.
type Engine struct {
	workflowservice.WorkflowServiceClient
	Running map[string][]*workflow.PendingActivityInfo
	Ended   map[string]enums.WorkflowExecutionStatus
	Hurried []string
	Results map[string]export.Result // of those that were completed
	Unread  error                    // why the others can't be read
	Asked   func()                   // with each question for a workflow; may be nil
	Run     func(workflowID string)  // with each activity that is hurried, one after the other; may be nil
	mu      sync.Mutex

	Unbounded int // questions that would be waited for without end
}

type EngineClient struct {
	client.Client
	Service workflowservice.WorkflowServiceClient
}

func (c EngineClient) WorkflowService() workflowservice.WorkflowServiceClient { return c.Service }

func (c EngineClient) GetWorkflow(_ context.Context, id, _ string) client.WorkflowRun {
	return completed{engine: c.Service.(*Engine), id: id}
}

// completed is a workflow of an engine that was completed.
type completed struct {
	client.WorkflowRun
	engine *Engine
	id     string
}

func (c completed) Get(ctx context.Context, res any) error {
	c.engine.bounded(ctx)
	read, ok := c.engine.Results[c.id]
	if !ok {
		return c.engine.Unread
	}
	*res.(*export.Result) = read
	return nil
}

// bounded notes who would wait for Temporal without end.
func (s *Engine) bounded(ctx context.Context) {
	if _, ok := ctx.Deadline(); !ok {
		s.Unbounded++
	}
}

func (s *Engine) DescribeWorkflowExecution(ctx context.Context, in *workflowservice.DescribeWorkflowExecutionRequest, _ ...grpc.CallOption) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	s.bounded(ctx)
	if s.Asked != nil {
		s.Asked()
	}
	pending, ok := s.Running[in.GetExecution().GetWorkflowId()]
	if status, ended := s.Ended[in.GetExecution().GetWorkflowId()]; ended {
		return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{Status: status}}, nil
	}
	if !ok {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING}, PendingActivities: pending,
	}, nil
}

func (s *Engine) UpdateActivityOptions(ctx context.Context, in *workflowservice.UpdateActivityOptionsRequest, _ ...grpc.CallOption) (*workflowservice.UpdateActivityOptionsResponse, error) {
	s.bounded(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Hurried = append(s.Hurried, in.GetExecution().GetWorkflowId()+" "+in.GetId())
	if s.Run != nil {
		s.Run(in.GetExecution().GetWorkflowId())
	}
	return &workflowservice.UpdateActivityOptionsResponse{}, nil
}

// start holds what Temporal was asked to start.
type start struct {
	Options client.StartWorkflowOptions
	Input   export.Input
}

// StartOf has a dispatcher start what waits, with the search attributes registered, and gives the first start that it asks for.
func (b *Fixture) StartOf(attributes bool) start {
	b.T.Helper()
	asked := make(chan start, 10)
	var input export.Input
	b.Advance(time.Minute)
	b.Run(Starter{
		Input: func(in export.Input) { input = in },
		Start: func(o client.StartWorkflowOptions) error { asked <- start{o, input}; return nil },
	}, attributes)
	select {
	case s := <-asked:
		return s
	case <-time.After(30 * time.Second):
		require.Fail(b.T, "nothing was started")
		return start{}
	}
}

// NewWorkflow is where a workflow runs. On a busy machine it may be a while before it has its turn: that is no deadlock.
func NewWorkflow() *testsuite.TestWorkflowEnvironment {
	env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
	env.SetTestTimeout(time.Minute) // 3 s without
	return env
}
