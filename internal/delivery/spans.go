package delivery

import (
	"context"
	"errors"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/tracing"
	"github.com/hiregate/hiregate/internal/webhook"
)

// beginAttempt begins the span of an attempt, in the trace of the export: below its acceptance, however long ago that
// was. A workflow carries many exports, so none of its own spans could belong to one trace.
func beginAttempt(ctx context.Context, e *model.Export, d *model.Delivery) (context.Context, trace.Span) {
	return tracing.Begin(tracing.From(ctx, e.Traceparent), trace.SpanKindClient, "attempt delivery", "tenant", d.Tenant,
		"integration", d.Integration, "export", strconv.FormatInt(e.ID, 10), "round", strconv.Itoa(d.Round),
		"attempt", strconv.Itoa(d.Attempts+1))
}

func endAttempt(span trace.Span, answer webhook.Answer, err error) {
	if !span.IsRecording() {
		return
	}
	if answer.Status != 0 {
		span.SetAttributes(attribute.Int("http.response.status_code", answer.Status))
	}
	why := StoreUnavailable // nothing was sent, since the store could not give the body
	if refused := new(webhook.SendError); err == nil || errors.As(err, &refused) {
		why = judge(answer, err).Cause
	}
	tracing.End(span, why)
}

// storing begins the span in which the outcome of an attempt is stored, and returns the function that ends it.
func (a *Attempter) storing(ctx context.Context, e *model.Export, d *model.Delivery,
	attempt *model.Attempt) func(error) {
	if attempt == nil {
		return func(error) {}
	}
	_, span := tracing.Begin(tracing.From(ctx, e.Traceparent), trace.SpanKindInternal, "store attempt",
		"tenant", d.Tenant, "integration", d.Integration, "export", strconv.FormatInt(e.ID, 10))
	return func(err error) {
		why := ""
		if err != nil {
			why = StoreUnavailable
		}
		tracing.End(span, why)
	}
}
