package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What breaks the schema is taken, goes to nobody, has its documents fetched meanwhile, and goes out as it came once
// it is released.
func TestQuarantineHoldsUntilReleased(t *testing.T) {
	t.Parallel()
	s := newSystem(t, "invalid quarantine\n"+shortRetries)
	partner := s.startRecorder(ok)
	s.gateway.line("integration configured")
	service := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "a résumé") }))
	t.Cleanup(service.Close)
	body := fmt.Sprintf(`{"candidate":{"person":{"name":"no object"},"profiles":[{"attachments":[{"url":%q}]}]}}`,
		service.URL+"/a")
	id := s.accepted([]byte(body))
	e := s.awaitOutcome(id, "held")
	require.Contains(t, e.Deliveries[0].Reason, "quarantine")
	valid := s.accepted(minimal("c-1"))
	s.awaitOutcome(valid, "delivered")

	admin := []string{"--admin", loopback(s.admin)}
	out, code := run(t, nil, hiregate(t), append([]string{"export", "list", "--quarantined"}, admin...)...)
	require.Zero(t, code, out)
	require.Contains(t, out, id)
	require.NotContains(t, out, valid)
	require.Eventually(t, func() bool {
		out, code = run(t, nil, hiregate(t), append([]string{"export", "show", "acme/" + id}, admin...)...)
		return code == 0 && strings.Contains(out, "fetched")
	}, patience, 200*time.Millisecond, "its document is not fetched")
	require.Contains(t, out, "/candidate/person/id")
	out, code = run(t, nil, hiregate(t), append([]string{"export", "redeliver", "acme/" + id}, admin...)...)
	require.NotZero(t, code, out)
	require.Contains(t, out, "export release acme/"+id)
	require.Len(t, partner.of("CANDIDATE-EXPORT"), 1, "it left quarantine")

	s.awaitMetric("hiregate_quarantined_exports", `tenant="acme"`, 1)
	out, code = run(t, nil, hiregate(t), append([]string{"export", "release", "acme/" + id}, admin...)...)
	require.Zero(t, code, out)
	s.awaitOutcome(id, "delivered")
	got := partner.of("CANDIDATE-EXPORT")
	require.Len(t, got, 2)
	require.Equal(t, id, got[1].id)
	before, after, _ := strings.Cut(body, service.URL+"/a")
	require.True(t, bytes.HasPrefix(got[1].body, []byte(before)), "%s", got[1].body)
	require.True(t, bytes.HasSuffix(got[1].body, []byte(after)), "%s", got[1].body)
	require.Equal(t, 1.0, s.metric("hiregate_received_total", `result="quarantined"`))
}

// The documents stand in the body, beside addresses at which they can be had as well; every attempt sends the same
// bytes, with a Standard Webhooks signature over them.
func TestInlineSendsTheDocumentsAlong(t *testing.T) {
	t.Parallel()
	s := newSystem(t,
		"integration hris {\nurl http://PARTNER/inbound\nsecret "+outboundSecret+"\nretry 500ms 1s\ndocuments "+
			"inline\nstandard_webhooks\n}")
	partner := s.startRecorder(func(event string, n int) int {
		if event == "CANDIDATE-EXPORT" && n == 1 {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	content := bytes.Repeat([]byte("a résumé "), 100_000)
	var there atomic.Bool
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if !there.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Content-Disposition", `attachment; filename="cv.txt"`)
		_, _ = w.Write(content)
	}))
	t.Cleanup(service.Close)
	attachment := func(path string) string {
		return fmt.Sprintf(`{"id":{"value":"d","schemeId":"Service Document to Candidate","schemeAgencyId":"Service"},"url":%q}`, service.URL+path)
	}
	body := strings.Replace(string(minimal("c-1")), `"profiles":[]`,
		`"profiles":[{"attachments":[`+attachment("/cv")+`,`+attachment("/gone")+`]}]`, 1)
	id := s.accepted([]byte(body))
	s.gateway.line("a document could not be fetched")
	require.Empty(t, partner.of("CANDIDATE-EXPORT"), "it did not wait for its documents")
	there.Store(true)
	s.awaitOutcome(id, "delivered")

	got := partner.awaitExports(t, 2)
	require.Equal(t, got[0].body, got[1].body)
	var sent struct {
		Candidate struct {
			Profiles []struct {
				Attachments []struct {
					URL      string
					Document *struct {
						Content            []byte
						MimeType, FileName string
					}
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(got[1].body, &sent))
	attachments := sent.Candidate.Profiles[0].Attachments
	require.Nil(t, attachments[1].Document)
	require.True(t, bytes.Equal(content, attachments[0].Document.Content))
	require.Equal(t, "cv.txt", attachments[0].Document.FileName)
	for n, status := range []int{http.StatusOK, http.StatusGone} {
		require.True(t, strings.HasPrefix(attachments[n].URL, s.url("/documents/")))
		resp, err := http.Get(attachments[n].URL)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, status, resp.StatusCode)
	}
	for _, r := range append(got, partner.of("VERIFY")...) {
		require.NotEmpty(t, r.header.Get("Webhook-Signature"))
		require.NotEmpty(t, r.header.Get("Webhook-Timestamp"))
	}
	require.Equal(t, id, got[0].header.Get("Webhook-Id"))
	require.Equal(t, id, got[1].header.Get("Webhook-Id"))
}
