package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
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
	// holdFirst is when a delivery that begins to be held is retried once: its gate may have opened while the run was
	// ending that found it closed, which whoever opened it could not hurry. It is longer than agendaLingers.
	holdFirst = 3 * time.Second
	// endMargin is kept between the last attempt and the end of a delivery.
	endMargin = 30 * time.Second
	// documentsDelay is how long a delivery with its documents in the body waits when some are still being fetched.
	documentsDelay = 10 * time.Second
)

// member is a delivery with its export, as the store has them.
type member struct {
	export   *model.Export
	delivery *model.Delivery
}

// nextState is the state of a delivery after a step: when its next step is due and why not before, and what is to be
// stored.
type nextState struct {
	due    time.Time // zero: there is no next step, since the delivery is final or parked
	class  string    // a fixed word
	status int       // HTTP status of the last answer, or 0

	changed bool                  // the delivery is to be stored
	attempt *model.Attempt        // stored with it; nil: none was made
	also    func(*store.Tx) error // runs in the same transaction, perhaps more than once; may be nil
	stored  func()                // runs once all of it is stored; may be nil
}

// waitFor returns the state of a delivery that stays as it is, and looks again after a delay.
func (a *Activities) waitFor(class string, delay time.Duration) nextState {
	return nextState{class: class, due: a.Now().Add(delay)}
}

// deliver takes one delivery one step further: it makes the attempt that is due, unless a gate defers it, and stores
// what came of it. patience is how long it may wait for a place at its integration. The error is that of the store.
func (a *Activities) deliver(ctx context.Context, m member, patience time.Duration) (nextState, error) {
	next, err := a.step(ctx, m.export, m.delivery, patience)
	if errors.Is(err, store.ErrUnreadable) {
		next, err = a.unreadable(m.export, m.delivery, err), nil
	}
	if err != nil || !next.changed {
		return next, err
	}
	return a.commit(ctx, m.export, m.delivery, next)
}

// unstoredState returns when a delivery looks again that must not be attempted now, since outcomes of attempts wait to
// be stored; the zero state: it may be. Ask before the delivery is read: one that is stored in between is then read.
func (a *Activities) unstoredState() nextState {
	if delay := a.unstored.delay(a.Now()); delay > 0 {
		return a.waitFor(storeUnavailable, delay)
	}
	return nextState{}
}

// planned returns the state of a delivery whose next attempt is still to come; the zero state: it is due, or somebody
// asked for it. It is due as well when it was written later than it is now by this node's clock: another node wrote it,
// and the clocks differ, so that all that is known is that Temporal waited.
func (a *Activities) planned(d *model.Delivery) nextState {
	now := a.Now()
	if due := d.Due(); d.Outcome == model.Retrying && due.After(now) && !now.Before(d.UpdatedAt) {
		return nextState{class: string(d.Fault), due: due}
	}
	return nextState{}
}

// triedIn returns the document mode in which an export was attempted at an integration before; empty: it was not.
func triedIn(former []*model.Delivery, integration string) (mode model.DocumentMode) {
	for _, d := range former {
		if d.Integration == integration {
			mode = cmp.Or(d.Documents, mode)
		}
	}
	return mode
}

// step leads a delivery through the gates and makes the attempt that is due. It stores nothing.
func (a *Activities) step(ctx context.Context, e *model.Export, d *model.Delivery,
	patience time.Duration) (nextState, error) {
	if d.Outcome.Final() || d.Parked {
		return nextState{}, nil
	}
	if !e.ErasedAt.IsZero() { // while its workflow was being started
		return fail(d, model.ClassOurFault, store.ErasedReason), nil
	}
	if d.Tenant != e.Tenant {
		return nextState{}, fmt.Errorf("a delivery is of another tenant than its export: %w", store.ErrUnreadable)
	}
	c := a.InForce.Current()
	if c == nil {
		return a.waitFor("stopping", workflows.Jittered(5*time.Second)), nil
	}
	if e.Quarantined {
		return a.hold(e, d, quarantinedReason(e)), nil
	}
	i, ok := c.Integration(d.Tenant, d.Integration)
	if !ok {
		removed, err := a.Store.IsIntegrationRemoved(ctx, d.Tenant, d.Integration)
		switch {
		case err != nil:
			return nextState{}, err
		case removed:
			return fail(d, model.ClassPartnerFault, removedReason(d.Integration)), nil
		}
		return a.hold(e, d, unknownReason(d.Integration)), nil // another node may know it already, or still
	}
	status, err := a.Store.IntegrationStatus(ctx, i)
	if err != nil {
		return nextState{}, err
	}
	if !status.RemovedAt.IsZero() && !d.CreatedAt.After(status.RemovedAt) {
		// This is another integration of that name, perhaps of another partner.
		return fail(d, model.ClassPartnerFault, removedReason(d.Integration)), nil
	}
	if !status.Deliverable(i) {
		return a.hold(e, d, closedReason(i, status)), nil
	}
	if !a.Now().Before(d.Till) {
		return expire(e, d), nil
	}
	mode := cmp.Or(d.Documents, i.Documents)
	if mode == model.Inline || e.Origin == model.Triggered {
		settled, err := a.Archive.Settled(ctx, e)
		switch {
		case err != nil:
			return nextState{}, err
		case !settled && e.Origin == model.Triggered: // they are here, and being scanned
			return a.wait(d, "documents_scanning", workflows.Jittered(gateDelay)), nil
		case !settled:
			return a.wait(d, "documents_missing", workflows.Jittered(documentsDelay)), nil
		}
	}
	size, err := a.Archive.OutgoingSize(ctx, e, mode)
	if err != nil {
		return nextState{}, err
	}
	done, closed := a.enter(ctx, i, e.ID, size, patience, !d.AskedAt.IsZero())
	if closed != "" {
		metrics.Deferred(d.Tenant, closed)
		now := a.Now()
		var delay time.Duration
		if closed == overRate {
			delay = a.gates.rateBackoff(i, patience, now)
		} else {
			delay = a.gates.backoff(i, now)
		}
		return a.wait(d, closed, max(gateDelay, min(delay, d.Till.Add(-endMargin).Sub(now)))), nil
	}
	manual, err := a.manualAttempts(ctx, d)
	if err != nil {
		done(errNotAsked)
		return nextState{}, err
	}
	d.Documents = mode // another in the configuration, later, is for other deliveries
	ctx, span := beginAttempt(ctx, e, d)
	answer, err := a.send(ctx, c, e, i, mode, status.ByFormer)
	endAttempt(span, answer, err)
	failpoint.Reach(failpoint.AttemptMade)
	switch refused := new(webhook.SendError); {
	case err != nil && !errors.As(err, &refused):
		// Not an attempt: the store could not give the body.
		done(errNotAsked)
		return nextState{}, err
	case err != nil, answer.Status >= 500:
		done(errDown)
	default:
		done(nil)
	}
	return a.attempted(e, d, i, manual, status, answer, err), nil
}

// enter takes a place at the gate of an integration, and room to send that many bytes. Then done must be called with
// how the integration was found. Otherwise closed says why not, in a fixed word.
func (a *Activities) enter(ctx context.Context, i *model.Integration, export, size int64, patience time.Duration,
	asked bool) (done func(found error), closed string) {
	tell, closed := a.gates.enter(ctx, i, export, patience, asked)
	if closed != "" {
		return nil, closed
	}
	leave, full := a.Capacity.enter(i.Tenant, size)
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

// heldReason returns why a delivery is held by what is known now, whatever it was held for; empty: nothing holds it.
func heldReason(c *config.Config, e *model.Export, d *model.Delivery, statuses store.IntegrationStatuses) string {
	i, ok := c.Integration(d.Tenant, d.Integration)
	switch {
	case e.Quarantined:
		return quarantinedReason(e)
	case !ok:
		return unknownReason(d.Integration)
	}
	if status := statuses.Of(i); !status.Deliverable(i) {
		return closedReason(i, status)
	}
	return ""
}

// closedReason returns why a delivery to an integration is held that takes none now.
func closedReason(i *model.Integration, s store.IntegrationStatus) string {
	switch {
	case s.ByOperator:
		return fmt.Sprintf("integration %s is %s: %s; hiregate integration enable %s/%s delivers what is held, and "+
			"hiregate audit list says who disabled it and when", i.Name, s.State, s.Reason, i.Tenant, i.Name)
	case s.State == model.NotConfigured:
		return fmt.Sprintf("integration %s is not verified: %s; hiregate integration enable %s/%s has it verified now",
			i.Name, s.Reason, i.Tenant, i.Name)
	}
	return fmt.Sprintf("integration %s is %s: %s; hiregate integration enable %s/%s has it verified again",
		i.Name, s.State, s.Reason, i.Tenant, i.Name)
}

// quarantinedReason returns why an export in quarantine is held.
func quarantinedReason(e *model.Export) string {
	return fmt.Sprintf("the export is in quarantine, because its body breaks the schema: "+
		"release it with hiregate export release %s/%s", e.Tenant, e.Key)
}

// unknownReason returns why a delivery to an integration that is not configured is held.
func unknownReason(integration string) string {
	return fmt.Sprintf("integration %s is not in this gateway's configuration", integration)
}

// removedReason returns why a delivery to an integration that was removed ends.
func removedReason(integration string) string {
	return fmt.Sprintf("integration %s was removed", integration)
}

// hold defers a delivery at a closed gate, without an attempt. Held does not run out: a delivery that is held for too
// long is parked. Only a triggered export has an end that nothing moves: that of its document URLs. Whoever opens the
// gate hurries the deliveries that wait at it, and TendHeld those that were missed: thousands that looked by themselves
// again and again would leave Temporal no room.
func (a *Activities) hold(e *model.Export, d *model.Delivery, reason string) nextState {
	now := a.Now()
	begins := d.HeldSince.IsZero()
	changed := d.Hold(reason, now)
	left := holdEnd(e, d, d.Till).Sub(now)
	next := nextState{class: string(model.ClassHeld), changed: changed}
	switch {
	case left > 0 && begins:
		next.due = now.Add(min(left, workflows.Jittered(holdFirst)))
	case left > 0:
		next.due = now.Add(left)
	case e.Origin == model.Triggered:
		return expire(e, d)
	default:
		d.Park()
		next = nextState{changed: true}
	}
	if begins { // what is held counts once
		next.stored = func() { metrics.Delivery(d.Tenant, d.Integration, model.ClassHeld) }
	}
	return next
}

// holdEnd returns until when a held delivery waits for its gate to open, in a round that ends at till.
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
func (a *Activities) wait(d *model.Delivery, gate string, delay time.Duration) nextState {
	next := a.waitFor(gate, delay)
	if d.Outcome == model.Held {
		d.Release(next.due)
		next.changed = true
	}
	return next
}

// fail ends a delivery that can't go on, without an attempt.
func fail(d *model.Delivery, fault model.Class, reason string) nextState {
	d.Fail(fault, reason)
	return nextState{changed: true}
}

// unreadable ends a delivery of whose export what is stored can't be read. The others of its workflow go on.
func (a *Activities) unreadable(e *model.Export, d *model.Delivery, cause error) nextState {
	next := fail(d, model.ClassOurFault, store.UnreadableReason)
	next.stored = func() {
		metrics.Unreadable(d.Tenant)
		a.Log.Error("what is stored of an export can't be read", zap.String("tenant", d.Tenant),
			zap.String("integration", d.Integration), zap.String("uuid", e.Key), zap.Int64("export", e.ID), zap.Error(cause))
	}
	return next
}

// expire ends a delivery whose time is over.
func expire(e *model.Export, d *model.Delivery) nextState {
	reason := "its time was over before its turn came: the gateway, Temporal or the integration was down, or had too " +
		"much to do; redeliver it"
	if e.Origin == model.Triggered {
		reason = "its time was over before its turn came: the gateway, Temporal or the integration was down, or had too " +
			"much to do; export the candidate again"
	}
	d.Expire(e.Origin, reason)
	return nextState{changed: true}
}
