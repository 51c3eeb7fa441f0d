package rounds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/workflows"
)

const (
	catchUpEvery   = time.Second
	recoveredEvery = 5 * time.Second
	// recoveredGap is the least time between two catch-ups of an integration that nobody asked for: one that takes some
	// exports and fails with others recovers all the time.
	recoveredGap = 5 * time.Minute
	// catchUpClaim is after which time another node goes on with a catch-up whose node died.
	catchUpClaim   = 30 * time.Second
	catchUpsAtOnce = 16
	// pageLook is how often a page is looked at that was made due.
	pageLook = 250 * time.Millisecond
	// pageStalls is for how long nothing of a page is attempted before the catch-up goes on without it.
	pageStalls = time.Minute
	// firstWake is when what still waits of a page is woken again, and then after twice the time: it may have begun to
	// wait just when it was made due.
	firstWake   = 2 * time.Second
	wakesAtOnce = 8
)

// Retry begins a catch-up of an integration that somebody asked for. note runs in the same transaction, and may run
// more than once. The error is a *RefusedError when the integration takes no exports now.
func (r *Releaser) Retry(ctx context.Context, i *model.Integration, note func(*store.Tx) error) error {
	status, err := r.Store.IntegrationStatus(ctx, i)
	switch {
	case err != nil:
		return err
	case !status.Deliverable(i):
		return &RefusedError{delivery.ClosedReason(i, status)}
	}
	return r.ask(ctx, []*model.Integration{i}, 0, func(tx *store.Tx, _ *model.Integration) error { return note(tx) })
}

// askedAtOnce is how many catch-ups begin in one transaction: acknowledgements wait for its end.
const askedAtOnce = 200

// RetryAll is Retry for integrations that take exports, in the order of tenants and names. Exports that came from a time on are
// left alone.
func (r *Releaser) RetryAll(ctx context.Context, all []*model.Integration, until time.Time,
	note func(*store.Tx, *model.Integration) error) error {
	for some := range slices.Chunk(all, askedAtOnce) {
		if err := r.ask(ctx, some, model.FirstID(until), note); err != nil {
			return err
		}
	}
	return nil
}

func (r *Releaser) ask(ctx context.Context, all []*model.Integration, before int64,
	note func(*store.Tx, *model.Integration) error) error {
	now := r.Now()
	return r.Store.Write(ctx, func(tx *store.Tx) error {
		for _, i := range all {
			c := &model.CatchUp{Place: model.Place{Tenant: i.Tenant, Integration: i.Name}, BeganAt: now, Asked: true, Before: before}
			if err := tx.AskCatchUp(c); err != nil {
				return err
			}
			if err := note(tx, i); err != nil {
				return err
			}
		}
		return nil
	})
}

// Loop works on catch-ups: those that somebody asked for, those of a node that died, and those of integrations that
// take exports again after they failed.
func (r *Releaser) Loop() loop.Loop {
	var looked time.Time
	var running errgroup.Group
	running.SetLimit(catchUpsAtOnce)
	return loop.Loop{Name: "catch_up", Every: catchUpEvery, Away: r.Away, Round: func(ctx context.Context) (err error) {
		if time.Since(looked) >= recoveredEvery {
			looked = time.Now()
			err = r.BeginRecovered(ctx)
		}
		return errors.Join(err, r.CatchUp(ctx, &running))
	}, End: func() { _ = running.Wait() }, Failed: "what waits for its next attempt could not be made due; it is in a moment"}
}

// BeginRecovered begins a catch-up of each integration that takes exports again after it failed, unless one began
// shortly before.
func (r *Releaser) BeginRecovered(ctx context.Context) error {
	now := r.Now()
	before := now.Add(-recoveredGap)
	places, err := r.Store.ListRecovered(ctx, before)
	if err != nil || len(places) == 0 {
		return err
	}
	return r.Store.Write(ctx, func(tx *store.Tx) error {
		for _, at := range places { // in order, as on other nodes
			if _, err := tx.BeginCatchUp(&model.CatchUp{Place: at, BeganAt: now}, before, now); err != nil {
				return err
			}
		}
		return nil
	})
}

// CatchUp claims the catch-ups that no node works on, and has running work on them, as many as it takes.
func (r *Releaser) CatchUp(ctx context.Context, running *errgroup.Group) error {
	all, err := r.Store.ListUnclaimedCatchUps(ctx, r.Now())
	if err != nil {
		return err
	}
	for _, c := range all {
		begun := running.TryGo(func() error {
			switch err := r.catchUp(ctx, c); {
			case errors.Is(err, ErrStopped), ctx.Err() != nil:
			case err != nil:
				r.Log.Warn("a catch-up was interrupted; it goes on in a moment", zap.String("tenant", c.Tenant),
					zap.String("integration", c.Integration), zap.Error(err))
			}
			return nil
		})
		if !begun {
			return nil
		}
	}
	return nil
}

// catchUp works on a catch-up to its end. The error is ErrStopped when another node does, or another one began.
func (r *Releaser) catchUp(ctx context.Context, c *model.CatchUp) error {
	now := r.Now()
	err := r.advance(ctx, func(tx *store.Tx) (bool, error) { return tx.ClaimCatchUp(c, now, now.Add(catchUpClaim)) })
	if err != nil {
		return err
	}
	for c.EndedAt.IsZero() {
		if err := r.nextPage(ctx, c); err != nil {
			return err
		}
	}
	if c.Received+c.Failed > 0 || c.Asked {
		r.Log.Info("what waited for an integration was attempted", zap.String("tenant", c.Tenant),
			zap.String("integration", c.Integration), zap.Bool("asked", c.Asked), zap.Int64("received", c.Received),
			zap.Int64("failed", c.Failed), zap.String("ended_early", c.Reason))
	}
	return nil
}

// advance writes how far a catch-up is. The error is ErrStopped when write reports that it is not running any more.
func (r *Releaser) advance(ctx context.Context, write func(*store.Tx) (bool, error)) error {
	return r.Store.Write(ctx, func(tx *store.Tx) error {
		if running, err := write(tx); err != nil || !running {
			return cmp.Or(err, ErrStopped)
		}
		return nil
	})
}

// nextPage makes the next deliveries of a catch-up due, and waits until they were attempted: an integration gets no
// more at a time than it takes. It ends the catch-up where there is nothing left, or the integration takes nothing. Of
// those that somebody asked for it goes on after one that the integration refuses for its data.
func (r *Releaser) nextPage(ctx context.Context, c *model.CatchUp) error {
	i, reason, err := r.takes(ctx, c)
	if err != nil {
		return err
	}
	var page []*model.Delivery
	err = r.advance(ctx, func(tx *store.Tx) (running bool, err error) {
		now := r.Now()
		page, c.Reason, c.EndedAt = nil, reason, time.Time{}
		if reason == "" {
			if page, err = tx.MakeDue(c, pageOf(c, i), now); err != nil {
				return false, err
			}
		}
		if len(page) == 0 {
			c.EndedAt = now
		}
		return tx.UpdateCatchUp(c, now.Add(catchUpClaim))
	})
	if err != nil || len(page) == 0 {
		return err
	}
	done, err := r.awaitPage(ctx, c, page)
	if err != nil {
		return err
	}
	c.After = page[len(page)-1].ExportID
	c.Received, c.Failed = c.Received+done.received, c.Failed+done.failed
	if done.received == 0 {
		if c.Reason, err = r.failsAgain(ctx, c, done.broken); err != nil {
			return err
		}
		if c.Reason != "" {
			c.EndedAt = r.Now()
		}
	}
	return r.keep(ctx, c)
}

// pageOf returns how many deliveries a catch-up makes due at a time: one, until the first of those that somebody asked for
// is received.
func pageOf(c *model.CatchUp, i *model.Integration) int {
	if c.Asked && c.Received == 0 {
		return 1
	}
	return model.CatchUpPage(i)
}

// failsAgain returns why a catch-up ends after a page of which nothing was received; empty: it goes on. broken is a
// delivery that did not fail for its data, or nil.
func (r *Releaser) failsAgain(ctx context.Context, c *model.CatchUp, broken *model.Delivery) (string, error) {
	switch {
	case !c.Asked:
		health, err := r.Store.Health(ctx, c.Place)
		if err != nil || !health.Failing() {
			return "", err
		}
		return "it fails again: " + health.Reason, nil
	case broken == nil:
		return "", nil
	}
	statuses, err := r.Store.LastStatuses(ctx, []int64{broken.ID})
	if err != nil {
		return "", err
	}
	reason, status, oldest := "", statuses[broken.ID], c.Received+c.Failed == 1
	switch {
	case status > 0 && oldest:
		reason = fmt.Sprintf("the oldest was answered %d", status)
	case status > 0:
		reason = fmt.Sprintf("one was answered %d", status)
	case oldest:
		reason = "the oldest was not received: " + broken.Reason
	default:
		reason = "one was not received: " + broken.Reason
	}
	switch left, more, err := r.Store.CountWaiting(ctx, c.Place, c.BeganAt); {
	case err != nil:
		return "", err
	case more:
		return fmt.Sprintf("%s; the other %d+ keep their next attempts", reason, left), nil
	case left > 1:
		return fmt.Sprintf("%s; the other %d keep their next attempts", reason, left), nil
	case left == 1:
		return reason + "; the other one keeps its next attempt", nil
	}
	return reason, nil
}

// keep writes how far a catch-up came, and that it is still worked on.
func (r *Releaser) keep(ctx context.Context, c *model.CatchUp) error {
	return r.advance(ctx, func(tx *store.Tx) (bool, error) { return tx.UpdateCatchUp(c, r.Now().Add(catchUpClaim)) })
}

// takes returns the integration of a catch-up, and why it takes no exports; empty: it does.
func (r *Releaser) takes(ctx context.Context, c *model.CatchUp) (*model.Integration, string, error) {
	current := r.InForce.Current()
	if current == nil {
		return nil, "", ErrStopped
	}
	i, ok := current.Integration(c.Tenant, c.Integration)
	if !ok {
		return nil, delivery.UnknownReason(c.Integration), nil
	}
	status, err := r.Store.IntegrationStatus(ctx, i)
	if err != nil || status.Deliverable(i) {
		return i, "", err
	}
	return i, delivery.ClosedReason(i, status), nil
}

// caughtUp has the outcomes of deliveries that were made due.
type caughtUp struct {
	waiting          []*model.Delivery // not attempted yet
	received, failed int64
	broken           *model.Delivery // one that did not fail for its data; nil: there is none
}

func (r *Releaser) caughtUp(ctx context.Context, c *model.CatchUp, page []*model.Delivery) (p caughtUp, err error) {
	now, err := r.Store.DeliveriesByID(ctx, page)
	for _, d := range now {
		switch {
		case d.Outcome == model.Delivered:
			p.received++
		case d.Outcome == model.Retrying && !d.UpdatedAt.After(c.BeganAt):
			p.waiting = append(p.waiting, d)
		case d.Outcome != model.Held:
			p.failed++
			if d.Fault != model.ClassDataFault {
				p.broken = d
			}
		}
	}
	return p, err
}

// awaitPage waits until deliveries that were made due were attempted, and wakes those that wait in Temporal. It gives
// up those of which nothing is attempted for a while.
func (r *Releaser) awaitPage(ctx context.Context, c *model.CatchUp, page []*model.Delivery) (caughtUp, error) {
	p, now := caughtUp{waiting: page}, time.Now()
	moved, claimed, woken, pause := now, now, now, firstWake
	for {
		if !now.Before(woken) {
			if err := r.wake(ctx, p.waiting); err != nil {
				return p, err
			}
			woken, pause = now.Add(pause), 2*pause
		}
		if !wait.For(ctx, pageLook) {
			return p, ctx.Err()
		}
		before := len(p.waiting)
		var err error
		if p, err = r.caughtUp(ctx, c, page); err != nil || len(p.waiting) == 0 {
			return p, err
		}
		if now = time.Now(); len(p.waiting) < before {
			moved = now
		}
		if now.Sub(moved) > pageStalls {
			return p, nil
		}
		if now.Sub(claimed) > catchUpClaim/3 {
			if err := r.keep(ctx, c); err != nil {
				return p, err
			}
			claimed = now
		}
	}
}

// wake has Temporal run the activities of deliveries now. Those of a workflow share one. A delivery without a workflow is
// left to FindLost. The error says that Temporal does not answer.
func (r *Releaser) wake(ctx context.Context, waiting []*model.Delivery) error {
	ids := make([]int64, len(waiting))
	for n, d := range waiting {
		ids[n] = d.ExportID
	}
	exports, err := r.Store.ExportsByID(ctx, ids)
	if err != nil {
		return err
	}
	byID := map[int64]*model.Export{}
	for _, e := range exports {
		byID[e.ID] = e
	}
	woken := map[string]bool{}
	var wakes errgroup.Group
	wakes.SetLimit(wakesAtOnce)
	for _, d := range waiting {
		e, found := byID[d.ExportID]
		if !found { // it was deleted meanwhile, or its row is damaged
			continue
		}
		key := e.RoundWorkflowID(d.Round)
		if woken[key] {
			continue
		}
		woken[key] = true
		wakes.Go(func() error {
			err := r.Hurry(ctx, e, d)
			if workflows.Unanswered(err) || ctx.Err() != nil {
				return err
			}
			if err != nil {
				r.Log.Debug("a delivery that is due could not be hurried", zap.Int64("export", e.ID), zap.Error(err))
			}
			return nil
		})
	}
	return wakes.Wait()
}
