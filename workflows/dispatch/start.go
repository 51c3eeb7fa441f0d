package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/failpoint"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/export"
)

const startTimeout = 10 * time.Second

// attributeBytes bounds a list in a search attribute: Temporal takes 2 KiB, and a value has quotes and a comma around
// it.
const attributeBytes = 2000

// start starts the workflows of exports that are claimed in this process: one for those of round 0 if they are several,
// and one for each of the others that no node claimed after before, or for the group that it is in. It returns how many
// exports wait no longer. The error means that Temporal or the store is away, not that something is wrong with these
// exports.
func (d *Dispatcher) start(ctx context.Context, exports []*model.Export, before time.Time) (n int, err error) {
	c := d.InForce.Current()
	if c == nil {
		return 0, context.Canceled
	}
	together, alone := grouped(exports)
	if len(together) > 0 {
		members, err := d.group(ctx, c, together)
		if err != nil {
			return 0, err
		}
		if len(members) > 0 {
			if n, err = d.startTaken(ctx, members, nil, 0); err != nil {
				return n, err
			}
		}
	}
	for _, e := range alone {
		started, err := d.startOne(ctx, c, e, before)
		if n += started; err != nil {
			return n, err
		}
	}
	return n, nil
}

// grouped returns which of some exports are started as a group. Those of later rounds have workflows of their own.
func grouped(exports []*model.Export) (together, alone []*model.Export) {
	for _, e := range exports {
		if e.Round == 0 {
			together = append(together, e)
		} else {
			alone = append(alone, e)
		}
	}
	if len(together) < groupFrom {
		return nil, exports
	}
	return together, alone
}

// startOne starts the workflow of an export, or of the group that it is in, as it is in the store by now: another node
// may have made it a member of a group since it was read.
func (d *Dispatcher) startOne(ctx context.Context, c *config.Config, e *model.Export, before time.Time) (int, error) {
	tenant, ok := c.Tenant(e.Tenant)
	if !ok { // the sweep postpones it
		return 0, nil
	}
	var taken []*model.Export
	err := d.write(ctx, func(tx *store.Tx) (err error) {
		if taken, err = tx.TakeTurn(e, before, d.turn()); err != nil || len(taken) != 1 {
			return err
		}
		return tx.Address(taken[0], tenant.IntegrationNames())
	})
	if err != nil || len(taken) == 0 {
		return 0, err
	}
	if e = taken[0]; e.InGroup(e.Round) {
		return d.startTaken(ctx, taken, nil, 0)
	}
	var former []*model.Delivery
	if e.Round > 0 {
		if former, err = d.Store.ListDeliveries(ctx, e.ID); err != nil {
			return 0, err
		}
	}
	return d.startTaken(ctx, taken, e.Integrations, export.FirstWait(e, tenant, former, d.Now()))
}

// turn is the time that a turn is taken with, so that the sweeps of all nodes pass over it for as long as a start may take.
func (d *Dispatcher) turn() time.Time { return d.Now().Add(startTimeout - sweepAge) }

// startTaken starts the workflow of exports that this node has taken the turn of. It returns how many they are. After an
// error another node may take the turn, which may reach Temporal.
func (d *Dispatcher) startTaken(ctx context.Context, exports []*model.Export, to []string, wait time.Duration) (int, error) {
	err := d.startWorkflow(ctx, exports, to, wait)
	switch {
	case err == nil:
		return len(exports), nil
	case ctx.Err() != nil: // the gateway stops
		return 0, err
	}
	returned := d.write(ctx, func(tx *store.Tx) error { return tx.ReturnTurn(exports, d.Now().Add(-sweepAge)) })
	return 0, cmp.Or(returned, err)
}

// startWorkflow starts the workflow of an export for its integrations, or of the members of a group, and notes that
// Temporal has it. It has the same id and members each time, so that it makes no difference whether it was started
// before.
func (d *Dispatcher) startWorkflow(ctx context.Context, exports []*model.Export, to []string, wait time.Duration) error {
	first := exports[0]
	group := first.InGroup(first.Round)
	if group {
		failpoint.Reach(failpoint.GroupStored)
	}
	began := time.Now()
	err := d.execute(ctx, exports, to, wait, d.Attributes.Load())
	var invalid *serviceerror.InvalidArgument
	if errors.As(err, &invalid) {
		// Temporal may not know the search attributes, or not yet; the exports must not suffer for them.
		err = d.execute(ctx, exports, to, wait, false)
	}
	switch {
	case err == nil:
		d.answered()
		metrics.DispatchedGroup("started", len(exports))
		metrics.Started(time.Since(began), len(exports))
	case isAlreadyStarted(err):
		d.answered()
		metrics.DispatchedGroup("repeated", len(exports))
		// It may be another database's: a gateway with a new database may find the workflows of the database before,
		// with the same ids, and they don't deliver these exports.
		started, err := d.readInput(ctx, first.WorkflowID)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(exports, func(e *model.Export) bool { return !slices.Contains(started.Exports, e.ID) }) {
			d.Log.Warn("a workflow of that id belongs to another database, or to no gateway; its exports get the next id",
				zap.String("workflow", first.WorkflowID))
			return d.write(ctx, func(tx *store.Tx) error {
				if err := forEach(exports, tx.SkipRound); err != nil {
					return err
				}
				return tx.ReturnTurn(exports, d.Now().Add(-sweepAge))
			})
		}
		to = started.To // the tenant's integrations may be others by now
	case errors.As(err, &invalid):
		metrics.DispatchedGroup("refused", len(exports))
		d.Log.Error("Temporal refuses a workflow; its exports are set aside as our fault",
			zap.String("tenant", first.Tenant), zap.Int64("export", first.ID), zap.Int("exports", len(exports)), zap.Error(err))
		return d.write(ctx, func(tx *store.Tx) error {
			return forEach(exports, func(e *model.Export) error {
				return tx.MarkFault(e.ID, "Temporal refuses its workflow: "+invalid.Message, d.Now())
			})
		})
	case ctx.Err() != nil: // the gateway stops
		return err
	default:
		d.unanswered()
		metrics.DispatchedGroup("unavailable", len(exports))
		return err
	}
	if group {
		failpoint.Reach(failpoint.GroupStarted)
		return d.write(ctx, func(tx *store.Tx) error { return tx.MarkGroupDispatched(first.Group, d.Now()) })
	}
	return d.write(ctx, func(tx *store.Tx) error { return tx.MarkDispatched(first.ID, first.Round, d.Now(), to...) })
}

func forEach(exports []*model.Export, do func(*model.Export) error) error {
	for _, e := range exports {
		if err := do(e); err != nil {
			return err
		}
	}
	return nil
}

func isAlreadyStarted(err error) bool {
	var already *serviceerror.WorkflowExecutionAlreadyStarted
	return errors.As(err, &already) || temporal.IsWorkflowExecutionAlreadyStartedError(err)
}

// readInput reads what a workflow was started with. It reads nothing when the workflow is not a gateway's.
func (d *Dispatcher) readInput(ctx context.Context, id string) (in export.Input, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	events := d.Client.GetWorkflowHistory(ctx, id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	first, err := events.Next()
	if err != nil {
		return in, fmt.Errorf("reading how a workflow was started: %w", err)
	}
	payloads := first.GetWorkflowExecutionStartedEventAttributes().GetInput()
	_ = converter.GetDefaultDataConverter().FromPayloads(payloads, &in)
	return in, nil
}

// execute asks Temporal for a workflow, with search attributes where they are registered.
func (d *Dispatcher) execute(ctx context.Context, exports []*model.Export, to []string, wait time.Duration,
	attributes bool) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	first := exports[0]
	group := first.InGroup(first.Round)
	tenants, keys := tenantsAndKeys(exports)
	summary, priority := describe(exports, tenants, to)
	o := client.StartWorkflowOptions{
		ID: first.WorkflowID, TaskQueue: workflows.DeliverQueue,
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		EnableEagerStart:                         !group || d.Busy == nil || !d.Busy(), // our own worker takes it at once
		StaticSummary:                            summary,
		StaticDetails:                            d.details(exports, tenants),
		Priority:                                 priority,
	}
	if attributes {
		found := []temporal.SearchAttributeUpdate{
			workflows.AttributeTenant.ValueSet(fitting(tenants)), workflows.AttributeExport.ValueSet(fitting(keys)),
			workflows.AttributeEvent.ValueSet(webhook.EventExport),
		}
		if len(to) == 1 {
			found = append(found, workflows.AttributeIntegration.ValueSet(to[0]))
		}
		o.TypedSearchAttributes = temporal.NewSearchAttributes(found...)
	}
	in := input(exports, to, wait)
	in.Attributes = attributes
	_, err := d.Client.ExecuteWorkflow(ctx, o, export.WorkflowName, in)
	return err
}

func input(exports []*model.Export, to []string, documents time.Duration) export.Input {
	in := export.Input{Version: export.InputVersion, Round: exports[0].Round, To: to, Wait: documents, Local: true}
	for _, e := range exports {
		in.Local = in.Local && e.Round == 0 && e.Attachments == 0 && !e.Quarantined
		in.Exports = append(in.Exports, e.ID)
		in.Documents = in.Documents || fetches(e)
		in.DocumentsTill, in.DeliverTill = wait.Later(in.DocumentsTill, e.DocumentsTill), wait.Later(in.DeliverTill, e.DeliverTill)
	}
	return in
}

// fetches reports whether the documents of an export are fetched, also after the end of their URLs: what is still
// missing then is given up, and its address answers so. The documents of a triggered export are here already.
func fetches(e *model.Export) bool { return e.Attachments > 0 && e.Origin == model.Received }

func urgency(e *model.Export) workflows.Urgency {
	switch {
	case e.Round > 0:
		return workflows.Redelivered
	case e.Origin == model.Triggered:
		return workflows.Triggered
	}
	return workflows.Received
}

// write notes a dispatch, one after the other, and beside what else is written.
func (d *Dispatcher) write(ctx context.Context, fn func(*store.Tx) error) error {
	if err := d.Store.WriteOrdered(ctx, "dispatch", fn); err != nil {
		d.Log.Warn("a dispatch could not be noted; it will be repeated", zap.Error(err))
		return err
	}
	return nil
}
