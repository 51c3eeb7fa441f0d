package dispatch

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	// rescueAge is how long an export waits for Temporal before its documents are fetched without it.
	rescueAge = time.Minute
	// Twenty waiting exports a second have their turn: 180,000 within the life of a document's URL, and few enough not
	// to slow down what else comes in.
	rescuePage  = 20
	rescuePause = time.Second
	rescueEvery = 10 * time.Second // after all had their turn
	// rescueAtOnce is more than the archive fetches at once: it gives each tenant a share, and the exports that it
	// turns away have their turn next time.
	rescueAtOnce = 128
)

// rescue fetches documents without Temporal: an outage of Temporal must not cost documents. It goes through all exports
// that wait for their workflow, the oldest first, and then starts over, for what could not be fetched before.
func (d *Dispatcher) rescue() loop.Loop {
	var underway errgroup.Group
	underway.SetLimit(rescueAtOnce)
	var after int64
	return loop.Loop{Name: "rescue", Every: rescueEvery, First: rescuePause,
		Away:   func() bool { return d.InForce.Current() == nil },
		Failed: "documents that could be fetched without Temporal could not be listed; they are in a moment",
		Round: func(ctx context.Context) error {
			waiting, next, err := d.Store.ListUndispatchedUnfetched(ctx, after, d.Now().Add(-rescueAge), d.Now(), rescuePage)
			if err != nil {
				return err
			}
			for _, e := range waiting {
				loop.Alive(ctx)
				underway.Go(func() error { d.fetch(ctx, e); return nil })
			}
			after = next
			return nil
		},
		Pace: func(_ time.Duration, err error) time.Duration {
			if after == 0 && err == nil {
				return rescueEvery
			}
			return rescuePause
		},
		End: func() { _ = underway.Wait() }}
}

func (d *Dispatcher) fetch(ctx context.Context, e *model.Export) {
	_, err := d.Archive.Fetch(ctx, e)
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrUnreadable) { // its deliveries will say so
		d.Log.Warn("fetching documents without Temporal failed", zap.Int64("export", e.ID), zap.Error(err))
	}
}
