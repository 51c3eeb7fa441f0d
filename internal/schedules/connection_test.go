package schedules

import (
	"context"
	"encoding/json"
	"time"

	"go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// connection is the client of one node. What the gateway does not call is missing, and panics.
type connection struct {
	client.Client
	s *server
	n *node
}

// service has the calls of the connection that the client does not wrap.
type service struct {
	workflowservice.WorkflowServiceClient
	connection
}

var errUnavailable = serviceerror.NewUnavailable("Temporal is away, or this node is dead")

// find returns a workflow, or an error when no answer comes.
func (c *connection) find(ctx context.Context, id string) (*execution, error) {
	if err := c.ask(ctx); err != nil {
		return nil, err
	}
	x, ok := c.s.find(id)
	if !ok {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	return x, nil
}

func (c *connection) ask(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case c.n.isDead(), c.s.isAway():
		return errUnavailable
	}
	return nil
}

func (c *connection) ExecuteWorkflow(ctx context.Context, o client.StartWorkflowOptions, name any, args ...any) (
	client.WorkflowRun, error) {
	if err := c.ask(ctx); err != nil {
		return nil, err
	}
	return nil, c.s.start(o, name.(string), args...)
}

func (c *connection) TerminateWorkflow(ctx context.Context, id, _, _ string, _ ...any) error {
	x, err := c.find(ctx, id)
	if err == nil {
		x.end()
	}
	return err
}

// CountWorkflow and ListWorkflow are asked for orphans, of which there are none: nothing is restored from a backup here.
func (c *connection) CountWorkflow(ctx context.Context, _ *workflowservice.CountWorkflowExecutionsRequest) (
	*workflowservice.CountWorkflowExecutionsResponse, error) {
	return &workflowservice.CountWorkflowExecutionsResponse{}, c.ask(ctx)
}

func (c *connection) ListWorkflow(ctx context.Context, _ *workflowservice.ListWorkflowExecutionsRequest) (
	*workflowservice.ListWorkflowExecutionsResponse, error) {
	return &workflowservice.ListWorkflowExecutionsResponse{}, c.ask(ctx)
}

func (c *connection) GetWorkflow(ctx context.Context, id, _ string) client.WorkflowRun {
	x, err := c.find(ctx, id)
	return &outcome{x: x, err: err}
}

// outcome is how a workflow ends.
type outcome struct {
	client.WorkflowRun
	x   *execution
	err error
}

func (o *outcome) Get(ctx context.Context, result any) error {
	if o.err != nil {
		return o.err
	}
	select {
	case <-o.x.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return json.Unmarshal(o.x.result, result)
}

// GetWorkflowHistory returns the first event of a workflow, which has its input.
func (c *connection) GetWorkflowHistory(ctx context.Context, id, _ string, _ bool, _ enums.HistoryEventFilterType) client.HistoryEventIterator {
	x, err := c.find(ctx, id)
	return &events{x: x, err: err}
}

type events struct {
	x   *execution
	err error
}

func (e *events) HasNext() bool { return true }

func (e *events) Next() (*history.HistoryEvent, error) {
	if e.err != nil {
		return nil, e.err
	}
	input, err := converter.GetDefaultDataConverter().ToPayloads(json.RawMessage(e.x.input))
	if err != nil {
		return nil, err
	}
	return &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: &history.WorkflowExecutionStartedEventAttributes{Input: input}}}, nil
}

func (c *connection) WorkflowService() workflowservice.WorkflowServiceClient {
	return &service{connection: *c}
}

func (s *service) DescribeWorkflowExecution(ctx context.Context, in *workflowservice.DescribeWorkflowExecutionRequest,
	_ ...grpc.CallOption) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	x, err := s.find(ctx, in.GetExecution().GetWorkflowId())
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	res := &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{
		Execution: &common.WorkflowExecution{WorkflowId: x.id}, Status: x.status}}
	if x.inTask {
		res.PendingWorkflowTask = new(workflow.PendingWorkflowTaskInfo)
	}
	for name, p := range x.pending {
		shown := &workflow.PendingActivityInfo{ActivityId: name, Attempt: p.attempt, State: enums.PENDING_ACTIVITY_STATE_SCHEDULED}
		if p.running {
			shown.State = enums.PENDING_ACTIVITY_STATE_STARTED
		} else if p.next.After(time.Now()) {
			shown.NextAttemptScheduleTime = timestamppb.New(p.next)
		}
		if !p.answered.IsZero() {
			shown.LastAttemptCompleteTime = timestamppb.New(p.answered)
		}
		res.PendingActivities = append(res.PendingActivities, shown)
	}
	return res, nil
}

// UpdateActivityOptions changes the retry interval. An activity that waits runs that long after its last answer. One
// without an answer is given up: the real server counts from the year 1970.
func (s *service) UpdateActivityOptions(ctx context.Context, in *workflowservice.UpdateActivityOptionsRequest,
	_ ...grpc.CallOption) (*workflowservice.UpdateActivityOptionsResponse, error) {
	x, err := s.find(ctx, in.GetExecution().GetWorkflowId())
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.pending[in.GetId()]
	if p == nil {
		return nil, serviceerror.NewNotFound("no such activity")
	}
	p.interval = in.GetActivityOptions().GetRetryPolicy().GetInitialInterval().AsDuration()
	switch {
	case p.running || p.attempt == 0:
	case p.answered.IsZero():
		p.givenUp = true
	default:
		p.next = p.answered.Add(p.interval)
	}
	select {
	case p.moved <- struct{}{}:
	default:
	}
	return &workflowservice.UpdateActivityOptionsResponse{}, nil
}
