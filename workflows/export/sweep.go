package export

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
)

// sweep finds accepted exports whose workflow was not started: Temporal was away, or their node ended too early.
func (d *Dispatcher) sweep(ctx context.Context) {
	backoff := time.Duration(0)
	for wait.For(ctx, max(sweepEvery, backoff)) {
		err := d.pass(ctx)
		d.tellAbsent()
		if err == nil {
			backoff = 0
			continue
		}
		backoff = min(max(2*backoff, minBackoff), maxBackoff)
		if !errors.Is(err, context.Canceled) {
			d.Log.Warn("exports wait for their workflow", zap.Error(err), zap.Duration("next_try_in", max(sweepEvery, backoff)))
		}
	}
}

// pass starts what waits, until nothing does.
func (d *Dispatcher) pass(ctx context.Context) error {
	for {
		waiting, err := d.Store.Undispatched(ctx, d.Now().Add(-sweepAge), sweepPage)
		if err != nil {
			return err
		}
		if waiting = slices.DeleteFunc(waiting, d.isUnderway); len(waiting) == 0 {
			return nil
		}
		if waiting, err = d.setAside(ctx, waiting); err != nil {
			return err
		}
		if len(waiting) == 0 {
			continue
		}
		if err := d.startAll(ctx, waiting); err != nil {
			return err
		}
	}
}

func (d *Dispatcher) isUnderway(e *hiring.Export) bool {
	_, yes := d.underway.Load(e.ID)
	return yes
}

// startAll starts a page of exports: the first alone, to learn whether Temporal is there, the others side by side.
func (d *Dispatcher) startAll(ctx context.Context, page []*hiring.Export) error {
	if err := d.start(ctx, page[0]); err != nil {
		return err
	}
	group, failed := errgroup.WithContext(ctx)
	group.SetLimit(starters)
	for _, e := range page[1:] {
		group.Go(func() error {
			if failed.Err() != nil { // leave the rest to the next sweep
				return nil
			}
			return d.start(ctx, e)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// absent are the tenants of exports that wait for one to come back.
type absent struct {
	found map[string]int  // how many exports of each the sweep met since it told
	told  map[string]bool // those that were told of
}

// setAside lets the exports wait for another minute whose tenant is not in this gateway's configuration, and gives the others.
func (d *Dispatcher) setAside(ctx context.Context, page []*hiring.Export) ([]*hiring.Export, error) {
	c := d.InForce.Current()
	if c == nil {
		return nil, context.Canceled
	}
	var unknown []*hiring.Export
	page = slices.DeleteFunc(page, func(e *hiring.Export) bool {
		_, ok := c.Tenant(e.Tenant)
		if !ok {
			unknown = append(unknown, e)
		}
		return !ok
	})
	if len(unknown) == 0 {
		return page, nil
	}
	until := d.Now().Add(time.Minute)
	err := d.write(ctx, func(tx *store.Tx) error {
		for _, e := range unknown {
			if err := tx.PostponeDispatch(e.ID, until); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if d.absent.found == nil {
		d.absent = absent{found: map[string]int{}, told: map[string]bool{}}
	}
	for _, e := range unknown {
		d.absent.found[e.Tenant]++
	}
	return page, nil
}

// tellAbsent logs once of each tenant that is not there how many of its exports wait, until it was there again.
func (d *Dispatcher) tellAbsent() {
	c := d.InForce.Current()
	if c == nil {
		return
	}
	maps.DeleteFunc(d.absent.told, func(name string, _ bool) bool { _, back := c.Tenant(name); return back })
	for name, n := range d.absent.found {
		if !d.absent.told[name] {
			d.Log.Warn("exports wait: their tenant is not in this gateway's configuration; add it, and they go on their way", zap.String("tenant", name), zap.Int("exports", n))
		}
		d.absent.told[name] = true
	}
	clear(d.absent.found)
}
