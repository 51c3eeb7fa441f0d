package retention

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
)

const (
	// together is how many exports a transaction ends. Whoever writes meanwhile waits for as long as it takes.
	together = 25
	// enough is how many exports can't be ended before it is the database that fails, not they.
	enough = 10
)

// removal removes something of exports whose time is over, and is named after it.
type removal struct {
	what  string                             // content or rows
	kept  func(*config.Config) time.Duration // 0: for ever
	list  func(ctx context.Context, after int64, before, now time.Time) (store.Due, error)
	end   func(tx *store.Tx, ids []int64, before, now time.Time) (ended []int64, err error)
	ended func(exports int)
}

// walk ends the exports whose time is over, the oldest first, and returns how many. One node at a time does so; another
// one begins with what is left. After each transaction it pauses for twice as long as that took, so that traffic has
// the database for two thirds of the time. It skips an export that can't be ended; the error is that of the first.
func (r *Retention) walk(ctx context.Context, w *removal) (ended int, first error) {
	lease, failed := r.Store.Lease("retention"), 0
	for after := int64(0); ; {
		c, now := r.InForce.Current(), r.Now()
		if c == nil || w.kept(c) == 0 {
			break
		}
		before := now.Add(-w.kept(c))
		due, err := w.list(ctx, after, before, now)
		if err != nil {
			return ended, fmt.Errorf("looking for what is due: %w", err)
		}
		if len(due.IDs) > 0 && first == nil {
			metrics.RetentionDue(w.what, len(due.IDs)+due.Left, before.Sub(due.Oldest))
		}
		rest := slices.Collect(slices.Chunk(due.IDs, together))
		for len(rest) > 0 {
			ids := rest[0]
			rest = rest[1:]
			began := time.Now()
			if held, err := lease.Hold(ctx, r.Now()); err != nil || !held {
				metrics.RetentionDue(w.what, 0, 0) // the node that holds it shows them
				return ended, cmp.Or(first, err)
			}
			var done []int64
			err := r.Store.Write(ctx, func(tx *store.Tx) (err error) {
				done, err = w.end(tx, ids, before, now)
				return err
			})
			switch {
			case err == nil:
				ended += len(done)
				w.ended(len(done))
			case len(ids) > 1: // each by itself
				rest = append(slices.Collect(slices.Chunk(ids, 1)), rest...)
			default:
				first = cmp.Or(first, fmt.Errorf("export %d: %w", ids[0], err))
				if failed++; failed == enough {
					return ended, first
				}
			}
			if !wait.For(ctx, 2*time.Since(began)) {
				return ended, cmp.Or(first, ctx.Err())
			}
		}
		if after = due.Next; after == 0 {
			break
		}
	}
	if first == nil {
		metrics.RetentionDue(w.what, 0, 0)
	}
	return ended, first
}
