package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/mark"
	"github.com/hiregate/hiregate/workflows/verification"
)

const (
	firstBackoff = 250 * time.Millisecond
	lastBackoff  = 5 * time.Second
	// stopTimeout is above the 20 s of an attempt: what is under way when the process is told to stop comes to its end.
	stopTimeout = 25 * time.Second
	tendEvery   = 10 * time.Second
	// cachedWorkflows is how many workflows stay in memory between their tasks, 0.1 MB each. Those that wait for a partner
	// for hours are not worth it; one that is not here is read from Temporal again.
	cachedWorkflows = 128
)

// work keeps the workers running: it waits for Temporal, starts them, and starts them again when they fail.
func (r *Runtime) work(ctx context.Context) {
	for backoff := firstBackoff; ctx.Err() == nil; {
		failed, stop, err := r.startWorkers(ctx)
		if err != nil {
			metrics.Temporal(false)
			fault, ok := errors.AsType[*TemporalFault](err)
			if !ok {
				fault = temporalFault(err, r.Settings.Namespace)
			}
			r.workersFault.Store(fault)
			if errors.Is(fault, errForeign) {
				r.log.Error("no workflow is started and nothing is delivered; exports are accepted and wait in the store",
					zap.String("reason", fault.Reason))
				wait.For(ctx, r.markEvery)
				continue
			}
			r.log.Warn("Temporal is not there yet; exports are accepted and wait in the store",
				zap.String("temporal", r.Settings.Temporal), zap.String("reason", fault.Reason), zap.Error(fault.cause))
			wait.For(ctx, backoff)
			backoff = min(2*backoff, lastBackoff)
			continue
		}
		backoff = firstBackoff
		r.workersFault.Store(nil)
		r.workersUp.Store(true)
		metrics.Temporal(true)
		r.log.Info("workers started", zap.String("temporal", r.Settings.Temporal),
			zap.String("namespace", r.Settings.Namespace))
		r.whileOurs(ctx, failed)
		r.workersUp.Store(false)
		stop()
	}
}

// whileOurs returns when a worker failed, or the namespace turns out to be another database's. It looks every minute.
func (r *Runtime) whileOurs(ctx context.Context, failed <-chan error) {
	tick := time.NewTicker(r.markEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-failed:
			r.log.Error("a worker failed; starting the workers again", zap.Error(err))
			return
		case <-tick.C:
			err := r.lookAtMark(ctx)
			if fault := new(TemporalFault); errors.As(err, &fault) && errors.Is(fault, errForeign) {
				r.workersFault.Store(fault)
				return
			}
		}
	}
}

// lookAtMark is claimNamespace for the configuration in force.
func (r *Runtime) lookAtMark(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return r.claimNamespace(ctx, r.InForce.Current(), false)
}

// startWorkers starts the workers of the task queues. A fatal error of one of them comes on the channel.
func (r *Runtime) startWorkers(ctx context.Context) (failed chan error, stop func(), err error) {
	describe, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := describeNamespace(describe, r.client, r.Settings.Namespace); err != nil {
		return nil, nil, err
	}
	if err := r.lookAtMark(ctx); err != nil {
		return nil, nil, err
	}
	if err := r.ensureAttributes(ctx); err != nil {
		r.log.Warn("workflows start without search attributes until they are registered: HiregateTenant and HiregateExport "+
			"(KeywordList), HiregateEvent, HiregateOutcome and HiregateIntegration (Keyword)", zap.Error(err))
	}
	failed = make(chan error, 3)
	options := worker.Options{
		WorkerStopTimeout: stopTimeout,
		OnFatalError:      func(err error) { failed <- err },
		// A worker per process is enough; what is polled for at once bounds what can be under way.
		MaxConcurrentActivityTaskPollers: 4, MaxConcurrentWorkflowTaskPollers: 4,
	}
	fetchOptions := options
	// twice what the archive fetches at once: activities that wait for the archive leave slots to others
	fetchOptions.MaxConcurrentActivityExecutionSize = 128
	fetchOptions.DisableWorkflowWorker = true
	// an attempt without a place takes a slot for a moment, too
	options.MaxConcurrentActivityExecutionSize = 2 * delivery.AttemptsAtOnce
	//lint:ignore SA1019 a deployment's version would have Temporal choose workers by it; this one only marks who began a workflow
	options.BuildID = export.BuildID
	worker.SetStickyWorkflowCacheSize(cachedWorkflows)
	deliver := worker.New(r.client, workflows.DeliverQueue, options)
	fetch := worker.New(r.client, workflows.DocumentsQueue, fetchOptions)
	submit := worker.New(r.client, workflows.SubmissionsQueue, options)
	delivering, fetching := workflows.Counting(deliver), workflows.Counting(fetch)
	r.submissions.Register(workflows.Counting(submit))
	r.exports.Register(delivering, fetching)
	r.verification.Register(delivering)
	r.scans.Register(delivering, fetching)
	r.redeliveries.Register(delivering)
	delivering.RegisterWorkflowWithOptions(mark.Workflow, workflow.RegisterOptions{Name: mark.WorkflowName})
	if err := deliver.Start(); err != nil {
		return nil, nil, err
	}
	if err := fetch.Start(); err != nil {
		deliver.Stop()
		return nil, nil, err
	}
	if err := submit.Start(); err != nil {
		fetch.Stop()
		deliver.Stop()
		return nil, nil, err
	}
	return failed, func() {
		var stopping sync.WaitGroup
		for _, one := range []worker.Worker{deliver, fetch, submit} {
			stopping.Go(one.Stop)
		}
		stopping.Wait()
	}, nil
}

// ensureAttributes registers the search attributes, unless it is known that they are.
func (r *Runtime) ensureAttributes(ctx context.Context) error {
	if r.attributes.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := workflows.EnsureAttributes(ctx, r.client, r.Settings.Namespace); err != nil {
		return err
	}
	r.attributes.Store(true)
	return nil
}

// verify starts the verification of each integration that is not configured, unless one runs. It reads the statuses
// each time: a configured integration may be disabled, and a disabled one enabled, at any moment.
func (r *Runtime) verify(ctx context.Context) error {
	c := r.InForce.Current()
	if err := r.ensureAttributes(ctx); err != nil {
		r.log.Debug("the search attributes are still not registered", zap.Error(err))
	}
	statuses, err := r.Store().ListIntegrationStatuses(ctx)
	if err != nil {
		return err
	}
	var unverified []*model.Integration
	open := map[model.Place]bool{}
	for t := range c.All() {
		for n := range t.Integrations {
			i := &t.Integrations[n]
			status := statuses.Of(i)
			open[model.Place{Tenant: i.Tenant, Integration: i.Name}] = status.Deliverable(i)
			if i.Verify && !i.Damaged && status.State == model.NotConfigured {
				unverified = append(unverified, i)
			}
		}
	}
	metrics.Configured(open)
	for _, i := range unverified {
		if err := verification.Start(ctx, r.client, i, r.attributes.Load()); err != nil {
			return err
		}
	}
	return nil
}
