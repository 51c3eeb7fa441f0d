package e2e

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector is a receiver of OTLP over HTTP.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracepb.Span
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(c.receive))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) receive(w http.ResponseWriter, r *http.Request) {
	var from io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		from = unzipped
	}
	var batch collectorpb.ExportTraceServiceRequest
	body, err := io.ReadAll(from)
	if err == nil {
		err = proto.Unmarshal(body, &batch)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "no batch of spans", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range batch.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// of returns the spans of a name in a trace.
func (c *collector) of(traceID, name string) (found []*tracepb.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, span := range c.spans {
		if span.Name == name && hex.EncodeToString(span.TraceId) == traceID {
			found = append(found, span)
		}
	}
	return found
}

func attributeOf(span *tracepb.Span, key string) string {
	for _, a := range span.Attributes {
		if a.Key == key {
			return strings.Trim(a.Value.String(), `"`)
		}
	}
	return ""
}

func TestOneTraceFromTheWebhookToTheDelivery(t *testing.T) {
	t.Parallel()
	otlp := startCollector(t)
	s := newSystemWith(t, setup{tenant: strings.Replace(shortRetries, "retry", "traceparent on\nretry", 1), routes: "tracing {\nspan webhook\n}\nlog",
		env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + otlp.URL, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
			"OTEL_BSP_SCHEDULE_DELAY=50"}})
	partner := s.startRecorder(func(event string, n int) int {
		if event == "CANDIDATE-EXPORT" && n == 1 {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	const traceID, sender = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	id := uuid.NewString()
	status, answer, err := s.post(http.DefaultClient, id, minimal("c-1"), func(r *http.Request) {
		r.Header.Set("traceparent", "00-"+traceID+"-"+sender+"-01")
	})
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, status, "%s", answer)
	s.awaitOutcome(id, "delivered")
	require.Eventually(t, func() bool {
		return len(otlp.of(traceID, "webhook")) == 1 && len(otlp.of(traceID, "store attempt")) == 2
	}, patience, 20*time.Millisecond, "the spans do not come")

	webhook, accepted := otlp.of(traceID, "webhook")[0], otlp.of(traceID, "accept export")
	require.Equal(t, sender, hex.EncodeToString(webhook.ParentSpanId))
	require.Len(t, accepted, 1)
	require.Equal(t, webhook.SpanId, accepted[0].ParentSpanId)
	require.Contains(t, attributeOf(accepted[0], "hiregate.tenant"), "acme")
	attempts := otlp.of(traceID, "attempt delivery")
	require.Len(t, attempts, 2)
	sent := partner.of("CANDIDATE-EXPORT")
	require.Len(t, sent, 2)
	for n, want := range []string{"500", "200"} {
		require.Equal(t, "00-"+traceID+"-"+hex.EncodeToString(attempts[n].SpanId)+"-01", sent[n].header.Get("traceparent"))
		require.Equal(t, accepted[0].SpanId, attempts[n].ParentSpanId)
		require.Contains(t, attributeOf(attempts[n], "http.response.status_code"), want)
		require.Contains(t, attributeOf(attempts[n], "hiregate.integration"), "hris")
	}
	require.Equal(t, tracepb.Status_STATUS_CODE_ERROR, attempts[0].Status.GetCode())
	require.Equal(t, tracepb.Status_STATUS_CODE_UNSET, attempts[1].Status.GetCode())

	require.Empty(t, partner.of("VERIFY")[0].header.Get("traceparent"))

	s.gateway.line(`"msg":"export accepted".*"trace":"` + traceID + `".*"uuid":"` + id + `".*"receipt":"[a-z2-7]{12}"`)
	s.gateway.line(`"msg":"handled request".*"uuid":"` + id + `"`)
	s.gateway.line(`"msg":"delivered".*"trace":"` + traceID + `"`)
	out, code := run(t, nil, hiregate(t), "export", "show", "acme/"+id, "--admin", loopback(s.admin))
	require.Zero(t, code, out)
	require.Contains(t, out, traceID)
}
