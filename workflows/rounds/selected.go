package rounds

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/dispatch"
)

// ErrStopped means that a redelivery is not running any more, or came to an export before.
var ErrStopped = errors.New("the redelivery was paused or cancelled, or another worker goes on with it")

// RedeliverSelected begins a round of an export that a redelivery comes to, and notes that in the same transaction:
// each is begun once, whichever worker dies when. It skips one that the redelivery does not choose any more, because
// another delivers it, and one that can't be redelivered. The error is ErrStopped when nothing was done.
func (r *Redeliverer) RedeliverSelected(ctx context.Context, j *model.Redelivery, id int64) error {
	now := r.Now()
	var next *model.Export
	err := r.Store.Write(ctx, func(tx *store.Tx) error {
		next = nil
		e, chosen, err := tx.LockSelected(&j.Selection, id)
		if err != nil {
			return err
		}
		skip := !chosen || e.Origin == model.Triggered && !now.Before(e.DocumentsTill)
		if running, err := tx.AdvanceRedelivery(j.ID, id, skip, now); err != nil || !running {
			return cmp.Or(err, ErrStopped)
		}
		if skip {
			return nil
		}
		if next, err = dispatch.BeginRound(tx, e, []string{j.Integration}, nil, true, now); err != nil {
			return err
		}
		return tx.MarkRedelivery(j.ID, e.ID, j.Integration, next.Round)
	})
	switch {
	case errors.Is(err, ErrStopped):
		return ErrStopped
	case err != nil:
		return fmt.Errorf("redelivering an export of a range: %w", err)
	case next != nil:
		r.Offer(next)
	}
	return nil
}
