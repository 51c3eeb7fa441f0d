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

const (
	sweepEvery = time.Second
	sweepAge   = 3 * time.Second // the node that accepted a younger export is starting it
	sweepPage  = 500
	minBackoff = 500 * time.Millisecond
	maxBackoff = 10 * time.Second
)

// sweeper finds accepted exports whose workflow was not started: Temporal was away, or their node stopped too early.
type sweeper struct {
	dispatcher *Dispatcher

	// Of the tenants that are not in the configuration:
	found  map[string]int  // how many exports of each the sweep met since it logged
	logged map[string]bool // the tenants that were logged
}

func newSweeper(d *Dispatcher) *sweeper {
	return &sweeper{dispatcher: d, found: map[string]int{}, logged: map[string]bool{}}
}

func (s *sweeper) run(ctx context.Context) {
	backoff := time.Duration(0)
	for wait.For(ctx, max(sweepEvery, backoff)) {
		err := s.sweep(ctx)
		s.logUnknown()
		if err == nil {
			backoff = 0
			continue
		}
		backoff = min(max(2*backoff, minBackoff), maxBackoff)
		if !errors.Is(err, context.Canceled) {
			s.dispatcher.Log.Warn("exports wait for their workflow", zap.Error(err),
				zap.Duration("next_try_in", max(sweepEvery, backoff)))
		}
	}
}

// sweep dispatches the exports that wait, until none does.
func (s *sweeper) sweep(ctx context.Context) error {
	for {
		waiting, err := s.dispatcher.Store.ListUndispatched(ctx, s.dispatcher.Now().Add(-sweepAge), sweepPage)
		if err != nil {
			return err
		}
		if waiting = slices.DeleteFunc(waiting, s.isUnderway); len(waiting) == 0 {
			return nil
		}
		if waiting, err = s.postponeUnknown(ctx, waiting); err != nil {
			return err
		}
		if len(waiting) == 0 {
			continue
		}
		if err := s.dispatchAll(ctx, waiting); err != nil {
			return err
		}
	}
}

func (s *sweeper) isUnderway(e *hiring.Export) bool {
	_, yes := s.dispatcher.underway.Load(e.ID)
	return yes
}

// dispatchAll dispatches a page of exports: the first alone, to learn whether Temporal answers, the others side by
// side.
func (s *sweeper) dispatchAll(ctx context.Context, page []*hiring.Export) error {
	if err := s.dispatcher.dispatch(ctx, page[0]); err != nil {
		return err
	}
	group, failed := errgroup.WithContext(ctx)
	group.SetLimit(starters)
	for _, e := range page[1:] {
		group.Go(func() error {
			if failed.Err() != nil { // leave the rest to the next sweep
				return nil
			}
			return s.dispatcher.dispatch(ctx, e)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// postponeUnknown postpones the exports of tenants that are not in this gateway's configuration by a minute. It returns
// the others.
func (s *sweeper) postponeUnknown(ctx context.Context, page []*hiring.Export) ([]*hiring.Export, error) {
	c := s.dispatcher.InForce.Current()
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
	until := s.dispatcher.Now().Add(time.Minute)
	err := s.dispatcher.write(ctx, func(tx *store.Tx) error {
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
	for _, e := range unknown {
		s.found[e.Tenant]++
	}
	return page, nil
}

// logUnknown logs for each tenant that is not in the configuration how many of its exports wait: once, until the tenant
// was there again.
func (s *sweeper) logUnknown() {
	c := s.dispatcher.InForce.Current()
	if c == nil {
		return
	}
	maps.DeleteFunc(s.logged, func(name string, _ bool) bool { _, back := c.Tenant(name); return back })
	for name, n := range s.found {
		if !s.logged[name] {
			s.dispatcher.Log.Warn("exports wait: their tenant is not in this gateway's configuration; add it, and they are delivered",
				zap.String("tenant", name), zap.Int("exports", n))
		}
		s.logged[name] = true
	}
	clear(s.found)
}
