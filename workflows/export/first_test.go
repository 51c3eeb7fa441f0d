//lint:file-ignore SA1019 as internal/gateway does: the build id only marks who began a workflow

package export_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
	"github.com/hiregate/hiregate/workflows/temporaltest"
)

// What is delivered at once costs Temporal no activity. A worker of an earlier version that runs beside this one begins with the
// activity, and what it began goes on here. So do workflows that an earlier version started.
func TestFirstRunIsInTheFirstTask(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
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
		id, before := "export/acme/"+name, b.Asked.Load()
		e := b.Take(name, `{}`, fromNow)
		b.Now = time.Now
		b.Integration().Retry = []time.Duration{time.Second} // longer than the first run waits
		b.Answer = func(*http.Request) int {
			if b.Asked.Load() == before+1 {
				return c.status
			}
			return http.StatusOK
		}
		b.StartWorkflow(id, export.Input{Version: export.InputVersion, Exports: []int64{e.ID}, To: []string{"hris"}, DeliverTill: e.DeliverTill, Local: !c.older})
		stop := b.Worker(b.Activities, c.options)
		all := b.History(id)
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
		require.EqualValues(t, c.attempts, b.Asked.Load()-before, name)
		replayer := worker.NewWorkflowReplayer()
		replayer.RegisterWorkflowWithOptions(export.Workflow, workflow.RegisterOptions{Name: export.WorkflowName})
		require.NoError(t, replayer.ReplayWorkflowHistory(nil, all), name)
	}
}

// An integration that has kept an attempt for a second takes no part in first runs: the others of its group wait for none.
func TestFirstRunWaitsForNoIntegrationThatHangs(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	partner := newSlow(t)
	b.Declare("globex", "hris", partner.URL, 0)
	addressed := func(e *model.Export) { e.Integrations = []string{"hris"} }
	hanging := b.TakeFor("globex", "u-hangs", `{}`, addressed)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.FirstRun(exporttest.Part(hanging))
	}()
	globex := &b.Config.Tenants["globex"].Integrations[0]
	require.Eventually(t, func() bool { return !b.Prompt(globex) }, time.Minute, 10*time.Millisecond)
	require.True(t, b.Prompt(b.Integration()))
	waits, good := b.TakeFor("globex", "u-waits", `{}`, addressed), b.Take("u-good", `{}`, addressed)
	require.False(t, b.FirstRun(export.Part{Exports: []int64{waits.ID, good.ID}}).Done, "the activity does the rest")
	require.Equal(t, model.Delivered, b.Delivery(good).Outcome)
	held, _ := partner.now()
	require.Equal(t, 1, held)
	close(partner.release)
	<-ended
	require.False(t, b.Prompt(globex), "its last attempt took long")
	b.FirstRun(exporttest.Part(hanging)) // it was delivered
	require.Eventually(t, func() bool { b.DeliverAll(exporttest.Part(waits)); return b.Prompt(globex) }, time.Minute, time.Millisecond)
}

// Temporal gives a task to another run once the worker is silent, while an attempt may be under way.
func TestFirstRunIsNotRepeatedBesideItself(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	arrived, answer := make(chan struct{}), make(chan struct{})
	b.Answer = func(*http.Request) int { arrived <- struct{}{}; <-answer; return http.StatusOK }
	e, ended := b.Accept("u-1"), make(chan export.First)
	go func() { ended <- b.FirstRun(exporttest.Part(e)) }()
	<-arrived
	require.Equal(t, export.First{}, b.FirstRun(exporttest.Part(e)))
	close(answer)
	require.True(t, (<-ended).Done)
	require.EqualValues(t, 1, b.Asked.Load())
}

// A worker is told to stop while an attempt is under way that takes longer than Temporal gives a task, and another one is there. The
// attempt ends, and nobody sends the export again.
func TestStoppingWorkerEndsItsFirstRuns(t *testing.T) {
	t.Parallel()
	for _, stops := range []bool{false, true} {
		t.Run(fmt.Sprint("stops: ", stops), func(t *testing.T) {
			t.Parallel()
			b := exporttest.NewFixture(t)
			_, b.Client = temporaltest.New(t)
			arrived, answer := make(chan struct{}, 10), make(chan struct{})
			b.Answer = func(*http.Request) int { arrived <- struct{}{}; <-answer; return http.StatusOK }
			b.Now = time.Now
			e := b.Take("u-1", `{}`, fromNow)
			b.StartWorkflow("export/acme/u-1", export.Input{Version: export.InputVersion, Exports: []int64{e.ID}, To: []string{"hris"}, DeliverTill: e.DeliverTill, Local: true})
			options := worker.Options{BuildID: export.BuildID, WorkerStopTimeout: 25 * time.Second}
			stop := b.Worker(b.Activities, options)
			<-arrived
			other := &export.Activities{Attempter: &delivery.Attempter{Store: b.Store, Archive: b.Archive, InForce: b.InForce,
				Capacity: b.Capacity, Now: time.Now, Log: b.Log}, Client: b.Client}
			stopOther := b.Worker(other, options)
			if stops {
				time.AfterFunc(15*time.Second, func() { close(answer) })
				stop()
			} else {
				time.Sleep(15 * time.Second) // the task has ten
				close(answer)
			}
			require.NoError(t, b.Client.GetWorkflow(t.Context(), "export/acme/u-1", "").Get(t.Context(), nil))
			require.EqualValues(t, 1, b.Asked.Load(), "it was sent again")
			require.Equal(t, model.Delivered, b.Delivery(e).Outcome)
			if !stops {
				stop()
			}
			stopOther()
		})
	}
}
