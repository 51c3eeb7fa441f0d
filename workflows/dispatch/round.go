package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/export"
)

// Begin begins the next round of an export, as BeginRound does, and offers it. also runs in the same
// transaction, and may run more than once; it may be nil.
func (d *Dispatcher) Begin(ctx context.Context, e *model.Export, integrations []string,
	moved []*model.Delivery, more bool, also func(*store.Tx, *model.Export) error) (next *model.Export, err error) {
	err = d.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if next, err = BeginRound(tx, e, integrations, moved, more, d.Now()); err != nil || also == nil {
			return err
		}
		return also(tx, next)
	})
	if err != nil {
		return nil, fmt.Errorf("beginning the next round: %w", err)
	}
	d.Offer(next)
	return next, nil
}

// BeginRound begins the next round of an export for integrations, with another 72 hours if more is set. The moved
// deliveries go on in it, with the attempts they had. The error is ErrMoved when one of them is not what it was, and
// store.ErrErased when nothing is left to deliver.
func BeginRound(tx *store.Tx, e *model.Export, integrations []string, moved []*model.Delivery, more bool,
	now time.Time) (next *model.Export, err error) {
	if more {
		next, err = nextRound(tx, e, integrations, now, moved...)
	} else {
		next, err = tx.BeginRound(e.ID, integrations, now, e.DeliverTill, moved...)
	}
	if errors.Is(err, store.ErrStale) {
		return nil, ErrMoved
	}
	return next, err
}

// ErrMoved means that a delivery is not what it was a moment ago: another request or node began its next round, or
// ended it.
var ErrMoved = errors.New("the delivery was moved or written meanwhile")

// nextRound begins the next round of an export for integrations, with another 72 hours, and extends the links to its
// documents by 96 hours from now. A triggered export keeps its end, and that of its documents.
func nextRound(tx *store.Tx, e *model.Export, integrations []string, now time.Time, moved ...*model.Delivery) (*model.Export, error) {
	if e.Origin == model.Triggered {
		return tx.BeginRound(e.ID, integrations, now, e.DocumentsTill, moved...)
	}
	next, err := tx.BeginRound(e.ID, integrations, now, now.Add(model.DeliveryWindow), moved...)
	if err != nil {
		return nil, err
	}
	return next, tx.ExtendLinks(e.ID, now.Add(model.LinkWindow))
}

// Status returns the status of the workflow of a round, and whether it can't go on; unspecified when Temporal knows of
// none.
func (d *Dispatcher) Status(ctx context.Context, e *model.Export, round int) (enums.WorkflowExecutionStatus, bool, error) {
	return workflows.Status(ctx, d.Client, d.Namespace, e.RoundWorkflowID(round))
}

// Hurry has Temporal run the activity of a delivery now. The error is workflows.ErrNotRunning when Temporal runs no
// workflow for it any more: Temporal lost it, or was given a new database, or the gateway was down when the delivery's
// time ended. It is workflows.ErrNoActivity when the workflow has no activity for the delivery.
func (d *Dispatcher) Hurry(ctx context.Context, e *model.Export, of *model.Delivery) error {
	return workflows.RunNow(ctx, d.Client, d.Namespace, e.RoundWorkflowID(of.Round), export.DeliverName)
}
