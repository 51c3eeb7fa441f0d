package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/tracing"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/internal/webhook"
)

// send makes one attempt. Every attempt of an export at an integration sends the same bytes and the same UUID.
func (a *Attempter) send(ctx context.Context, c *config.Config, e *model.Export, i *model.Integration,
	mode model.DocumentMode, byFormer bool) (webhook.Answer, error) {
	if err := a.Store.LoadBody(context.WithoutCancel(ctx), e); err != nil {
		return webhook.Answer{}, fmt.Errorf("loading the body: %w", err)
	}
	body, err := a.Archive.OutgoingBody(ctx, e, mode)
	if err != nil {
		return webhook.Answer{}, fmt.Errorf("making the body as it goes out: %w", err)
	}
	e.Body = nil // a partner may take long: what is not sent need not stay in memory
	// Nothing cuts off an attempt that is under way, not even a Temporal that has gone: the partner may have it
	// already. It ends soon.
	answer, err := c.Names.Send(context.WithoutCancel(ctx), c.Client(i), outgoing(ctx, e, i, body, byFormer))
	if answer.Duration > 0 {
		metrics.Attempt(answer.Duration)
	}
	return answer, err
}

// outgoing returns what is sent to an integration of an export whose body is this one. byFormer: the integration is
// verified with its former secret, and perhaps does not know the present one yet.
func outgoing(ctx context.Context, e *model.Export, i *model.Integration, body []byte,
	byFormer bool) webhook.Delivery {
	out := webhook.Delivery{
		URL: i.URL, Secret: i.Secret.Reveal(), OtherSecret: i.FormerSecret.Reveal(), Event: webhook.EventExport,
		Body: body, UUID: e.UUID(), Link: e.Link, ExportContext: e.ExportContext,
	}
	if byFormer {
		out.Secret, out.OtherSecret = out.OtherSecret, out.Secret
	}
	if i.StandardWebhooks {
		out.WebhookID = e.Key
	}
	if i.Traceparent {
		out.Traceparent = cmp.Or(tracing.Traceparent(ctx), e.Traceparent) // without spans of ours, that of the sender
	}
	return out
}

// manualAttempts counts the attempts of a delivery that somebody asked for, and that used up no gap of its schedule.
func (a *Attempter) manualAttempts(ctx context.Context, d *model.Delivery) (int, error) {
	if d.Attempts == 0 {
		return 0, nil
	}
	return a.Store.CountManualAttempts(ctx, d.ID)
}

// attempted decides what an attempt means for its delivery, before which so many were made that used up no gap of the
// schedule. One that somebody asked for uses up none either, and leaves the next attempt when it was planned: on a
// partner that is still down nobody delays an export by trying it. failure is a *webhook.SendError, or nil.
func (a *Attempter) attempted(e *model.Export, d *model.Delivery, i *model.Integration, manual int,
	asked store.IntegrationStatus, answer webhook.Answer, failure error) State {
	attempt := judge(answer, failure)
	attempt.Manual = !d.AskedAt.IsZero()
	planned := d.NextAt
	d.Attempted(attempt.Status, attempt.Fault, attempt.Error)
	if attempt.Manual && d.Attempts > 1 { // the first one is as any
		manual++
	}
	now := a.Now()
	retry := now.Add(i.Retry.Backoff(d.Attempts-manual, rand.Float64()))
	if attempt.Manual && planned.After(now) {
		retry = planned
	}
	retry = wait.Later(retry, now.Add(answer.RetryAfter))
	if last := d.Till.Add(-endMargin); retry.After(last) {
		retry = last
	}
	next := State{changed: true}
	switch {
	case attempt.Error == "":
		d.Deliver()
	case failure == nil && answer.Status == http.StatusGone:
		next = a.gone(d, i, asked)
	case !retry.After(now):
		next = expire(e, d)
	default:
		d.Retry(retry)
		next.Class, next.Due = string(attempt.Fault), retry
	}
	next.attempt, next.Status = attempt, answer.Status
	return next
}

// judge returns an attempt as it is stored.
func judge(answer webhook.Answer, failure error) *model.Attempt {
	attempt := &model.Attempt{
		StartedAt: answer.Started.UTC(), Duration: answer.Duration, Status: answer.Status, Answer: answer.Head,
		Header: answer.Header, Address: answer.Address, Phases: answer.Phases,
	}
	switch refused := new(webhook.SendError); {
	case errors.As(failure, &refused):
		attempt.Fault, attempt.Error, attempt.Cause = model.ClassPartnerFault, refused.Error(), refused.Cause()
		if refused.Kind == webhook.KindRefused {
			attempt.Fault = model.ClassOurFault
		}
	case answer.Acknowledged():
	case answer.Status == http.StatusGone:
		attempt.Fault, attempt.Cause = model.ClassPartnerFault, "410"
		attempt.Error = "answered 410: the partner wants no more exports here"
	case answer.RefusesCredentials():
		attempt.Fault, attempt.Cause = model.ClassPartnerFault, causeOf(answer.Status)
		attempt.Error = answer.RefusalOfCredentials()
	default:
		attempt.Fault, attempt.Cause = model.FaultOf(answer.Status), causeOf(answer.Status)
		attempt.Error = fmt.Sprintf("answered %d; only 2xx means received", answer.Status)
	}
	return attempt
}

// telling are the statuses that have a word of their own in metrics; others share one with their class.
var telling = []int{400, 401, 403, 404, 405, 408, 409, 410, 413, 415, 422, 429, 500, 502, 503, 504}

// causeOf returns the status of an answer in a word for metrics: 422, or 4xx.
func causeOf(status int) string {
	if slices.Contains(telling, status) {
		return strconv.Itoa(status)
	}
	return fmt.Sprintf("%dxx", min(max(status/100, 1), 5))
}

// gone disables an integration that answered 410; its exports are held from then on. An integration that was changed or
// removed meanwhile stays as it is, and the next step decides on the delivery.
func (a *Attempter) gone(d *model.Delivery, i *model.Integration, asked store.IntegrationStatus) State {
	now := a.Now()
	status := store.IntegrationStatus{State: model.Disabled, Reason: "it answered 410", UpdatedAt: now}
	d.Hold(ClosedReason(i, status), now)
	next := a.WaitFor(string(model.ClassHeld), wait.Jittered(HoldFirst))
	next.changed = true
	disabled := false
	next.also = func(tx *store.Tx) (err error) {
		disabled, err = tx.UpdateIntegrationStatus(i, asked, status)
		return err
	}
	next.stored = func() {
		if disabled {
			a.Log.Warn("integration disabled: it answered 410; its exports are held until it is enabled again",
				zap.String("tenant", d.Tenant), zap.String("integration", d.Integration))
		}
	}
	return next
}
