package export_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/rounds"
)

// engine is a Temporal that knows which activities of a running workflow are pending, and how others ended; it keeps which
// activities were hurried.
type engine struct {
	workflowservice.WorkflowServiceClient
	running map[string][]*workflow.PendingActivityInfo
	ended   map[string]enums.WorkflowExecutionStatus
	hurried []string
	results map[string]export.Result // of those that were completed
	unread  error                    // why the others can't be read
	asked   func()                   // with each question for a workflow; may be nil
	run     func(workflowID string)  // with each activity that is hurried, one after the other; may be nil
	mu      sync.Mutex

	unbounded int // questions that would be waited for without end
}

type engineClient struct {
	client.Client
	service workflowservice.WorkflowServiceClient
}

func (c engineClient) WorkflowService() workflowservice.WorkflowServiceClient { return c.service }

func (c engineClient) GetWorkflow(_ context.Context, id, _ string) client.WorkflowRun {
	return completed{engine: c.service.(*engine), id: id}
}

// completed is a workflow of an engine that was completed.
type completed struct {
	client.WorkflowRun
	engine *engine
	id     string
}

func (c completed) Get(ctx context.Context, res any) error {
	c.engine.bounded(ctx)
	read, ok := c.engine.results[c.id]
	if !ok {
		return c.engine.unread
	}
	*res.(*export.Result) = read
	return nil
}

// bounded notes who would wait for Temporal without end.
func (s *engine) bounded(ctx context.Context) {
	if _, ok := ctx.Deadline(); !ok {
		s.unbounded++
	}
}

func (s *engine) DescribeWorkflowExecution(ctx context.Context, in *workflowservice.DescribeWorkflowExecutionRequest, _ ...grpc.CallOption) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	s.bounded(ctx)
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

func (s *engine) UpdateActivityOptions(ctx context.Context, in *workflowservice.UpdateActivityOptionsRequest, _ ...grpc.CallOption) (*workflowservice.UpdateActivityOptionsResponse, error) {
	s.bounded(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hurried = append(s.hurried, in.GetExecution().GetWorkflowId()+" "+in.GetId())
	if s.run != nil {
		s.run(in.GetExecution().GetWorkflowId())
	}
	return &workflowservice.UpdateActivityOptionsResponse{}, nil
}

// What is under way is not begun a second time before its first attempt has ended, nor after a redelivery to another integration.
func TestRedeliveryOfWhatWasNotTriedYet(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	tenant := b.config.Tenants["acme"]
	for _, name := range []string{"crm", "late"} {
		tenant.Integrations = append(tenant.Integrations, model.Integration{Tenant: "acme", Name: name, URL: b.partner.URL + "/" + name, Secret: "s"})
	}
	e := b.accept("u-1")
	dispatched := func(round int, names ...string) {
		require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, round, b.Clock(), names...) }))
	}
	dispatched(0, "hris", "crm")
	hris := &workflow.PendingActivityInfo{ActivityId: "deliver", State: enums.PENDING_ACTIVITY_STATE_STARTED}
	temporal := &engine{running: map[string][]*workflow.PendingActivityInfo{"export/acme/u-1": {hris}}}
	redeliverer := b.redeliverer()
	redeliverer.Reconciler.Client = engineClient{service: temporal}
	redeliver := func(names ...string) (rounds.Redelivery, error) {
		return redeliverer.Redeliver(t.Context(), "acme", "u-1", names, func(*store.Tx, rounds.Redelivery) error { return nil })
	}
	refused := func(names ...string) {
		_, err := redeliver(names...)
		reason := new(rounds.RefusedError)
		require.ErrorAs(t, err, &reason)
		require.Contains(t, reason.Reason, "waits for the documents")
	}

	res, err := redeliver("hris")
	require.NoError(t, err)
	require.Equal(t, rounds.Redelivery{Hurried: []string{"hris"}}, res)
	require.Empty(t, temporal.hurried, "the attempt that is being made was cut short")
	temporal.running["export/acme/u-1"] = nil // the workflow waits for the documents
	refused("crm")

	temporal.running["export/acme/u-1"] = []*workflow.PendingActivityInfo{hris}
	res, err = redeliver("late")
	require.NoError(t, err)
	require.Equal(t, rounds.Redelivery{Round: 1, Started: []string{"late"}}, res, "it was added later: nothing is on its way there")
	dispatched(1, "late")
	hris.LastAttemptCompleteTime = timestamppb.Now()
	hris.State, hris.NextAttemptScheduleTime = enums.PENDING_ACTIVITY_STATE_SCHEDULED, timestamppb.Now() // at a closed breaker, or at in_flight
	res, err = redeliver("hris")
	require.NoError(t, err)
	require.Equal(t, rounds.Redelivery{Round: 1, Hurried: []string{"hris"}}, res)
	require.Equal(t, []string{"export/acme/u-1 deliver"}, temporal.hurried)
	delivered, _, _ := b.deliver(e)
	require.Equal(t, export.DeliverResult{Integration: "hris", Class: model.ClassDelivered, Attempts: 1}, delivered)

	b.advance(time.Hour)
	delete(temporal.running, "export/acme/u-1") // Temporal lost it
	res, err = redeliver("hris", "crm")
	require.NoError(t, err)
	require.Equal(t, rounds.Redelivery{Round: 2, Started: []string{"hris", "crm"}}, res)
}

// A redelivery to one integration gives the others no longer: their round ends when its workflow does.
func TestRedeliveryMovesNoEndButItsOwn(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.status.Store(500)
	e := b.accept("u-1")
	_, _, class := b.deliver(e)
	require.Equal(t, string(model.ClassPartnerFault), class)
	b.advance(time.Hour)
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		if err := tx.MarkDispatched(e.ID, 0, b.Clock(), "hris", "crm"); err != nil {
			return err
		}
		_, err := tx.BeginRound(e.ID, []string{"crm"}, b.Clock(), b.Clock().Add(model.DeliveryWindow))
		return err
	}))
	b.advance(model.DeliveryWindow - time.Hour - 40*time.Second)
	_, wait, _ := b.deliver(e)
	require.LessOrEqual(t, wait, 10*time.Second, "the last attempt is made half a minute before the end")
	b.advance(wait)
	res, _, _ := b.deliver(e)
	require.Equal(t, model.ClassPartnerFault, res.Class)
	require.Equal(t, model.Failed, b.delivery(e).Outcome)
}

func TestActivityIsToldTheEndOfItsRound(t *testing.T) {
	t.Parallel()
	env := newWorkflow()
	env.SetStartTime(noon)
	var told export.Part
	env.RegisterActivityWithOptions(func(part export.Part) ([]export.DeliverResult, error) {
		told = part
		return []export.DeliverResult{{Export: 7, Integration: "hris", Class: model.ClassDelivered}}, nil
	}, activity.RegisterOptions{Name: export.DeliverName})
	env.ExecuteWorkflow(export.Workflow, export.Input{Exports: []int64{7}, Round: 1, DeliverTill: noon.Add(time.Hour), To: []string{"hris"}})
	require.NoError(t, env.GetWorkflowError())
	require.WithinDuration(t, noon, told.Began, time.Minute)
	told.Began = time.Time{}
	require.Equal(t, export.Part{Version: export.InputVersion, Exports: []int64{7}, Round: 1, To: []string{"hris"}, Till: noon.Add(time.Hour)}, told)
}

// Whoever asks for a redelivery that can't be is told why, and what to do; no round begins.
func TestRedeliveryThatIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(*lossFixture) *model.Export
		to      string
		reason  string
	}{
		"erased": {func(b *lossFixture) *model.Export {
			e := b.delivered("u-1")
			b.erase(e)
			return e
		}, "hris", "was erased"},
		"in quarantine": {func(b *lossFixture) *model.Export {
			e := b.take("u-1", `{}`, func(e *model.Export) { e.Quarantined = true })
			b.mark(e, "hris")
			return e
		}, "hris", "hiregate export release acme/u-1"},
		"triggered, and ended": {func(b *lossFixture) *model.Export {
			e := b.take("u-1", `{}`, triggered)
			b.mark(e, "hris")
			b.deliver(e)
			b.advance(model.DocumentWindow)
			return e
		}, "hris", "export the candidate again"},
		"not dispatched": {func(b *lossFixture) *model.Export { return b.accept("u-1") }, "hris", "it waits for Temporal"},
		"no configuration": {func(b *lossFixture) *model.Export {
			e := b.delivered("u-1")
			b.InForce.Drop(b.config)
			return e
		}, "hris", "the gateway is stopping"},
		"tenant unknown": {func(b *lossFixture) *model.Export {
			e := b.delivered("u-1")
			delete(b.config.Tenants, "acme")
			return e
		}, "hris", "tenant acme has no integration: add one"},
		"tenant without an integration": {func(b *lossFixture) *model.Export {
			e := b.delivered("u-1")
			b.config.Tenants["acme"] = &model.Tenant{Name: "acme"}
			return e
		}, "hris", "tenant acme has no integration: add one"},
		"integration unknown": {func(b *lossFixture) *model.Export { return b.delivered("u-1") }, "nobody", `tenant acme has no integration "nobody"`},
		"held": {func(b *lossFixture) *model.Export {
			b.set(model.Disabled)
			return b.held("u-1")
		}, "hris", "once its integration takes exports: integration hris is disabled: as the test has it; " +
			"hiregate integration enable acme/hris has it verified again"},
		"held for another reason by now": {func(b *lossFixture) *model.Export {
			b.set(model.NotConfigured)
			e := b.held("u-1")
			b.set(model.Disabled)
			return e
		}, "hris", "once its integration takes exports: integration hris is disabled"},
		"parked": {func(b *lossFixture) *model.Export {
			b.set(model.Disabled)
			e := b.dispatched("u-1", "hris")
			b.park(e)
			b.lose(e)
			return e
		}, "hris", "hiregate integration enable acme/hris"},
		"delivered while it was asked for": {func(b *lossFixture) *model.Export {
			e := b.retrying("u-1")
			b.lose(e)
			b.status.Store(http.StatusOK)
			b.temporal.asked = sync.OnceFunc(func() { b.deliver(e) })
			return e
		}, "hris", "attempted or redelivered just now"},
		"erased while it was asked for": {func(b *lossFixture) *model.Export {
			e := b.retrying("u-1")
			b.lose(e)
			b.temporal.asked = sync.OnceFunc(func() { b.erase(e) })
			return e
		}, "hris", "was erased"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLossFixture(t)
			e := c.prepare(b)
			_, err := b.watcher.Redeliver(t.Context(), "acme", "u-1", []string{c.to}, func(*store.Tx, rounds.Redelivery) error { return nil })
			reason := new(rounds.RefusedError)
			require.ErrorAs(t, err, &reason)
			require.Contains(t, reason.Reason, c.reason)
			now, err := b.Store.Export(t.Context(), e.ID)
			require.NoError(t, err)
			require.Zero(t, now.Round)
		})
	}
}

// triggered makes an export one that was triggered here.
func triggered(e *model.Export) { e.Origin, e.DeliverTill = model.Triggered, e.DocumentsTill }

// delivered accepts an export that is then delivered to hris.
func (b *lossFixture) delivered(key string) *model.Export {
	b.t.Helper()
	e := b.dispatched(key, "hris")
	res, _, _ := b.deliver(e)
	require.Equal(b.t, model.ClassDelivered, res.Class)
	return e
}

// retrying accepts an export whose first attempt at hris fails.
func (b *lossFixture) retrying(key string) *model.Export {
	b.t.Helper()
	b.status.Store(http.StatusInternalServerError)
	e := b.dispatched(key, "hris")
	_, _, class := b.deliver(e)
	require.Equal(b.t, string(model.ClassPartnerFault), class)
	return e
}

// A round whose beginning can't be noted by whoever asked for it does not begin.
func TestRedeliveryThatCannotBeNotedDoesNotBegin(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	e := b.delivered("u-1")
	noted := errors.New("it can't be noted")
	_, err := b.watcher.Redeliver(t.Context(), "acme", "u-1", nil, func(*store.Tx, rounds.Redelivery) error { return noted })
	require.ErrorIs(t, err, noted)
	now, err := b.Store.Export(t.Context(), e.ID)
	require.NoError(t, err)
	require.Zero(t, now.Round)
}

// Temporal refused its workflow once; whoever asks again wants that to be tried anew.
func TestWhatTemporalRefusedIsRedelivered(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	e := b.accept("u-1")
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkFault(e.ID, "Temporal refuses its workflow", b.Clock()) }))
	res, err := b.watcher.Redeliver(t.Context(), "acme", "u-1", []string{"hris"}, func(*store.Tx, rounds.Redelivery) error { return nil })
	require.NoError(t, err)
	require.Equal(t, rounds.Redelivery{Round: 1, Started: []string{"hris"}}, res)
	now, err := b.Store.Export(t.Context(), e.ID)
	require.NoError(t, err)
	require.Empty(t, now.Fault)
	require.True(t, now.DispatchedAt.IsZero())
}

// Its workflow goes on for another integration, and has given this one up: nobody wrote that.
func TestRetryingWithoutItsActivityIsRedelivered(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	e := b.retrying("u-1")
	res, err := b.watcher.Redeliver(t.Context(), "acme", "u-1", []string{"hris"}, func(*store.Tx, rounds.Redelivery) error { return nil })
	require.NoError(t, err)
	require.Equal(t, rounds.Redelivery{Round: 1, Started: []string{"hris"}}, res)
	b.status.Store(http.StatusOK)
	now, err := b.Store.Export(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, b.Clock().Add(model.DeliveryWindow), now.DeliverTill)
	delivered, _, _ := b.deliver(now)
	require.Equal(t, export.DeliverResult{Integration: "hris", Class: model.ClassDelivered, Attempts: 2}, delivered)
}
