//lint:file-ignore SA1019 as internal/gateway does: the build id only marks who began a workflow

package export_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/temporaltest"
)

// first runs First once, as a task of a workflow does.
func (b *fixture) first(part export.Part) (first export.First) {
	b.t.Helper()
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(b.First, activity.RegisterOptions{Name: export.FirstName})
	value, err := env.ExecuteLocalActivity(b.First, part)
	require.NoError(b.t, err)
	require.NoError(b.t, value.Get(&first))
	return first
}

// history returns what Temporal has of a workflow that has ended.
func (b *fixture) history(id string) *history.History {
	b.t.Helper()
	require.NoError(b.t, b.Client.GetWorkflow(b.t.Context(), id, "").Get(b.t.Context(), nil))
	all := new(history.History)
	for events := b.Client.GetWorkflowHistory(b.t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		require.NoError(b.t, err)
		all.Events = append(all.Events, event)
	}
	return all
}

// What is delivered at once costs Temporal no activity. A worker of an earlier version that runs beside this one begins with the
// activity, and what it began goes on here. So do workflows that an earlier version started.
func TestFirstRunIsInTheFirstTask(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	_, b.Client = temporaltest.New(t)
	for name, c := range map[string]struct {
		options          worker.Options
		older            bool // the input
		status, attempts int
		markers, runs    int // local runs, and activities
	}{
		"delivered":            {worker.Options{BuildID: export.BuildID}, false, http.StatusOK, 1, 1, 0},
		"refused at first":     {worker.Options{BuildID: export.BuildID}, false, http.StatusServiceUnavailable, 2, 1, 1},
		"by an earlier worker": {worker.Options{BuildID: "another"}, false, http.StatusOK, 1, 0, 1},
		"an earlier input":     {worker.Options{BuildID: export.BuildID}, true, http.StatusOK, 1, 0, 1},
	} {
		id, before := "export/acme/"+name, b.asked.Load()
		e := b.take(name, `{}`, fromNow)
		b.Now = time.Now
		b.integration().Retry = []time.Duration{time.Second} // longer than the first run waits
		b.answer = func(*http.Request) int {
			if b.asked.Load() == before+1 {
				return c.status
			}
			return http.StatusOK
		}
		b.startWorkflow(id, export.Input{Version: export.InputVersion, Exports: []int64{e.ID}, To: []string{"hris"}, DeliverTill: e.DeliverTill, Local: !c.older})
		stop := b.worker(b.Activities, c.options)
		all := b.history(id)
		stop()
		markers, runs := 0, 0
		for _, event := range all.Events {
			switch event.EventType { //nolint:exhaustive
			case enums.EVENT_TYPE_MARKER_RECORDED:
				markers++
			case enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
				runs++
			}
		}
		require.Equal(t, []int{c.markers, c.runs}, []int{markers, runs}, name)
		require.EqualValues(t, c.attempts, b.asked.Load()-before, name)
		replayer := worker.NewWorkflowReplayer()
		replayer.RegisterWorkflowWithOptions(export.Workflow, workflow.RegisterOptions{Name: export.WorkflowName})
		require.NoError(t, replayer.ReplayWorkflowHistory(nil, all), name)
	}
}

// An integration that has kept an attempt for a second takes no part in first runs: the others of its group wait for none.
func TestFirstRunWaitsForNoIntegrationThatHangs(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	partner := newSlow(t)
	b.declare("globex", "hris", partner.URL, 0)
	addressed := func(e *model.Export) { e.Integrations = []string{"hris"} }
	hanging := b.takeFor("globex", "u-hangs", `{}`, addressed)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.first(part(hanging))
	}()
	globex := &b.config.Tenants["globex"].Integrations[0]
	require.Eventually(t, func() bool { return !b.Prompt(globex) }, time.Minute, 10*time.Millisecond)
	require.True(t, b.Prompt(b.integration()))
	waits, good := b.takeFor("globex", "u-waits", `{}`, addressed), b.take("u-good", `{}`, addressed)
	require.False(t, b.first(export.Part{Exports: []int64{waits.ID, good.ID}}).Done, "the activity does the rest")
	require.Equal(t, model.Delivered, b.delivery(good).Outcome)
	held, _ := partner.now()
	require.Equal(t, 1, held)
	close(partner.release)
	<-ended
	require.False(t, b.Prompt(globex), "its last attempt took long")
	b.first(part(hanging)) // it was delivered
	require.Eventually(t, func() bool { b.deliverAll(part(waits)); return b.Prompt(globex) }, time.Minute, time.Millisecond)
}

// Temporal gives a task to another run once the worker is silent, while an attempt may be under way.
func TestFirstRunIsNotRepeatedBesideItself(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	arrived, answer := make(chan struct{}), make(chan struct{})
	b.answer = func(*http.Request) int { arrived <- struct{}{}; <-answer; return http.StatusOK }
	e, ended := b.accept("u-1"), make(chan export.First)
	go func() { ended <- b.first(part(e)) }()
	<-arrived
	require.Equal(t, export.First{}, b.first(part(e)))
	close(answer)
	require.True(t, (<-ended).Done)
	require.EqualValues(t, 1, b.asked.Load())
}

// A worker is told to stop while an attempt is under way that takes longer than Temporal gives a task, and another one is there. The
// attempt ends, and nobody sends the export again.
func TestStoppingWorkerEndsItsFirstRuns(t *testing.T) {
	t.Parallel()
	for _, stops := range []bool{false, true} {
		t.Run(fmt.Sprint("stops: ", stops), func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			_, b.Client = temporaltest.New(t)
			arrived, answer := make(chan struct{}, 10), make(chan struct{})
			b.answer = func(*http.Request) int { arrived <- struct{}{}; <-answer; return http.StatusOK }
			b.Now = time.Now
			e := b.take("u-1", `{}`, fromNow)
			b.startWorkflow("export/acme/u-1", export.Input{Version: export.InputVersion, Exports: []int64{e.ID}, To: []string{"hris"}, DeliverTill: e.DeliverTill, Local: true})
			options := worker.Options{BuildID: export.BuildID, WorkerStopTimeout: 25 * time.Second}
			stop := b.worker(b.Activities, options)
			<-arrived
			other := &export.Activities{Attempter: &delivery.Attempter{Store: b.Store, Archive: b.Archive, InForce: b.InForce,
				Capacity: b.Capacity, Now: time.Now, Log: b.Log}, Client: b.Client}
			stopOther := b.worker(other, options)
			if stops {
				time.AfterFunc(15*time.Second, func() { close(answer) })
				stop()
			} else {
				time.Sleep(15 * time.Second) // the task has ten
				close(answer)
			}
			require.NoError(t, b.Client.GetWorkflow(t.Context(), "export/acme/u-1", "").Get(t.Context(), nil))
			require.EqualValues(t, 1, b.asked.Load(), "it was sent again")
			require.Equal(t, model.Delivered, b.delivery(e).Outcome)
			if !stops {
				stop()
			}
			stopOther()
		})
	}
}

// startWorkflow has Temporal start a workflow that no worker runs yet.
func (b *fixture) startWorkflow(id string, in export.Input) {
	b.t.Helper()
	_, err := b.Client.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{ID: id, TaskQueue: workflows.DeliverQueue},
		export.WorkflowName, in)
	require.NoError(b.t, err)
}
