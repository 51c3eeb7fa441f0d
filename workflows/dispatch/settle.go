package dispatch

import (
	"context"
	"math"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
)

// settleEvery is the time between two looks at the unsettled exports.
const settleEvery = 5 * time.Second

// settler notes which exports have nothing undelivered any more, so that the others are quick to list, and counts what
// waits for each integration. One node does so, apart from the deliveries, hundreds at a time, which costs them much less
// than a write each; until then a list looks at more exports than it finds.
type settler struct {
	dispatcher *Dispatcher
	lease      *store.Lease
	stored     map[model.Place]store.Waiting // what waited, as this node stored it last; nil: it did not
}

func (d *Dispatcher) settle() loop.Loop {
	s := &settler{dispatcher: d, lease: d.Store.Lease("settle")}
	return loop.Loop{Name: "settle", Every: settleEvery, Round: s.settle,
		Failed: "the exports that are delivered could not be noted; they are in a moment",
		Level:  func(error) zapcore.Level { return zap.DebugLevel }}
}

// settle looks at all unsettled exports once. While many are, it takes a tenth of the time: after each page it pauses for
// nine times as long as that took.
func (s *settler) settle(ctx context.Context) error {
	d := s.dispatcher
	waiting := map[model.Place]store.Waiting{}
	for after := int64(0); ; {
		began := time.Now()
		loop.Alive(ctx)
		if held, err := s.lease.Hold(ctx, d.Now()); err != nil || !held {
			s.stored = nil // another node stores it
			return err
		}
		found, err := d.Store.LookUnsettled(ctx, after)
		if err != nil {
			return err
		}
		if len(found.Settled) > 0 {
			if err := d.write(ctx, func(tx *store.Tx) error { return tx.SettleExports(found.Settled) }); err != nil {
				return err
			}
		}
		if err := s.complete(ctx, found.Incomplete); err != nil {
			return err
		}
		until := found.Next
		if until == 0 {
			until = math.MaxInt64
		}
		page, err := d.Store.CountUndeliveredOf(ctx, after, until, d.Now())
		if err != nil {
			return err
		}
		for at, w := range page {
			waiting[at] = waiting[at].Add(w)
		}
		if found.Next == 0 {
			break
		}
		if !wait.For(ctx, 9*time.Since(began)) {
			return ctx.Err()
		}
		after = found.Next
	}
	err := d.write(ctx, func(tx *store.Tx) error { return tx.UpdateWaiting(s.stored, waiting) })
	if err == nil {
		s.stored = waiting
	}
	return err
}

// complete inserts deliveries that exports lack: gateways of an earlier version, which run beside this one while it is
// rolled out, insert each with its first attempt.
func (s *settler) complete(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	d := s.dispatcher
	c := d.InForce.Current()
	if c == nil {
		return nil
	}
	exports, err := d.Store.ExportsByID(ctx, ids)
	if err != nil {
		return err
	}
	return d.write(ctx, func(tx *store.Tx) error {
		return forEach(exports, func(e *model.Export) error {
			tenant, ok := c.Tenant(e.Tenant)
			switch {
			case len(e.Integrations) > 0 || !e.DispatchedAt.IsZero():
				return tx.CompleteRound(e)
			case ok:
				return tx.Address(e, tenant.IntegrationNames())
			}
			return nil
		})
	})
}
