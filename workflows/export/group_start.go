package export

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/failpoint"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/workflows"
)

// attributeBytes bounds a list in a search attribute: Temporal takes 2 KiB, and a value has quotes and a comma around
// it.
const attributeBytes = 2000

// dispatchGroup makes a group of exports, stores its members, and starts its workflow. A crash in between leaves a
// group that the sweep finds and starts.
func (d *Dispatcher) dispatchGroup(ctx context.Context, exports []*model.Export) error {
	c := d.InForce.Current()
	if c == nil {
		return context.Canceled
	}
	exports = slices.DeleteFunc(exports, func(e *model.Export) bool {
		tenant, ok := c.Tenant(e.Tenant)
		if ok && len(e.Integrations) == 0 {
			for n := range tenant.Integrations {
				e.Integrations = append(e.Integrations, tenant.Integrations[n].Name)
			}
		}
		return !ok // the sweep postpones it
	})
	if len(exports) == 0 {
		return nil
	}
	var members []*model.Export
	err := d.write(ctx, func(tx *store.Tx) (err error) {
		members, err = tx.Group(exports, d.Now())
		return err
	})
	if err != nil || len(members) == 0 {
		return err
	}
	return d.startMembers(ctx, members)
}

// repairGroup starts the workflow of a group that was stored, and perhaps not started. It is started with the same ID
// and members, so that it makes no difference whether it was.
func (d *Dispatcher) repairGroup(ctx context.Context, member *model.Export) error {
	members, err := d.Store.UndispatchedGroup(ctx, member.Group)
	if err != nil || len(members) == 0 {
		return err
	}
	return d.startMembers(ctx, members)
}

// startMembers starts the workflow of a group and notes that Temporal has it.
func (d *Dispatcher) startMembers(ctx context.Context, members []*model.Export) error {
	failpoint.Reach(failpoint.GroupStored)
	group := members[0].Group
	in := groupInput(members, d.Attributes.Load())
	err := d.startGroup(ctx, members, in)
	var invalid *serviceerror.InvalidArgument
	if errors.As(err, &invalid) { // as with a single export
		in.Attributes = false
		err = d.startGroup(ctx, members, in)
	}
	switch {
	case err == nil:
		d.answered()
		metrics.DispatchedGroup("started", len(members))
	case isAlreadyStarted(err):
		d.answered()
		metrics.DispatchedGroup("repeated", len(members))
		var started GroupInput
		if err := d.readInput(ctx, model.GroupWorkflowID(group), &started); err != nil {
			return err
		}
		if slices.ContainsFunc(in.Exports, func(id int64) bool { return !slices.Contains(started.Exports, id) }) {
			d.Log.Warn("a workflow of that id belongs to another database; the exports of this group get workflows of their own", zap.String("workflow", model.GroupWorkflowID(group)))
			return d.write(ctx, func(tx *store.Tx) error { return forEach(members, tx.SkipRound) })
		}
	case errors.As(err, &invalid):
		metrics.DispatchedGroup("refused", len(members))
		d.Log.Error("Temporal refuses the workflow of a group of exports; they are set aside as our fault",
			zap.Int64("group", group), zap.Error(err))
		return d.write(ctx, func(tx *store.Tx) error {
			return forEach(members, func(e *model.Export) error {
				return tx.MarkFault(e.ID, "Temporal refuses its workflow: "+invalid.Message)
			})
		})
	case ctx.Err() != nil: // the gateway stops
		return err
	default:
		d.unanswered()
		metrics.DispatchedGroup("unavailable", len(members))
		return err
	}
	failpoint.Reach(failpoint.GroupStarted)
	return d.write(ctx, func(tx *store.Tx) error { return tx.MarkGroupDispatched(group, d.Now()) })
}

func forEach(members []*model.Export, do func(*model.Export) error) error {
	for _, e := range members {
		if err := do(e); err != nil {
			return err
		}
	}
	return nil
}

func groupInput(members []*model.Export, attributes bool) GroupInput {
	in := GroupInput{Attributes: attributes}
	for _, e := range members {
		in.Exports = append(in.Exports, e.ID)
		in.Documents = in.Documents || e.Attachments > 0 && e.Origin == model.Received
		in.DocumentsTill, in.DeliverTill = later(in.DocumentsTill, e.DocumentsTill), later(in.DeliverTill, e.DeliverTill)
	}
	return in
}

func (d *Dispatcher) startGroup(ctx context.Context, members []*model.Export, in GroupInput) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var tenants, keys []string
	for _, e := range members {
		keys = append(keys, e.Key)
		if !slices.Contains(tenants, e.Tenant) {
			tenants = append(tenants, e.Tenant)
		}
	}
	of, priority := tenants[0], workflows.PriorityOf(tenants[0], workflows.Received)
	if len(tenants) > 1 {
		of, priority = fmt.Sprintf("%d tenants", len(tenants)), workflows.PriorityOf("", workflows.Received)
	}
	summary := fmt.Sprintf("%d exports of %s", len(members), of)
	o := startOptions(model.GroupWorkflowID(members[0].Group), summary, priority)
	if in.Attributes {
		o.TypedSearchAttributes = temporal.NewSearchAttributes(workflows.AttributeEvent.ValueSet(webhook.EventExport),
			workflows.AttributeTenant.ValueSet(fitting(tenants)), workflows.AttributeExport.ValueSet(fitting(keys)))
	}
	_, err := d.Client.ExecuteWorkflow(ctx, o, GroupWorkflowName, in)
	return err
}

// fitting are the first values of a list that fit into a search attribute.
func fitting(values []string) []string {
	bytes := 0
	for n, v := range values {
		if bytes += len(v) + len(`"",`); bytes > attributeBytes {
			return values[:n]
		}
	}
	return values
}
