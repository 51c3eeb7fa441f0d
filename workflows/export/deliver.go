package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/failpoint"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/workflows"
)

const (
	// holdFor is how long a workflow waits at a closed gate; then it ends, and a release starts the next round.
	holdFor = time.Hour
	// holdFirst is when a delivery that begins to be held is retried once: the gate may just be opening.
	holdFirst = 10 * time.Second
	// endMargin is kept between the last attempt and the end of a delivery.
	endMargin = 30 * time.Second
	// documentsDelay is how long a delivery with its documents in the body waits when some are still being fetched.
	documentsDelay = 10 * time.Second
)

// pause says when the next step of a delivery is due, and why not before. The zero pause: there is no next step, since
// the delivery is final or parked.
type pause struct {
	class  string // a fixed word
	status int    // HTTP status of the last answer, or 0
	until  time.Time
}

func (a *Activities) pauseFor(class string, delay time.Duration) pause {
	return pause{class: class, until: a.Now().Add(delay)}
}

// deliver takes one delivery one step further: the attempt that is due, unless a gate defers it. It answers the
// delivery as it then is in the store, and when its next step is due. repeated means that this step was run before, and
// may have been committed then; patience is how long it may wait for a place at its integration. The error is that of
// the store.
func (a *Activities) deliver(ctx context.Context, part Part, repeated bool, patience time.Duration) (*model.Delivery, pause, error) {
	if delay := a.unstored.delay(place{part.Export, part.Integration, part.Round}, a.Now()); delay > 0 {
		return nil, a.pauseFor(storeUnavailable, delay), nil
	}
	e, err := a.Store.Export(ctx, part.Export)
	if err != nil {
		return nil, pause{}, err
	}
	if part.Round > e.Round {
		return nil, pause{}, fmt.Errorf("round %d: %w", part.Round, store.ErrNotFound)
	}
	d, err := a.delivery(ctx, e, part)
	if err != nil {
		return nil, pause{}, err
	}
	d.Till = part.Till
	next, err := a.step(ctx, e, d, repeated, patience)
	if errors.Is(err, store.ErrUnreadable) {
		next, err = a.unreadable(ctx, e, d, err)
	}
	return d, next, err
}

// delivery reads a delivery, or begins it. Before its first attempt it takes the document mode of the rounds before: a
// redelivery has the same bytes.
func (a *Activities) delivery(ctx context.Context, e *model.Export, part Part) (*model.Delivery, error) {
	d, err := a.Store.Delivery(ctx, part.Export, part.Integration, part.Round)
	if errors.Is(err, store.ErrNotFound) {
		d, err = model.NewDelivery(e, part.Integration, part.Round, a.Now()), nil
		switch {
		case e.Origin == model.Triggered && part.Round == 0:
			d.CreatedAt = e.ReceivedAt // it is for this integration since then, however late it is dispatched
		case part.Round == e.Round && !e.DispatchedAt.IsZero():
			d.CreatedAt = e.DispatchedAt
		}
	}
	if err != nil || part.Round == 0 || d.Documents != "" {
		return d, err
	}
	all, err := a.Store.ListDeliveries(ctx, part.Export)
	d.Documents = triedIn(all, d.Integration)
	return d, err
}

// triedIn is the document mode in which an export was attempted at an integration before; empty: it was not.
func triedIn(former []*model.Delivery, integration string) (mode model.DocumentMode) {
	for _, d := range former {
		if d.Integration == integration {
			mode = cmp.Or(d.Documents, mode)
		}
	}
	return mode
}

// step leads a delivery through the gates and makes the attempt that is due.
func (a *Activities) step(ctx context.Context, e *model.Export, d *model.Delivery, repeated bool, patience time.Duration) (pause, error) {
	if d.Outcome.Final() || d.Parked {
		return pause{}, nil
	}
	if !e.ErasedAt.IsZero() { // while its workflow was being started
		return a.fail(ctx, e, d, model.ClassOurFault, store.ErasedReason)
	}
	// Temporal waits before it runs an activity again, unless it never heard of the last attempt, because the worker
	// died or could not reach it. Whoever hurries a delivery changes it in the store; whoever resets its activity in
	// Temporal makes that run the first. An attempt that is still to come by this node's clock was made on another
	// node, and the clocks differ: that Temporal waited is all that is known.
	if now := a.Now(); repeated && d.AskedAt.IsZero() && d.Outcome == model.Retrying && d.NextAt.After(now) &&
		!now.Before(d.UpdatedAt) {
		return pause{class: string(d.Fault), until: d.NextAt}, nil
	}
	c := a.InForce.Current()
	if c == nil {
		return a.pauseFor("stopping", workflows.Jittered(5*time.Second)), nil
	}
	if e.Quarantined {
		return a.hold(ctx, e, d, quarantinedReason(e))
	}
	i, ok := c.Integration(d.Tenant, d.Integration)
	if !ok {
		return a.unknown(ctx, e, d)
	}
	status, err := a.Store.IntegrationStatus(ctx, i)
	if err != nil {
		return pause{}, err
	}
	if !status.RemovedAt.IsZero() && !d.CreatedAt.After(status.RemovedAt) {
		// This is another integration of that name, perhaps of another partner.
		return a.fail(ctx, e, d, model.ClassPartnerFault, removedReason(d.Integration))
	}
	if !status.Deliverable(i) {
		return a.hold(ctx, e, d, closedReason(i, status))
	}
	if !a.Now().Before(d.Till) {
		return a.expire(ctx, e, d, nil)
	}
	mode := cmp.Or(d.Documents, i.Documents)
	if mode == model.Inline || e.Origin == model.Triggered {
		settled, err := a.Archive.Settled(ctx, e)
		switch {
		case err != nil:
			return pause{}, err
		case !settled && e.Origin == model.Triggered: // they are here, and being scanned
			return a.wait(ctx, e, d, "documents_scanning", workflows.Jittered(gateDelay))
		case !settled:
			return a.wait(ctx, e, d, "documents_missing", workflows.Jittered(documentsDelay))
		}
	}
	size, err := a.Archive.OutgoingSize(ctx, e, mode)
	if err != nil {
		return pause{}, err
	}
	done, closed := a.enter(ctx, i, size, patience, !d.AskedAt.IsZero())
	if closed != "" {
		metrics.Deferred(d.Tenant, closed)
		now := a.Now()
		return a.wait(ctx, e, d, closed, max(gateDelay, min(a.gates.turn(i, now), d.Till.Add(-endMargin).Sub(now))))
	}
	d.Documents = mode // another in the configuration, later, is for other deliveries
	answer, err := a.send(ctx, c, e, i, mode, status.ByFormer)
	failpoint.Reach(failpoint.AttemptMade)
	switch refused := new(webhook.SendError); {
	case err != nil && !errors.As(err, &refused):
		// Not an attempt: the store could not give the body.
		done(errNotAsked)
		return pause{}, err
	case err != nil, answer.Status >= 500:
		done(errDown)
	default:
		done(nil)
	}
	return a.record(ctx, e, d, i, status, answer, err)
}

// enter takes a place at the gate of an integration, and room to send that many bytes. Then done must be called with
// how the integration was found. Otherwise closed says why not, in a fixed word.
func (a *Activities) enter(ctx context.Context, i *model.Integration, size int64, patience time.Duration,
	asked bool) (done func(found error), closed string) {
	tell, closed := a.gates.enter(ctx, i, patience, asked)
	if closed != "" {
		return nil, closed
	}
	leave, full := a.Room.enter(i.Tenant, size)
	if full != "" {
		tell(errNotAsked)
		return nil, full
	}
	if a.unstored.closed() { // while this one waited
		leave()
		tell(errNotAsked)
		return nil, storeUnavailable
	}
	return func(found error) {
		leave()
		tell(found)
	}, ""
}

// closedReason is why a delivery to an integration is held that takes none now.
func closedReason(i *model.Integration, s store.IntegrationStatus) string {
	then := "has it verified again"
	if s.ByOperator {
		then = "delivers what is held, and hiregate audit list says who disabled it and when"
	}
	return fmt.Sprintf("integration %s is %s: %s; hiregate integration enable %s/%s %s",
		i.Name, s.State, s.Reason, i.Tenant, i.Name, then)
}

// unknown ends a delivery to an integration that was removed, and holds one to an integration that is only not known
// here.
func (a *Activities) unknown(ctx context.Context, e *model.Export, d *model.Delivery) (pause, error) {
	removed, err := a.Store.IsIntegrationRemoved(ctx, d.Tenant, d.Integration)
	switch {
	case err != nil:
		return pause{}, err
	case removed:
		return a.fail(ctx, e, d, model.ClassPartnerFault, removedReason(d.Integration))
	}
	// Another node may know it already, or still.
	return a.hold(ctx, e, d, unknownReason(d.Integration))
}

// quarantinedReason is why an export in quarantine is held.
func quarantinedReason(e *model.Export) string {
	return fmt.Sprintf("the export is in quarantine, because its body breaks the schema: "+
		"release it with hiregate export release %s/%s", e.Tenant, e.Key)
}

// unknownReason is why a delivery to an integration that is not configured is held.
func unknownReason(integration string) string {
	return fmt.Sprintf("integration %s is not in this gateway's configuration", integration)
}

// removedReason is why a delivery to an integration that was removed ends.
func removedReason(integration string) string {
	return fmt.Sprintf("integration %s was removed", integration)
}

// hold defers a delivery at a closed gate, without an attempt. Held does not run out: a delivery that is held for too
// long is parked. Only a triggered export has an end that nothing moves: that of its document URLs. Whoever opens the
// gate hurries the deliveries that wait at it, and TendHeld those that were missed: thousands that looked by themselves
// again and again would leave Temporal no room.
func (a *Activities) hold(ctx context.Context, e *model.Export, d *model.Delivery, reason string) (pause, error) {
	now := a.Now()
	begins := d.HeldSince.IsZero()
	changed := d.Hold(reason, now)
	left := holdEnd(e, d, d.Till).Sub(now)
	switch {
	case left > 0:
	case e.Origin == model.Triggered:
		return a.expire(ctx, e, d, nil)
	default:
		d.Park()
	}
	if changed || d.Parked {
		if written, err := a.put(ctx, d, nil); err != nil || !written {
			return a.standing(d), err
		}
	}
	if begins {
		metrics.Delivery(d.Tenant, d.Integration, model.ClassHeld)
		left = min(left, workflows.Jittered(holdFirst))
	}
	if d.Parked {
		return pause{}, nil
	}
	return pause{class: string(model.ClassHeld), until: now.Add(left)}, nil
}

// holdEnd is until when a held delivery waits for its gate to open, in a round that ends at till.
func holdEnd(e *model.Export, d *model.Delivery, till time.Time) time.Time {
	if e.Origin == model.Triggered { // nothing moves its end
		return till
	}
	if last := till.Add(-endMargin); last.Before(d.HeldSince.Add(holdFor)) {
		return last
	}
	return d.HeldSince.Add(holdFor)
}

// wait defers a delivery at a gate that opens by itself. That leaves no trace but one: a held delivery is released, so
// that nobody releases it again before its turn.
func (a *Activities) wait(ctx context.Context, e *model.Export, d *model.Delivery, gate string,
	delay time.Duration) (pause, error) {
	next := a.pauseFor(gate, delay)
	if d.Outcome != model.Held {
		return next, nil
	}
	d.Release(next.until)
	return a.commit(ctx, e, d, nil, next)
}

// fail ends a delivery that can't go on, without an attempt.
func (a *Activities) fail(ctx context.Context, e *model.Export, d *model.Delivery, fault model.Class,
	reason string) (pause, error) {
	d.Fail(fault, reason)
	return a.commit(ctx, e, d, nil, pause{})
}

// unreadable ends a delivery of whose export what is stored can't be read. The others of its group go on.
func (a *Activities) unreadable(ctx context.Context, e *model.Export, d *model.Delivery, cause error) (pause, error) {
	next, err := a.fail(ctx, e, d, model.ClassOurFault, store.UnreadableReason)
	if err == nil {
		metrics.Unreadable(d.Tenant)
		a.Log.Error("what is stored of an export can't be read", zap.String("tenant", d.Tenant),
			zap.String("integration", d.Integration), zap.String("uuid", e.Key), zap.Int64("export", e.ID), zap.Error(cause))
	}
	return next, err
}

// expire ends a delivery whose time is over, with its last attempt, if that was just made.
func (a *Activities) expire(ctx context.Context, e *model.Export, d *model.Delivery,
	attempt *model.Attempt) (pause, error) {
	then := "redeliver it"
	if e.Origin == model.Triggered {
		then = "export the candidate again"
	}
	d.Expire(e.Origin, "its time was over before its turn came: "+
		"the gateway, Temporal or the integration was down, or had too much to do; "+then)
	return a.commit(ctx, e, d, attempt, pause{})
}
