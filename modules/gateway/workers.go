package gateway

import (
	"context"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/worker"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/verification"
)

const (
	firstBackoff = 250 * time.Millisecond
	lastBackoff  = 5 * time.Second
	// stopTimeout is above the 20 s of an attempt: what is under way when the process is told to stop comes to its end.
	stopTimeout = 25 * time.Second
	tendEvery   = 10 * time.Second
)

// work keeps the workers running: it waits for Temporal, starts them, and starts them anew should they fail.
func (r *Runtime) work(ctx context.Context) {
	for backoff := firstBackoff; ctx.Err() == nil; {
		failed, stop, err := r.startWorkers(ctx)
		if err != nil {
			r.log.Warn("Temporal is not there yet; exports are accepted and wait in the store", zap.String("temporal", r.Settings.Temporal), zap.Error(err))
			pause(ctx, backoff)
			backoff = min(2*backoff, lastBackoff)
			continue
		}
		backoff = firstBackoff
		r.workersUp.Store(true)
		r.log.Info("workers started", zap.String("temporal", r.Settings.Temporal), zap.String("namespace", r.Settings.Namespace))
		select {
		case <-ctx.Done():
		case err := <-failed:
			r.log.Error("a worker failed; starting the workers anew", zap.Error(err))
		}
		r.workersUp.Store(false)
		stop()
	}
}

// startWorkers starts the workers of the two task queues. A fatal error of one of them comes on the channel.
func (r *Runtime) startWorkers(ctx context.Context) (failed chan error, stop func(), err error) {
	describe, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = r.client.WorkflowService().DescribeNamespace(describe, &workflowservice.DescribeNamespaceRequest{Namespace: r.Settings.Namespace})
	if err != nil {
		return nil, nil, err
	}
	if err := workflows.EnsureAttributes(describe, r.client, r.Settings.Namespace); err != nil {
		r.log.Warn("workflows start without search attributes: register HiregateTenant, HiregateEvent, HiregateOutcome and HiregateIntegration (Keyword)", zap.Error(err))
	} else {
		r.attributes.Store(true)
	}
	failed = make(chan error, 2)
	options := worker.Options{
		WorkerStopTimeout: stopTimeout,
		OnFatalError:      func(err error) { failed <- err },
		// A worker per process is enough; what is polled for at once bounds what can be under way.
		MaxConcurrentActivityTaskPollers: 4, MaxConcurrentWorkflowTaskPollers: 4,
	}
	fetchOptions := options
	fetchOptions.MaxConcurrentActivityExecutionSize = 32
	fetchOptions.DisableWorkflowWorker = true
	options.MaxConcurrentActivityExecutionSize = 256
	deliver := worker.New(r.client, workflows.DeliverQueue, options)
	fetch := worker.New(r.client, workflows.DocumentsQueue, fetchOptions)
	r.exports.Register(deliver, fetch)
	r.verification.Register(deliver)
	if err := deliver.Start(); err != nil {
		return nil, nil, err
	}
	if err := fetch.Start(); err != nil {
		deliver.Stop()
		return nil, nil, err
	}
	return failed, func() {
		done := make(chan struct{})
		go func() { fetch.Stop(); close(done) }()
		deliver.Stop()
		<-done
	}, nil
}

// tend has the integrations verified that are not configured, and releases what was parked for those that are.
func (r *Runtime) tend(ctx context.Context) {
	configured := map[string]bool{}
	for pause(ctx, firstBackoff); ctx.Err() == nil; pause(ctx, tendEvery) {
		c := r.InForce.Current()
		for ; !r.workersUp.Load() || c == nil; c = r.InForce.Current() {
			if pause(ctx, firstBackoff); ctx.Err() != nil {
				return
			}
		}
		for _, t := range c.Tenants {
			for n := range t.Integrations {
				i := &t.Integrations[n]
				if key := string(i.Setting()); i.Verify && !configured[key] {
					configured[key] = r.verify(ctx, i)
				}
			}
		}
		if err := r.Again.ReleaseParked(ctx); err != nil && ctx.Err() == nil {
			r.log.Warn("parked deliveries could not be released; they are tried again", zap.Error(err))
		}
	}
}

// verify starts the verification of an integration that needs one. It reports true when it needs none any more.
func (r *Runtime) verify(ctx context.Context, i *hiring.Integration) bool {
	status, err := r.Store().IntegrationStatus(ctx, i)
	if err != nil {
		return false
	}
	if status.State != hiring.NotConfigured {
		return true
	}
	if err := verification.Start(ctx, r.client, i, r.attributes.Load()); err != nil && ctx.Err() == nil {
		r.log.Warn("a verification could not be started; it is tried again", zap.Error(err))
	}
	return false
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
