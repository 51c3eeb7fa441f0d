package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/workflows"
)

const (
	// holdFor is how long a workflow waits at a closed gate; then it ends, and a release starts the next round.
	holdFor = time.Hour
	// holdFirst is when what begins to wait there looks once more: the gate may just be opening.
	holdFirst = 10 * time.Second
	// endMargin is kept between the last attempt and the end of a delivery.
	endMargin = 30 * time.Second
	// documentsDelay is how long a delivery with its documents in the body waits when some are still being fetched.
	documentsDelay = 10 * time.Second
)

// step leads a delivery through the gates and makes the attempt that is due.
func (a *Activities) step(ctx context.Context, e *hiring.Export, d *hiring.Delivery) (DeliverResult, error) {
	c := a.InForce.Current()
	if c == nil {
		return DeliverResult{}, workflows.RetryAfter("stopping", 0, workflows.Jittered(5*time.Second))
	}
	if e.Quarantined {
		return a.hold(ctx, e, d, fmt.Sprintf("the export is in quarantine, because its body breaks the schema: release it with hiregate export release %s/%s", e.Tenant, e.Key))
	}
	i, ok := c.Integration(d.Tenant, d.Integration)
	if !ok {
		return a.unknown(ctx, e, d)
	}
	status, err := a.Store.IntegrationStatus(ctx, i)
	if err != nil {
		return DeliverResult{}, a.storeAway(err)
	}
	if !status.RemovedAt.IsZero() && !d.CreatedAt.After(status.RemovedAt) {
		return a.removed(ctx, d) // this is another one of that name, perhaps of another partner
	}
	if !status.Open(i) {
		return a.hold(ctx, e, d, fmt.Sprintf("integration %s is %s: %s", i.Name, status.State, status.Reason))
	}
	if !a.Now().Before(d.Till) {
		return a.end(ctx, e, d, nil)
	}
	mode := cmp.Or(d.Documents, i.Documents)
	if mode == hiring.Inline || e.Origin == hiring.Triggered {
		settled, err := a.Archive.Settled(ctx, e)
		switch {
		case err != nil:
			return DeliverResult{}, a.storeAway(err)
		case !settled && e.Origin == hiring.Triggered: // they are here, and being scanned
			return a.wait(ctx, d, "documents_scanning", workflows.Jittered(gateDelay))
		case !settled:
			return a.wait(ctx, d, "documents_missing", workflows.Jittered(documentsDelay))
		}
	}
	size, err := a.Archive.OutgoingSize(ctx, e, mode)
	if err != nil {
		return DeliverResult{}, a.storeAway(err)
	}
	done, closed := a.enter(i, size)
	if closed != "" {
		metrics.Deferred(d.Tenant, closed)
		now := a.Now()
		return a.wait(ctx, d, closed, max(gateDelay, min(a.gates.turn(i, now), d.Till.Add(-endMargin).Sub(now))))
	}
	d.Documents = mode // another in the configuration, later, is for other deliveries
	answer, err := a.send(ctx, c, e, i, mode)
	switch refused := new(webhook.SendError); {
	case err != nil && !errors.As(err, &refused):
		// Not an attempt: the store could not give the body.
		done(errNotAsked)
		return DeliverResult{}, a.storeAway(err)
	case err != nil, answer.Status >= 500:
		done(errDown)
	default:
		done(nil)
	}
	return a.record(ctx, e, d, i, status, answer, err)
}

// enter asks for a place at the gate of an integration, and for room to send that many bytes. When both are given, done must be told
// how the integration was found; otherwise closed says, in a fixed word, why not.
func (a *Activities) enter(i *hiring.Integration, size int64) (done func(found error), closed string) {
	tell, closed := a.gates.enter(i)
	if closed != "" {
		return nil, closed
	}
	leave, full := a.Room.enter(i.Tenant, size)
	if full != "" {
		tell(errNotAsked)
		return nil, full
	}
	return func(found error) {
		leave()
		tell(found)
	}, ""
}

// unknown ends a delivery to an integration that was removed, and holds one to an integration that is only not known here.
func (a *Activities) unknown(ctx context.Context, e *hiring.Export, d *hiring.Delivery) (DeliverResult, error) {
	removed, err := a.Store.IntegrationRemoved(ctx, d.Tenant, d.Integration)
	if err != nil {
		return DeliverResult{}, a.storeAway(err)
	}
	if !removed {
		// Another node may know it already, or still.
		return a.hold(ctx, e, d, fmt.Sprintf("integration %s is not in this gateway's configuration", d.Integration))
	}
	return a.removed(ctx, d)
}

// removed ends a delivery to an integration that was removed.
func (a *Activities) removed(ctx context.Context, d *hiring.Delivery) (DeliverResult, error) {
	d.Outcome, d.Fault, d.Reason = hiring.Failed, hiring.ClassPartnerFault, removedReason(d.Integration)
	d.HeldSince, d.NextAt = time.Time{}, time.Time{}
	return a.conclude(ctx, d, nil)
}

// removedReason is why a delivery to an integration that was removed ends.
func removedReason(integration string) string {
	return fmt.Sprintf("integration %s was removed", integration)
}

// erased ends a delivery that there is nothing left for.
func (a *Activities) erased(ctx context.Context, d *hiring.Delivery) (DeliverResult, error) {
	d.Outcome, d.Fault, d.Reason = hiring.Failed, hiring.ClassOurFault, store.ErasedReason
	d.HeldSince, d.NextAt = time.Time{}, time.Time{}
	if standing, err := a.put(ctx, d, nil); err != nil || standing != d {
		return a.superseded(standing, err)
	}
	return result(d), nil
}

// hold defers a delivery at a closed gate, without an attempt. Held does not run out: what waits for too long is parked. Only an
// export that was triggered here has an end that nothing moves: that of its document URLs. Whoever opens the gate hurries what waits
// at it, and TendHeld what that missed: thousands that looked by themselves again and again would leave Temporal no room for others.
func (a *Activities) hold(ctx context.Context, e *hiring.Export, d *hiring.Delivery, reason string) (DeliverResult, error) {
	now := a.Now()
	begins := d.Outcome != hiring.Held || d.HeldSince.IsZero()
	changed := begins || d.Reason != reason
	if begins {
		d.HeldSince = now
	}
	d.Outcome, d.Reason, d.NextAt = hiring.Held, reason, time.Time{}
	left := d.Till.Sub(now) // the gate may open up to the end
	switch {
	case e.Origin != hiring.Triggered:
		left = min(left-endMargin, d.HeldSince.Add(holdFor).Sub(now))
		d.Parked = left <= 0
	case left <= 0:
		return a.end(ctx, e, d, nil)
	}
	if changed || d.Parked {
		if standing, err := a.put(ctx, d, nil); err != nil || standing != d {
			return a.superseded(standing, err)
		}
	}
	if begins {
		metrics.Delivery(d.Tenant, d.Integration, hiring.ClassHeld)
		left = min(left, workflows.Jittered(holdFirst))
	}
	if d.Parked {
		return result(d), nil
	}
	return DeliverResult{}, workflows.RetryAfter(string(hiring.ClassHeld), 0, left)
}

// wait defers a delivery at a gate that opens by itself. That leaves no trace but one: what was held is not any more, so that nobody
// releases it again before its turn.
func (a *Activities) wait(ctx context.Context, d *hiring.Delivery, gate string, delay time.Duration) (DeliverResult, error) {
	if d.Outcome == hiring.Held {
		d.Outcome, d.Reason, d.HeldSince, d.NextAt = hiring.Retrying, "", time.Time{}, a.Now().Add(delay)
		if d.Attempts == 0 {
			d.Outcome = hiring.Pending
		}
		if standing, err := a.put(ctx, d, nil); err != nil || standing != d {
			return a.superseded(standing, err)
		}
	}
	return DeliverResult{}, workflows.RetryAfter(gate, 0, delay)
}

// send makes one attempt. Every attempt of an export at an integration sends the same bytes and the same UUID.
func (a *Activities) send(ctx context.Context, c *config.Config, e *hiring.Export, i *hiring.Integration, mode hiring.DocumentMode) (webhook.Answer, error) {
	if err := a.Store.LoadBody(ctx, e); err != nil {
		return webhook.Answer{}, fmt.Errorf("loading the body: %w", err)
	}
	body, err := a.Archive.Outgoing(ctx, e, mode)
	if err != nil {
		return webhook.Answer{}, fmt.Errorf("making the body as it goes out: %w", err)
	}
	e.Body = nil // a partner may take long: what is not sent need not stay in memory
	out := webhook.Delivery{
		URL: i.URL, Secret: i.Secret.Reveal(), Event: webhook.EventExport, Body: body,
		UUID: e.UUID(), Link: e.Link, ExportContext: e.ExportContext,
	}
	if i.StandardWebhooks {
		out.WebhookID = e.Key
	}
	// Nobody cuts off an attempt that is under way, not even a Temporal that has gone: the partner may have it already. It ends soon.
	answer, err := c.Names.Send(context.WithoutCancel(ctx), c.Egress.Client(), out)
	if answer.Duration > 0 {
		metrics.Attempt(answer.Duration)
	}
	return answer, err
}

// record decides what an attempt means for its delivery, commits both, and then tells Temporal.
func (a *Activities) record(ctx context.Context, e *hiring.Export, d *hiring.Delivery, i *hiring.Integration, status store.IntegrationStatus, answer webhook.Answer, failure error) (DeliverResult, error) {
	d.Attempts++
	d.HeldSince, d.NextAt, d.Reason, d.Fault = time.Time{}, time.Time{}, "", ""
	attempt := &hiring.Attempt{StartedAt: answer.Started.UTC(), Duration: answer.Duration, Status: answer.Status, Answer: answer.Head}
	switch refused := new(webhook.SendError); {
	case errors.As(failure, &refused):
		attempt.Error = refused.Error()
		d.Fault = hiring.ClassPartnerFault
		if refused.Kind == webhook.KindRefused {
			d.Fault = hiring.ClassOurFault
		}
	case answer.Acknowledged():
		d.Outcome = hiring.Delivered
		return a.conclude(ctx, d, attempt)
	case answer.Status == 410:
		return a.gone(ctx, d, i, status, attempt)
	default:
		attempt.Error = fmt.Sprintf("answered %d; only 2xx means received", answer.Status)
		d.Fault = hiring.FaultOf(answer.Status)
	}
	d.Reason = attempt.Error
	now := a.Now()
	wait := max(webhook.Schedule(i.Retry).Gap(d.Attempts, rand.Float64()), answer.RetryAfter)
	if last := d.Till.Add(-endMargin); now.Add(wait).After(last) {
		wait = last.Sub(now)
	}
	if wait <= 0 {
		return a.end(ctx, e, d, attempt)
	}
	d.Outcome, d.NextAt = hiring.Retrying, now.Add(wait)
	if standing, err := a.put(ctx, d, attempt); err != nil || standing != d {
		return a.superseded(standing, err)
	}
	a.Log.Info("delivery not received", zap.String("tenant", d.Tenant), zap.String("integration", d.Integration), zap.String("workflow", e.WorkflowID),
		zap.Int("attempt", d.Attempts), zap.Int("status", answer.Status), zap.String("class", string(d.Fault)), zap.Duration("next_in", wait))
	return DeliverResult{}, workflows.RetryAfter(string(d.Fault), answer.Status, wait)
}

// gone disables an integration that answered 410; its exports are held from then on. One that was changed or removed meanwhile
// stays as it is, and the next look at it decides on the delivery.
func (a *Activities) gone(ctx context.Context, d *hiring.Delivery, i *hiring.Integration, asked store.IntegrationStatus, attempt *hiring.Attempt) (DeliverResult, error) {
	now := a.Now()
	attempt.Error = "answered 410: the partner wants no more exports here"
	d.Outcome, d.HeldSince, d.Fault = hiring.Held, now, hiring.ClassPartnerFault
	d.Reason = fmt.Sprintf("integration %s is %s: it answered 410", i.Name, hiring.Disabled)
	disabled := false
	standing, err := a.put(ctx, d, attempt, func(tx *store.Tx) (err error) {
		disabled, err = tx.MoveIntegrationStatus(i, asked, store.IntegrationStatus{State: hiring.Disabled, Reason: "it answered 410", UpdatedAt: now})
		return err
	})
	if err == nil && disabled {
		a.Log.Warn("integration disabled: it answered 410; its exports are held until it is enabled again",
			zap.String("tenant", d.Tenant), zap.String("integration", d.Integration))
	}
	if err != nil || standing != d {
		return a.superseded(standing, err)
	}
	return DeliverResult{}, workflows.RetryAfter(string(hiring.ClassHeld), 410, workflows.Jittered(holdFirst))
}

// end gives a delivery up: its time is over.
func (a *Activities) end(ctx context.Context, e *hiring.Export, d *hiring.Delivery, attempt *hiring.Attempt) (DeliverResult, error) {
	d.Outcome, d.HeldSince, d.NextAt = hiring.Failed, time.Time{}, time.Time{}
	then := "redeliver it"
	if e.Origin == hiring.Triggered {
		d.Outcome, then = hiring.Expired, "export the candidate again"
	}
	if d.Fault == "" {
		d.Fault = hiring.ClassOurFault // not one attempt was made in all that time
	}
	d.Reason = cmp.Or(d.Reason, "its time was over before its turn came: the gateway, Temporal or the integration was down, or had too much to do; "+then)
	return a.conclude(ctx, d, attempt)
}

func (a *Activities) conclude(ctx context.Context, d *hiring.Delivery, attempt *hiring.Attempt) (DeliverResult, error) {
	if standing, err := a.put(ctx, d, attempt); err != nil || standing != d {
		return a.superseded(standing, err)
	}
	if d.Outcome != hiring.Delivered {
		a.Log.Error("delivery given up; it can be redelivered", zap.String("tenant", d.Tenant), zap.String("integration", d.Integration),
			zap.Int64("export", d.ExportID), zap.Int("attempts", d.Attempts), zap.String("outcome", string(d.Outcome)), zap.String("class", string(d.Class())))
	}
	return result(d), nil
}
