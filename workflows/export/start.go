package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/workflows"
)

const startTimeout = 10 * time.Second

// dispatchAll dispatches exports that are claimed: as a group, or each by itself where they are few.
func (d *Dispatcher) dispatchAll(ctx context.Context, exports []*model.Export) error {
	if len(exports) >= groupFrom {
		return d.dispatchGroup(ctx, exports)
	}
	for _, e := range exports {
		if err := d.dispatch(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// dispatch asks Temporal for the workflow of one export and notes that it has it. An error means that Temporal or the
// store is away, not that something is wrong with this export.
func (d *Dispatcher) dispatch(ctx context.Context, e *model.Export) error {
	c := d.InForce.Current()
	if c == nil {
		return context.Canceled
	}
	tenant, ok := c.Tenant(e.Tenant)
	if !ok { // the sweep postpones it
		return nil
	}
	var former []*model.Delivery
	if e.Round > 0 {
		var err error
		if former, err = d.Store.ListDeliveries(ctx, e.ID); err != nil {
			return err
		}
	}
	to := targets(e, tenant, former, d.Now())
	err := d.start(ctx, e, to, d.Attributes.Load())
	var invalid *serviceerror.InvalidArgument
	if errors.As(err, &invalid) {
		// Temporal may not know the search attributes, or not yet; the export must not suffer for them.
		err = d.start(ctx, e, to, false)
	}
	switch {
	case err == nil:
		d.answered()
		metrics.Dispatched("started")
	case isAlreadyStarted(err):
		d.answered()
		metrics.Dispatched("repeated")
		// It may be another export's: a gateway with a new database may find the workflows of the database before, with
		// the same ids, and they don't deliver this export.
		var started Input
		if err := d.readInput(ctx, e.WorkflowID, &started); err != nil {
			return err
		}
		to = started.To // the tenant's integrations may be others by now
		if started.Export != e.ID {
			d.Log.Warn("a workflow of that id belongs to another database, or to no gateway; the export's own gets the next id",
				zap.String("workflow", e.WorkflowID))
			return d.write(ctx, func(tx *store.Tx) error { return tx.SkipRound(e) })
		}
	case errors.As(err, &invalid):
		metrics.Dispatched("refused")
		d.Log.Error("Temporal refuses an export's workflow; it is set aside as our fault",
			zap.String("tenant", e.Tenant), zap.Int64("export", e.ID), zap.Error(err))
		return d.write(ctx, func(tx *store.Tx) error {
			return tx.MarkFault(e.ID, "Temporal refuses its workflow: "+invalid.Message)
		})
	case ctx.Err() != nil: // the gateway stops
		return err
	default:
		d.unanswered()
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

// readInput reads what a workflow was started with into in. It reads nothing when the workflow is not a gateway's.
func (d *Dispatcher) readInput(ctx context.Context, id string, in any) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	events := d.Client.GetWorkflowHistory(ctx, id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	first, err := events.Next()
	if err != nil {
		return fmt.Errorf("reading how a workflow was started: %w", err)
	}
	payloads := first.GetWorkflowExecutionStartedEventAttributes().GetInput()
	_ = converter.GetDefaultDataConverter().FromPayloads(payloads, in)
	return nil
}

// start starts the workflow of an export, with search attributes where they are registered.
func (d *Dispatcher) start(ctx context.Context, e *model.Export, to []Target, attributes bool) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	in := Input{
		Tenant: e.Tenant, Export: e.ID, Round: e.Round, To: to,
		// Also after the end of the documents' URLs: what is still missing then is given up, and its address answers
		// so. The documents of a triggered export are here already.
		Documents: e.Attachments > 0 && e.Origin == model.Received, DocumentsTill: e.DocumentsTill, DeliverTill: e.DeliverTill,
		Attributes: attributes,
	}
	o := startOptions(e.WorkflowID, webhook.EventExport+" of "+e.Tenant, workflows.PriorityOf(e.Tenant, urgency(e)))
	if attributes {
		found := []temporal.SearchAttributeUpdate{
			workflows.AttributeTenant.ValueSet([]string{e.Tenant}), workflows.AttributeExport.ValueSet(fitting([]string{e.Key})),
			workflows.AttributeEvent.ValueSet(webhook.EventExport),
		}
		if len(to) == 1 {
			found = append(found, workflows.AttributeIntegration.ValueSet(to[0].Integration))
		}
		o.TypedSearchAttributes = temporal.NewSearchAttributes(found...)
	}
	_, err := d.Client.ExecuteWorkflow(ctx, o, WorkflowName, in)
	return err
}

// startOptions are the options of each workflow that carries exports.
func startOptions(id, summary string, priority temporal.Priority) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: id, TaskQueue: workflows.DeliverQueue,
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		EnableEagerStart:                         true, // our own workers take it at once
		StaticSummary:                            summary,
		Priority:                                 priority,
	}
}

func urgency(e *model.Export) workflows.Urgency {
	switch {
	case e.Round > 0:
		return workflows.Redelivered
	case e.Origin == model.Triggered:
		return workflows.Triggered
	}
	return workflows.Received
}

// targets are the integrations a round is for, and how long each waits for documents. former are the deliveries of the
// rounds before.
func targets(e *model.Export, tenant *model.Tenant, former []*model.Delivery, now time.Time) (to []Target) {
	names := e.Integrations
	if len(names) == 0 {
		for n := range tenant.Integrations {
			names = append(names, tenant.Integrations[n].Name)
		}
	}
	for _, name := range names {
		to = append(to, Target{Integration: name, Wait: documentsWait(e, tenant, name, triedIn(former, name), now)})
	}
	return to
}

// documentsWait is how long a delivery waits for the documents of its export. mode is the document mode in which it was tried
// before; empty: the one of its integration.
func documentsWait(e *model.Export, tenant *model.Tenant, integration string, mode model.DocumentMode, now time.Time) time.Duration {
	if i, ok := tenant.Integration(integration); ok {
		mode = cmp.Or(mode, i.Documents)
	}
	switch {
	case e.Origin == model.Triggered, mode == model.Passthrough:
		return 0
	case mode == model.Inline:
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
