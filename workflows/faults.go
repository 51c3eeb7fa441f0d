package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/hiregate/hiregate/internal/metrics"
)

// Fault says that the code of a workflow or an activity fails: it panics, does not replay, or can't read its input. Temporal
// runs it again and again meanwhile.
type Fault struct {
	Name   string // of the activity, or of the workflow
	Reason string // a fixed word: "panic", "non_determinism" or "error"
	Count  int64
	Since  time.Time
	Last   time.Time
}

func (f Fault) String() string { return fmt.Sprintf("%s (%s, %d times)", f.Name, f.Reason, f.Count) }

// faultsOver is for how long a fault is remembered after it came last.
const faultsOver = 15 * time.Minute

// Faults counts the faults of this process. What asks to be run again with RetryAfter has none. The zero value is ready.
type Faults struct {
	mu  sync.Mutex
	all map[string]*Fault // by name and reason
}

// Lately returns the faults of the last quarter of an hour, in order. Nil has none.
func (f *Faults) Lately(now time.Time) (all []Fault) {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, fault := range f.all {
		if now.Sub(fault.Last) > faultsOver {
			delete(f.all, key)
			continue
		}
		all = append(all, *fault)
	}
	slices.SortFunc(all, func(a, b Fault) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Reason, b.Reason))
	})
	return all
}

func (f *Faults) note(name, reason string) {
	metrics.WorkflowFault(name, reason)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[string]*Fault{}
	}
	key, now := name+" "+reason, time.Now()
	fault := f.all[key]
	if fault == nil {
		fault = &Fault{Name: name, Reason: reason, Since: now}
		f.all[key] = fault
	}
	fault.Count, fault.Last = fault.Count+1, now
}

// Handler returns where Temporal's SDK tells of them: it counts what fails before any code of ours sees it.
func (f *Faults) Handler() client.MetricsHandler {
	return faultsHandler{MetricsHandler: client.MetricsNopHandler, faults: f}
}

// The counters of the SDK. It counts a panic of an activity at both.
const (
	countsActivities = "temporal_activity_execution_failed"
	countsPanics     = "temporal_activity_task_error"
	countsWorkflows  = "temporal_workflow_task_execution_failed"
)

// Counting returns a registry of workflows and activities whose faults are counted from 0 on.
func Counting(r worker.Registry) worker.Registry { return counting{r} }

type counting struct{ worker.Registry }

func (c counting) RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions) {
	metrics.WorkflowFaults(options.Name, "panic", "non_determinism")
	c.Registry.RegisterWorkflowWithOptions(w, options)
}

func (c counting) RegisterActivityWithOptions(a any, options activity.RegisterOptions) {
	metrics.WorkflowFaults(options.Name, "panic", "error")
	c.Registry.RegisterActivityWithOptions(a, options)
}

type faultsHandler struct {
	client.MetricsHandler
	faults                     *Faults
	workflow, activity, reason string
}

func (h faultsHandler) WithTags(tags map[string]string) client.MetricsHandler {
	h.workflow = cmp.Or(tags["workflow_type"], h.workflow)
	h.activity = cmp.Or(tags["activity_type"], h.activity)
	h.reason = cmp.Or(tags["failure_reason"], h.reason)
	return h
}

func (h faultsHandler) Counter(name string) client.MetricsCounter {
	switch name {
	case countsActivities:
		return faultCounter(func() { h.faults.note(h.activity, "error") })
	case countsPanics:
		return faultCounter(func() { h.faults.note(h.activity, "panic") })
	case countsWorkflows:
		reason := "panic"
		if h.reason == "NonDeterminismError" {
			reason = "non_determinism"
		}
		return faultCounter(func() { h.faults.note(h.workflow, reason) })
	}
	return h.MetricsHandler.Counter(name)
}

type faultCounter func()

func (c faultCounter) Inc(int64) { c() }
