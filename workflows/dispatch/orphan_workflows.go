package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/export"
)

const (
	// orphanAge is how old a workflow is before it is compared with the store. An export is stored before its workflow
	// is started, and the store is read after the workflows were listed, so a second would do.
	orphanAge = time.Minute
	// orphansFirst is after the start: what was open then is old enough.
	orphansFirst = time.Minute
	orphansEvery = time.Hour
	// orphansLooked is how many open workflows are compared at most, the latest: an orphan is younger than the backup.
	orphansLooked = 10_000
	// toldOfNone is the number of orphan workflows that was told when the next one is to be told in any case.
	toldOfNone     = -1
	orphansPage    = 1000
	orphansAtOnce  = 8
	orphanEndsWith = "hiregate export strays --end: the gateway's database lacks its exports"
)

// OrphanWorkflow is an open workflow of exports of which the store lacks at least one, as it does after an older backup
// was restored. It can never end by itself, and what the store has of a group waits with the others.
type OrphanWorkflow struct {
	Workflow  string
	Run       string
	StartedAt time.Time

	exports []int64 // IDs
}

// OrphanWorkflows are the workflows that FindOrphanWorkflows has found.
type OrphanWorkflows struct {
	Found  []OrphanWorkflow // the oldest first
	Looked int              // open workflows that were compared
	Young  int              // those that were not, as they are younger than a minute
	More   bool             // there are older ones, which were not either
}

// orphanLoop looks for orphan workflows a minute after the start, a minute after some were ended, and every hour. It ends
// none.
func (r *Reconciler) orphanLoop() loop.Loop {
	due := time.Time{}
	return loop.Loop{Name: "orphan_workflows", Every: orphansFirst,
		Failed: "Temporal's open workflows could not be compared with the database; it is tried again every minute",
		Round: func(ctx context.Context) error {
			if ended := r.orphansEnded.Swap(false); !ended && r.Now().Before(due) {
				return nil
			}
			err := r.TellOrphanWorkflows(ctx, r.Now())
			if due = r.Now().Add(orphansEvery); err != nil {
				due = time.Time{}
			}
			return err
		}}
}

// TellOrphanWorkflows finds the orphans, updates the gauge, and logs how many there are when that has changed. It must
// not run twice at a time.
func (r *Reconciler) TellOrphanWorkflows(ctx context.Context, now time.Time) error {
	found, err := r.FindOrphanWorkflows(ctx, now)
	if err != nil {
		return err
	}
	metrics.Orphans(len(found.Found))
	switch n := len(found.Found); {
	case int64(n) == r.orphans.Swap(int64(n)):
	case n == 0:
		r.Log.Info("no workflow is open any more whose exports the database lacks")
	default:
		r.Log.Warn("workflows are open whose exports the database lacks, as after the restore of an older backup: "+
			"hiregate export strays lists them", zap.Int("workflows", n))
	}
	return nil
}

// FindOrphanWorkflows compares the open workflows of exports with the store. Younger ones than a minute are counted
// alone.
func (r *Reconciler) FindOrphanWorkflows(ctx context.Context, now time.Time) (res OrphanWorkflows, err error) {
	open := fmt.Sprintf("TaskQueue = '%s' AND ExecutionStatus = 'Running' AND WorkflowType = '%s' AND StartTime ",
		workflows.DeliverQueue, export.WorkflowName)
	since := "'" + now.Add(-orphanAge).UTC().Format(time.RFC3339Nano) + "'"
	if res.Young, err = r.countWorkflows(ctx, open+">= "+since); err != nil {
		return OrphanWorkflows{}, fmt.Errorf("counting open workflows: %w", err)
	}
	for token := []byte(nil); ; {
		page, err := r.listWorkflows(ctx, open+"< "+since, token)
		if err != nil {
			return OrphanWorkflows{}, fmt.Errorf("listing open workflows: %w", err)
		}
		found, err := r.compare(ctx, page.GetExecutions())
		if err != nil {
			return OrphanWorkflows{}, err
		}
		res.Found, res.Looked = append(res.Found, found...), res.Looked+len(page.GetExecutions())
		if token = page.GetNextPageToken(); len(token) == 0 {
			break
		}
		if res.More = res.Looked >= orphansLooked; res.More {
			break
		}
	}
	slices.SortStableFunc(res.Found, func(a, b OrphanWorkflow) int { return a.StartedAt.Compare(b.StartedAt) })
	return res, nil
}

func (r *Reconciler) listWorkflows(ctx context.Context, query string, token []byte) (
	*workflowservice.ListWorkflowExecutionsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return r.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: r.Namespace, PageSize: orphansPage, NextPageToken: token, Query: query})
}

func (r *Reconciler) countWorkflows(ctx context.Context, query string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	count, err := r.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: r.Namespace,
		Query: query})
	return int(count.GetCount()), err
}

// compare returns those of some workflows that are orphans. Which exports one is of is in what it was started with: its
// ID names an export by its key alone, and the same key may have come again since the restore.
func (r *Reconciler) compare(ctx context.Context, open []*workflowpb.WorkflowExecutionInfo) ([]OrphanWorkflow, error) {
	all := make([]OrphanWorkflow, len(open))
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(orphansAtOnce)
	for n, w := range open {
		group.Go(func() (err error) {
			all[n] = OrphanWorkflow{Workflow: w.GetExecution().GetWorkflowId(), Run: w.GetExecution().GetRunId(),
				StartedAt: w.GetStartTime().AsTime()}
			all[n].exports, err = r.exportsOf(reading, all[n].Workflow)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var ids []int64
	for _, s := range all {
		ids = append(ids, s.exports...)
	}
	here := map[int64]bool{}
	for some := range slices.Chunk(ids, store.MaxPage) {
		found, err := r.Store.ListStored(ctx, some)
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			here[id] = true
		}
	}
	return slices.DeleteFunc(all, func(s OrphanWorkflow) bool {
		return !slices.ContainsFunc(s.exports, func(id int64) bool { return !here[id] })
	}), nil
}

// exportsOf returns the IDs of the exports that a workflow is of; none, when it has ended meanwhile or is no gateway's.
func (r *Reconciler) exportsOf(ctx context.Context, workflow string) ([]int64, error) {
	in, err := r.Dispatcher.readInput(ctx, workflow)
	var gone *serviceerror.NotFound
	if err != nil && !errors.As(err, &gone) {
		return nil, err
	}
	return in.Exports, nil
}

// EndOrphanWorkflows terminates those of some workflows that are orphans still, and counts them. What the store has of
// a group goes on in workflows of its own. Temporal is looked through again within a minute, and what is found then is
// told.
func (r *Reconciler) EndOrphanWorkflows(ctx context.Context, orphans OrphanWorkflows) (int, error) {
	var ended atomic.Int64
	group, ending := errgroup.WithContext(ctx)
	group.SetLimit(orphansAtOnce)
	for _, s := range orphans.Found {
		group.Go(func() error {
			done, err := r.endOrphanWorkflow(ending, s)
			if done {
				ended.Add(1)
			}
			return err
		})
	}
	err := group.Wait()
	n := int(ended.Load())
	if n > 0 {
		r.Log.Warn("workflows were ended on request, as the database lacks their exports", zap.Int("workflows", n))
	}
	if err == nil && !orphans.More {
		metrics.Orphans(0)
	}
	r.orphans.Store(toldOfNone)
	r.orphansEnded.Store(true)
	return n, err
}

// endOrphanWorkflow reports whether it terminated a workflow. Its other exports go on first: after a crash in between,
// it is an orphan still.
func (r *Reconciler) endOrphanWorkflow(ctx context.Context, s OrphanWorkflow) (bool, error) {
	here, err := r.Store.ExportsByID(ctx, s.exports)
	if err != nil || len(here) == len(s.exports) {
		return false, err
	}
	for _, e := range here {
		if err := r.Leave(ctx, e, s.Workflow); err != nil {
			return false, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err = r.Client.TerminateWorkflow(ctx, s.Workflow, s.Run, orphanEndsWith)
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) { // it has ended meanwhile
		return false, nil
	}
	return err == nil, err
}
