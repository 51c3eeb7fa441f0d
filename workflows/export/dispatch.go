package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/workflows"
)

const (
	starters     = 8
	offersAtOnce = 1024
	sweepEvery   = time.Second
	sweepAge     = 3 * time.Second // what is younger is being started by whoever accepted it
	offerAge     = 2 * time.Second // what waits for a starter for longer is the sweep's
	sweepPage    = 500
	measureEvery = time.Second
	startTimeout = 10 * time.Second
	minBackoff   = 500 * time.Millisecond
	maxBackoff   = 10 * time.Second
)

// Dispatcher starts the workflow of every accepted export. Starting is idempotent: Temporal refuses a second workflow of the
// same id, and that counts as done, so any node may start any export and nobody has to claim one.
type Dispatcher struct {
	Store   *store.DB
	Client  client.Client
	InForce *config.InForce
	Archive *documents.Archive
	Now     func() time.Time
	Log     *zap.Logger
	// Attributes tells whether the search attributes are registered.
	Attributes *atomic.Bool

	once     sync.Once
	queue    *offers
	underway sync.Map    // the IDs of the exports that are being started
	absent   absent      // the sweep's
	away     atomic.Bool // Temporal did not answer last time
}

// Offer starts an export's workflow soon. It never waits: what finds no room is found by the sweep.
func (d *Dispatcher) Offer(e *hiring.Export) {
	d.ready()
	if d.away.Load() {
		return
	}
	d.queue.add(e, d.Now())
}

func (d *Dispatcher) ready() {
	d.once.Do(func() { d.queue = newOffers(offersAtOnce) })
}

// Run starts workflows until ctx ends.
func (d *Dispatcher) Run(ctx context.Context) {
	d.ready()
	var group sync.WaitGroup
	for range starters {
		group.Go(func() {
			for {
				select {
				case <-d.queue.queued:
					o := d.queue.next()
					if !d.away.Load() && d.Now().Sub(o.at) < offerAge {
						d.start(ctx, o.export)
					}
				case <-ctx.Done():
					return
				}
			}
		})
	}
	group.Go(func() { d.sweep(ctx) })
	group.Go(func() { d.measure(ctx) })
	group.Go(func() { d.rescue(ctx) })
	group.Wait()
}

// start asks Temporal for one workflow and notes that it has it. An error means that Temporal or the store is away, not that
// something is wrong with this export.
func (d *Dispatcher) start(ctx context.Context, e *hiring.Export) error {
	if _, twice := d.underway.LoadOrStore(e.ID, true); twice { // whoever is at it notes it
		return nil
	}
	defer d.underway.Delete(e.ID)
	c := d.InForce.Current()
	if c == nil {
		return context.Canceled
	}
	tenant, ok := c.Tenant(e.Tenant)
	if !ok { // the sweep sets it aside
		return nil
	}
	var former []*hiring.Delivery
	if e.Round > 0 {
		var err error
		if former, err = d.Store.Deliveries(ctx, e.ID); err != nil {
			return err
		}
	}
	to := targets(e, tenant, former, d.Now())
	err := d.execute(ctx, e, to, d.Attributes.Load())
	var invalid *serviceerror.InvalidArgument
	if errors.As(err, &invalid) {
		// It may be the search attributes that Temporal does not know, or not yet; the export must not suffer for them.
		err = d.execute(ctx, e, to, false)
	}
	switch {
	case err == nil:
		d.here()
		metrics.Dispatched("started")
	case isAlreadyStarted(err):
		d.here()
		metrics.Dispatched("repeated")
		started, err := d.started(ctx, e)
		if err != nil {
			return err
		}
		to = started.To // the tenant's integrations may be others by now
		if started.Export != e.ID {
			d.Log.Warn("a workflow of that id belongs to another database, or to no gateway; the export's own gets the next id", zap.String("workflow", e.WorkflowID))
			return d.write(ctx, func(tx *store.Tx) error { return tx.SkipRound(e) })
		}
	case errors.As(err, &invalid):
		metrics.Dispatched("refused")
		d.Log.Error("Temporal refuses an export's workflow; it is set aside as our fault", zap.String("tenant", e.Tenant), zap.Int64("export", e.ID), zap.Error(err))
		return d.write(ctx, func(tx *store.Tx) error { return tx.MarkFault(e.ID, "Temporal refuses its workflow: "+invalid.Message) })
	case ctx.Err() != nil: // it is we who end
		return err
	default:
		d.gone()
		metrics.Dispatched("unavailable")
		return err
	}
	names := make([]string, len(to))
	for n := range to {
		names[n] = to[n].Integration
	}
	return d.write(ctx, func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, e.Round, d.Now(), names...) })
}

func isAlreadyStarted(err error) bool {
	var already *serviceerror.WorkflowExecutionAlreadyStarted
	return errors.As(err, &already) || temporal.IsWorkflowExecutionAlreadyStartedError(err)
}

// started is what the workflow of an export's id was started with. That may be another export's: a gateway with a new database may
// find the workflows of the former one, with the same ids, and they are not what delivers this export.
func (d *Dispatcher) started(ctx context.Context, e *hiring.Export) (in Input, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	first, err := d.Client.GetWorkflowHistory(ctx, e.WorkflowID, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT).Next()
	if err != nil {
		return in, fmt.Errorf("reading how a workflow was started: %w", err)
	}
	if err := converter.GetDefaultDataConverter().FromPayloads(first.GetWorkflowExecutionStartedEventAttributes().GetInput(), &in); err != nil {
		return Input{}, nil // it is somebody else's, and of no export
	}
	return in, nil
}

func (d *Dispatcher) execute(ctx context.Context, e *hiring.Export, to []Target, attributes bool) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	in := Input{
		Tenant: e.Tenant, Export: e.ID, Round: e.Round, To: to,
		// Also after their end: what is still missing then is given up, and its address answers so. Those of an export that was
		// triggered here are here.
		Documents: e.Attachments > 0 && e.Origin == hiring.Received, DocumentsTill: e.DocumentsTill, DeliverTill: e.DeliverTill,
		Attributes: attributes,
	}
	o := client.StartWorkflowOptions{
		ID: e.WorkflowID, TaskQueue: workflows.DeliverQueue,
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		EnableEagerStart:                         true, // our own workers take it at once
		StaticSummary:                            webhook.EventExport + " of " + e.Tenant,
	}
	if in.Attributes {
		o.TypedSearchAttributes = temporal.NewSearchAttributes(
			workflows.AttributeTenant.ValueSet(e.Tenant), workflows.AttributeEvent.ValueSet(webhook.EventExport))
		if len(in.To) == 1 {
			o.TypedSearchAttributes = temporal.NewSearchAttributes(o.TypedSearchAttributes.Copy(), workflows.AttributeIntegration.ValueSet(in.To[0].Integration))
		}
	}
	_, err := d.Client.ExecuteWorkflow(ctx, o, WorkflowName, in)
	return err
}

// targets are the integrations a round is for, and how long each waits for documents. Former are the deliveries of the rounds before.
func targets(e *hiring.Export, tenant *hiring.Tenant, former []*hiring.Delivery, now time.Time) (to []Target) {
	names := e.Integrations
	if len(names) == 0 {
		for n := range tenant.Integrations {
			names = append(names, tenant.Integrations[n].Name)
		}
	}
	for _, name := range names {
		to = append(to, Target{Integration: name, Wait: waitFor(e, tenant, name, triedIn(former, name), now)})
	}
	return to
}

// waitFor is how long a delivery waits for the documents of its export, in the mode in which it was tried before, or else in that of
// its integration.
func waitFor(e *hiring.Export, tenant *hiring.Tenant, integration string, mode hiring.DocumentMode, now time.Time) time.Duration {
	if i, ok := tenant.Integration(integration); ok {
		mode = cmp.Or(mode, i.Documents)
	}
	switch {
	case e.Origin == hiring.Triggered, mode == hiring.Passthrough:
		return 0
	case mode == hiring.Inline:
		return max(0, e.DocumentsTill.Sub(now))
	}
	return rehostWait
}

func (d *Dispatcher) write(ctx context.Context, fn func(*store.Tx) error) error {
	if err := d.Store.Write(ctx, fn); err != nil {
		d.Log.Warn("a dispatch could not be noted; it will be repeated", zap.Error(err))
		return err
	}
	return nil
}

func (d *Dispatcher) here() {
	if d.away.CompareAndSwap(true, false) {
		d.Log.Info("Temporal is back; starting the workflows that wait")
	}
	metrics.Temporal(true)
}

func (d *Dispatcher) gone() {
	if d.away.CompareAndSwap(false, true) {
		d.Log.Warn("Temporal does not answer; exports are accepted and wait in the store")
	}
	metrics.Temporal(false)
}

// measure keeps the gauges of what waits, beside the sweep: while more come in than Temporal takes, that does not come to an end.
func (d *Dispatcher) measure(ctx context.Context) {
	for wait.For(ctx, measureEvery) {
		commits, writes := d.Store.Commits()
		metrics.Store(d.Store.WALSize(), commits, writes)
		n, oldest, err := d.Store.Backlog(ctx)
		if err != nil {
			continue
		}
		age := time.Duration(0)
		if n > 0 {
			age = d.Now().Sub(oldest)
		}
		metrics.Backlog(n, age)
	}
}
