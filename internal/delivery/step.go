package delivery

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
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/internal/webhook"
)

const (
	// HoldFor is how long a delivery waits at a closed gate; then it ends, and a release starts the next round.
	HoldFor = time.Hour
	// HoldFirst is when a delivery that begins to be held is retried once: its gate may have opened while the run was
	// ending that found it closed, which whoever opened it could not hurry.
	HoldFirst = 3 * time.Second
	// endMargin is kept between the last attempt and the end of a delivery.
	endMargin = 30 * time.Second
	// documentsDelay is how long a delivery with its documents in the body waits when some are still being fetched.
	documentsDelay = 10 * time.Second
)

// Member is a delivery with its export, as the store has them.
type Member struct {
	Export   *model.Export
	Delivery *model.Delivery
	Patience Patience
}

// State is the state of a delivery after a step: when its next step is due and why not before, and what is to be
// stored.
type State struct {
	Due    time.Time // zero: there is no next step, since the delivery is final or parked
	Class  string    // a fixed word
	Status int       // HTTP status of the last answer, or 0

	changed bool                  // the delivery is to be stored
	attempt *model.Attempt        // stored with it; nil: none was made
	also    func(*store.Tx) error // runs in the same transaction, perhaps more than once; may be nil
	stored  func()                // runs once all of it is stored; may be nil
}

// WaitFor returns the state of a delivery that stays as it is, and looks again after a delay.
func (a *Attempter) WaitFor(class string, delay time.Duration) State {
	return State{Class: class, Due: a.Now().Add(delay)}
}

// Step takes one delivery one step further: it makes the attempt that is due, unless a gate defers it, and stores
// what came of it. The error is that of the store.
func (a *Attempter) Step(ctx context.Context, m Member) (State, error) {
	next, err := a.step(ctx, m.Export, m.Delivery, m.Patience)
	if errors.Is(err, store.ErrUnreadable) {
		next, err = a.unreadable(m.Export, m.Delivery, err), nil
	}
	if err != nil || !next.changed {
		return next, err
	}
	return a.commit(ctx, m.Export, m.Delivery, next)
}

// Deferred returns when a delivery looks again that must not be attempted now, since outcomes of attempts wait to
// be stored; the zero state: it may be. Ask before the delivery is read: one that is stored in between is then read.
func (a *Attempter) Deferred() State {
	if delay := a.unstored.delay(a.Now()); delay > 0 {
		return a.WaitFor(StoreUnavailable, delay)
	}
	return State{}
}

// Planned returns the state of a delivery whose next attempt is still to come; the zero state: it is due, or somebody
// asked for it. It is due as well when it was written later than it is now by this node's clock: another node wrote it,
// and the clocks differ, so that all that is known is that Temporal waited.
func (a *Attempter) Planned(d *model.Delivery) State {
	now := a.Now()
	if due := d.Due(); d.Outcome == model.Retrying && due.After(now) && !now.Before(d.UpdatedAt) {
		return State{Class: string(d.Fault), Due: due}
	}
	return State{}
}

// TriedIn returns the document mode in which an export was attempted at an integration before; empty: it was not.
func TriedIn(former []*model.Delivery, integration string) (mode model.DocumentMode) {
	for _, d := range former {
		if d.Integration == integration {
			mode = cmp.Or(d.Documents, mode)
		}
	}
	return mode
}

// step leads a delivery through the gates and makes the attempt that is due. It stores nothing.
func (a *Attempter) step(ctx context.Context, e *model.Export, d *model.Delivery,
	patience Patience) (State, error) {
	if d.Outcome.Final() || d.Parked {
		return State{}, nil
	}
	if !e.ErasedAt.IsZero() { // while its workflow was being started
		return fail(d, model.ClassOurFault, store.ErasedReason), nil
	}
	if d.Tenant != e.Tenant {
		return State{}, fmt.Errorf("a delivery is of another tenant than its export: %w", store.ErrUnreadable)
	}
	c := a.InForce.Current()
	if c == nil {
		return a.WaitFor("stopping", wait.Jittered(5*time.Second)), nil
	}
	if e.Quarantined {
		return a.hold(e, d, quarantinedReason(e)), nil
	}
	i, ok := c.Integration(d.Tenant, d.Integration)
	if !ok {
		removed, err := a.Store.IsIntegrationRemoved(ctx, d.Tenant, d.Integration)
		switch {
		case err != nil:
			return State{}, err
		case removed:
			return fail(d, model.ClassPartnerFault, RemovedReason(d.Integration)), nil
		}
		return a.hold(e, d, UnknownReason(d.Integration)), nil // another node may know it already, or still
	}
	status, err := a.Store.IntegrationStatus(context.WithoutCancel(ctx), i)
	if err != nil {
		return State{}, err
	}
	if !status.RemovedAt.IsZero() && !d.CreatedAt.After(status.RemovedAt) {
		// This is another integration of that name, perhaps of another partner.
		return fail(d, model.ClassPartnerFault, RemovedReason(d.Integration)), nil
	}
	if !status.Deliverable(i) {
		return a.hold(e, d, ClosedReason(i, status)), nil
	}
	if !a.Now().Before(d.Till) {
		return expire(e, d), nil
	}
	mode := cmp.Or(d.Documents, i.Documents)
	if mode == model.Inline || e.Origin == model.Triggered {
		settled, err := a.Archive.Settled(ctx, e)
		switch {
		case err != nil:
			return State{}, err
		case !settled && e.Origin == model.Triggered: // they are here, and being scanned
			return a.deferAt(d, "documents_scanning", wait.Jittered(GateDelay)), nil
		case !settled:
			return a.deferAt(d, "documents_missing", wait.Jittered(documentsDelay)), nil
		}
	}
	size, err := a.Archive.OutgoingSize(ctx, e, mode)
	if err != nil {
		return State{}, err
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
		return a.deferAt(d, closed, max(GateDelay, min(delay, d.Till.Add(-endMargin).Sub(now)))), nil
	}
	manual, err := a.manualAttempts(ctx, d)
	if err != nil {
		done(errNotAsked)
		return State{}, err
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
		return State{}, err
	case err != nil, answer.Status >= 500:
		done(errDown)
	default:
		done(nil)
	}
	return a.attempted(e, d, i, manual, status, answer, err), nil
}

// enter takes a place at the gate of an integration, and room to send that many bytes. Then done must be called with
// how the integration was found. Otherwise closed says why not, in a fixed word.
func (a *Attempter) enter(ctx context.Context, i *model.Integration, export, size int64, patience Patience,
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
		return nil, StoreUnavailable
	}
	return func(found error) {
		leave()
		tell(found)
	}, ""
}

// HeldReason returns why a delivery is held by what is known now, whatever it was held for; empty: nothing holds it.
func HeldReason(c *config.Config, e *model.Export, d *model.Delivery, statuses store.IntegrationStatuses) string {
	i, ok := c.Integration(d.Tenant, d.Integration)
	switch {
	case e.Quarantined:
		return quarantinedReason(e)
	case !ok:
		return UnknownReason(d.Integration)
	}
	if status := statuses.Of(i); !status.Deliverable(i) {
		return ClosedReason(i, status)
	}
	return ""
}

// ClosedReason returns why a delivery to an integration is held that takes none now.
func ClosedReason(i *model.Integration, s store.IntegrationStatus) string {
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

// UnknownReason returns why a delivery to an integration that is not configured is held.
func UnknownReason(integration string) string {
	return fmt.Sprintf("integration %s is not in this gateway's configuration", integration)
}

// RemovedReason returns why a delivery to an integration that was removed ends.
func RemovedReason(integration string) string {
	return fmt.Sprintf("integration %s was removed", integration)
}

// hold defers a delivery at a closed gate, without an attempt. Held does not run out: a delivery that is held for too
// long is parked. Only a triggered export has an end that nothing moves: that of its document URLs. Whoever opens the
// gate hurries the deliveries that wait at it, and TendHeld those that were missed: thousands that looked by themselves
// again and again would leave Temporal no room.
func (a *Attempter) hold(e *model.Export, d *model.Delivery, reason string) State {
	now := a.Now()
	begins := d.HeldSince.IsZero()
	changed := d.Hold(reason, now)
	left := HoldEnd(e, d, d.Till).Sub(now)
	next := State{Class: string(model.ClassHeld), changed: changed}
	switch {
	case left > 0 && begins:
		next.Due = now.Add(min(left, wait.Jittered(HoldFirst)))
	case left > 0:
		next.Due = now.Add(left)
	case e.Origin == model.Triggered:
		return expire(e, d)
	default:
		d.Park()
		next = State{changed: true}
	}
	if begins { // what is held counts once
		next.stored = func() { metrics.Delivery(d.Tenant, d.Integration, model.ClassHeld) }
	}
	return next
}

// HoldEnd returns until when a held delivery waits for its gate to open, in a round that ends at till.
func HoldEnd(e *model.Export, d *model.Delivery, till time.Time) time.Time {
	if e.Origin == model.Triggered { // nothing moves its end
		return till
	}
	if last := till.Add(-endMargin); last.Before(d.HeldSince.Add(HoldFor)) {
		return last
	}
	return d.HeldSince.Add(HoldFor)
}

// deferAt defers a delivery at a gate that opens by itself. That leaves no trace but one: a held delivery is released, so
// that nobody releases it again before its turn.
func (a *Attempter) deferAt(d *model.Delivery, gate string, delay time.Duration) State {
	next := a.WaitFor(gate, delay)
	if d.Outcome == model.Held {
		d.Release(next.Due)
		next.changed = true
	}
	return next
}

// fail ends a delivery that can't go on, without an attempt.
func fail(d *model.Delivery, fault model.Class, reason string) State {
	d.Fail(fault, reason)
	return State{changed: true}
}

// unreadable ends a delivery of whose export what is stored can't be read. The others of its workflow go on.
func (a *Attempter) unreadable(e *model.Export, d *model.Delivery, cause error) State {
	next := fail(d, model.ClassOurFault, store.UnreadableReason)
	next.stored = func() {
		metrics.Unreadable(d.Tenant)
		a.Log.Error("what is stored of an export can't be read", zap.String("tenant", d.Tenant),
			zap.String("integration", d.Integration), zap.String("uuid", e.Key), zap.Int64("export", e.ID), zap.Error(cause))
	}
	return next
}

// expire ends a delivery whose time is over.
func expire(e *model.Export, d *model.Delivery) State {
	reason := "its time was over before its turn came: the gateway, Temporal or the integration was down, or had too " +
		"much to do; redeliver it"
	if e.Origin == model.Triggered {
		reason = "its time was over before its turn came: the gateway, Temporal or the integration was down, or had too " +
			"much to do; export the candidate again"
	}
	d.Expire(e.Origin, reason)
	return State{changed: true}
}
