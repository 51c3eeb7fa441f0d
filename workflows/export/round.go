package export

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// begin begins the next round of an export, as beginRound does, and offers it to the dispatcher. also runs in the same
// transaction, and may run more than once; it may be nil.
func (r *Redeliverer) begin(ctx context.Context, e *model.Export, integrations []string,
	moved []*model.Delivery, more bool, also func(*store.Tx, *model.Export) error) (next *model.Export, err error) {
	err = r.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if next, err = beginRound(tx, e, integrations, moved, more, r.Now()); err != nil || also == nil {
			return err
		}
		return also(tx, next)
	})
	if err != nil {
		return nil, fmt.Errorf("beginning the next round: %w", err)
	}
	r.Dispatcher.Offer(next)
	return next, nil
}

// beginRound begins the next round of an export for integrations, with another 72 hours if more is set. The moved
// deliveries go on in it, with the attempts they had. The error is errMoved when one of them is not what it was, and
// store.ErrErased when nothing is left to deliver.
func beginRound(tx *store.Tx, e *model.Export, integrations []string, moved []*model.Delivery, more bool,
	now time.Time) (next *model.Export, err error) {
	if more {
		next, err = nextRound(tx, e, integrations, now, moved...)
	} else {
		next, err = tx.BeginRound(e.ID, integrations, now, e.DeliverTill, moved...)
	}
	if errors.Is(err, store.ErrStale) {
		return nil, errMoved
	}
	return next, err
}

// errMoved means that a delivery is not what it was a moment ago: another request or node began its next round, or
// ended it.
var errMoved = errors.New("the delivery was moved or written meanwhile")

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
