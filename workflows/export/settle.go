package export

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
)

// settleEvery is the time between two looks at the unsettled exports.
const settleEvery = 5 * time.Second

// settle notes which exports have nothing undelivered any more, so that the others are quick to list. It does so apart
// from the deliveries, hundreds at a time, which costs them much less than a write each; until then a list looks at
// more exports than it finds.
func (d *Dispatcher) settle(ctx context.Context) {
	for wait.For(ctx, settleEvery) {
		if err := d.Settle(ctx); err != nil && ctx.Err() == nil {
			d.Log.Debug("the exports that are delivered could not be noted; they are in a moment", zap.Error(err))
		}
	}
}

// Settle looks at all unsettled exports once. While many are, it takes a tenth of the time: after each page it pauses
// for nine times as long as that took.
func (d *Dispatcher) Settle(ctx context.Context) error {
	for after := int64(0); ; {
		began := time.Now()
		settled, next, err := d.Store.ListSettled(ctx, after)
		if err != nil {
			return err
		}
		if len(settled) > 0 {
			if err := d.write(ctx, func(tx *store.Tx) error { return tx.SettleExports(settled) }); err != nil {
				return err
			}
		}
		if next == 0 || !wait.For(ctx, 9*time.Since(began)) {
			return ctx.Err()
		}
		after = next
	}
}
