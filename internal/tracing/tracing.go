// Package tracing makes the spans of OpenTelemetry for the way of an export, and reads and writes the header
// traceparent (W3C Trace Context). Without the OTEL_ variables that name where spans go, it makes none.
package tracing

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"
)

// provider exports the spans of this process; nil: none are made.
var provider atomic.Pointer[sdktrace.TracerProvider]

// header reads and writes traceparent. Other headers, as of baggage, may hold anything and are left alone.
var header propagation.TraceContext

// wanted reports whether the environment names where spans go.
func wanted() bool {
	off, _ := strconv.ParseBool(os.Getenv("OTEL_SDK_DISABLED"))
	exporter := os.Getenv("OTEL_TRACES_EXPORTER")
	return !off && exporter != "none" && cmp.Or(exporter, os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
		os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")) != ""
}

// start guards Start.
var start sync.Once

// Start begins to export spans as the OTEL_ variables say, once for the process. failed is called with each error of the
// export. It returns an error, and no spans are made, when a variable has a value that can't be used.
func Start(failed func(error)) (err error) {
	start.Do(func() {
		if !wanted() {
			return
		}
		exporter, e := autoexport.NewSpanExporter(context.Background())
		if e != nil {
			err = fmt.Errorf("reading the OTEL_ variables: %w", e)
			return
		}
		otel.SetErrorHandler(otel.ErrorHandlerFunc(failed))
		provider.Store(sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter)))
	})
	return err
}

// Flush exports the spans that ended, until ctx ends.
func Flush(ctx context.Context) error {
	if p := provider.Load(); p != nil {
		return p.ForceFlush(ctx)
	}
	return nil
}

// FromRequest returns the context of a request with the span that Caddy's handler tracing began for it, or else with
// the one that the sender names in traceparent.
func FromRequest(r *http.Request) context.Context {
	if trace.SpanContextFromContext(r.Context()).IsValid() {
		return r.Context()
	}
	return header.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
}

// From returns the context with the span of a traceparent; empty: without one.
func From(ctx context.Context, traceparent string) context.Context {
	if provider.Load() == nil { // no span is made below it
		return ctx
	}
	return header.Extract(trace.ContextWithSpanContext(ctx, trace.SpanContext{}),
		propagation.MapCarrier{"traceparent": traceparent})
}

// Traceparent returns the span of a context as a value of the header: 55 characters; empty: there is none.
func Traceparent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	header.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// Begin begins a span below that of the context. Its attributes are names and values in turn: ids, names of the
// configuration and counters, nothing personal.
func Begin(ctx context.Context, kind trace.SpanKind, name string, attributes ...string) (context.Context, trace.Span) {
	p := provider.Load()
	if p == nil {
		return ctx, noop.Span{}
	}
	ctx, span := p.Tracer("hiregate").Start(ctx, name, trace.WithSpanKind(kind))
	for n := 0; n+1 < len(attributes); n += 2 {
		span.SetAttributes(attribute.String("hiregate."+attributes[n], strings.ToValidUTF8(attributes[n+1], "")))
	}
	return ctx, span
}

// End ends a span. why is a fixed word for what went wrong; empty: nothing did.
func End(span trace.Span, why string) {
	if why != "" {
		span.SetStatus(codes.Error, why)
	}
	span.End()
}

// Field returns a trace as a field of a log line; none for an empty id.
func Field(id string) zap.Field {
	if id == "" {
		return zap.Skip()
	}
	return zap.String("trace", id)
}
