package dispatch

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	sweepEvery = time.Second
	sweepAge   = 3 * time.Second // the node that accepted a younger export is starting it
	// releasedMost is how many exports of later rounds a tenant has in a turn. Each has a workflow of its own, and thousands
	// may be released at once: new exports of others must not wait for all of them.
	releasedMost = 8
	minBackoff   = 500 * time.Millisecond
	maxBackoff   = 10 * time.Second
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

func (s *sweeper) loop() loop.Loop {
	backoff := time.Duration(0)
	return loop.Loop{Name: "sweep", Every: sweepEvery, Round: s.sweep, Failed: "exports wait for their workflow",
		Pace: func(_ time.Duration, err error) time.Duration {
			if backoff = min(max(2*backoff, minBackoff), maxBackoff); err == nil {
				backoff = 0
			}
			return max(sweepEvery, backoff)
		}}
}

// sweep dispatches the exports that wait, until none does. Tenants take turns, with a group's worth of exports each.
func (s *sweeper) sweep(ctx context.Context) error {
	defer s.logUnknown()
	for {
		loop.Alive(ctx)
		n, err := s.turn(ctx)
		if n == 0 || err != nil {
			return cmp.Or(err, ctx.Err())
		}
	}
}

// turn dispatches what each tenant has waited for longest, and returns how many exports wait no longer.
func (s *sweeper) turn(ctx context.Context) (n int, err error) {
	before := s.dispatcher.Now().Add(-sweepAge)
	tenants, err := s.dispatcher.Store.UndispatchedTenants(ctx)
	if err != nil {
		return 0, err
	}
	// nodes begin with different ones
	rand.Shuffle(len(tenants), func(i, j int) { tenants[i], tenants[j] = tenants[j], tenants[i] })
	run := sideBySide{dispatcher: s.dispatcher, before: before, repaired: map[int64]bool{}}
	run.group.SetLimit(starters)
	var few []*model.Export // too few of their tenants for a group
	for _, tenant := range tenants {
		if err = s.dispatchTenant(ctx, tenant, &run, &few); err != nil || run.failed.Load() || ctx.Err() != nil {
			break
		}
	}
	if err == nil {
		err = run.dispatch(ctx, few)
	} else {
		s.dispatcher.release(few...)
	}
	err = cmp.Or(err, run.group.Wait())
	return int(run.n.Load()), err
}

// dispatchTenant dispatches the oldest exports of a tenant. It adds those that are too few for a group to few, and
// dispatches few when it is full.
func (s *sweeper) dispatchTenant(ctx context.Context, tenant string, run *sideBySide, few *[]*model.Export) error {
	d := s.dispatcher
	waiting, err := d.Store.ListUndispatched(ctx, tenant, run.before, groupMost)
	if err != nil {
		return err
	}
	if waiting, err = s.postponeUnknown(ctx, waiting); err != nil {
		return err
	}
	var alone []*model.Export
	released := 0
	for _, e := range waiting {
		if e.Round > 0 {
			released++
		}
		switch {
		case e.Round > 0 && released > releasedMost, e.InGroup(e.Round) && run.repaired[e.Group], !d.claim(e):
		case e.InGroup(e.Round), e.Alone, e.Round > 0: // its start was interrupted, or it is never in a group
			run.repaired[e.Group] = true
			err = run.dispatch(ctx, []*model.Export{e})
		default:
			alone = append(alone, e)
		}
		if err != nil {
			d.release(alone...)
			return err
		}
	}
	if len(alone) >= ownGroupFrom {
		return run.dispatch(ctx, alone)
	}
	if *few = append(*few, alone...); len(*few) < groupMost {
		return nil
	}
	full := *few
	*few = nil
	return run.dispatch(ctx, full)
}

// sideBySide dispatches several groups or exports at a time. Until one was started each goes alone, to learn whether
// Temporal answers; after a failure the rest is left to the next sweep.
type sideBySide struct {
	dispatcher *Dispatcher
	before     time.Time // what a node claimed later is left to it
	group      errgroup.Group
	n          atomic.Int64   // exports that wait no longer
	repaired   map[int64]bool // groups
	failed     atomic.Bool
}

// dispatch starts the workflows of exports that are claimed, and releases them.
func (r *sideBySide) dispatch(ctx context.Context, claimed []*model.Export) error {
	call := func() error {
		defer r.dispatcher.release(claimed...)
		if r.failed.Load() {
			return nil
		}
		n, err := r.dispatcher.start(ctx, claimed, r.before)
		if r.n.Add(int64(n)); err != nil {
			r.failed.Store(true)
		}
		return err
	}
	if r.n.Load() == 0 {
		return call()
	}
	r.group.Go(call)
	return nil
}

// postponeUnknown postpones the exports of tenants that are not in this gateway's configuration by a minute, and takes
// them out of their groups. It returns the others.
func (s *sweeper) postponeUnknown(ctx context.Context, page []*model.Export) ([]*model.Export, error) {
	c := s.dispatcher.InForce.Current()
	if c == nil {
		return nil, context.Canceled
	}
	var unknown []*model.Export
	page = slices.DeleteFunc(page, func(e *model.Export) bool {
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
			if err := tx.PostponeDispatch(e, until); err != nil {
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
			s.dispatcher.Log.Warn("exports wait: their tenant is not in this gateway's configuration; add it, "+
				"and they are delivered",
				zap.String("tenant", name), zap.Int("exports", n))
		}
		s.logged[name] = true
	}
	clear(s.found)
}
