package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Two tenants whose integrations lead to each other would send an export round and round: without a UUID each way
// makes new document URLs, and so another export.
func TestIntegrationsThatLeadToEachOtherEnd(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "a résumé") }))
	t.Cleanup(service.Close)
	s := newSystem(t, "integration to-globex {\nurl http://GATEWAY/hooks/globex\nsecret globex-signing-secret\nretry 200ms\n}\n"+
		"}\ntenant globex {\nsecret globex-signing-secret\nintegration to-acme {\nurl http://GATEWAY/hooks/acme\nsecret "+inboundSecret+"\nretry 200ms\n}")
	attachment := fmt.Sprintf(
		`{"id":{"value":"d","schemeId":"Service Document to Candidate","schemeAgencyId":"Service"},"url":%q}`,
		service.URL+"/cv")
	body := strings.Replace(string(minimal("c-1")), `"profiles":[]`, `"profiles":[{"attachments":[`+attachment+`]}]`, 1)
	status, answer, err := s.post(http.DefaultClient, "", []byte(body),
		func(r *http.Request) { r.Header.Del("X-Service-UUID") })
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, status, "%s", answer)
	s.gateway.line(`an export came back for the fourth time and was refused.*"integrations":\["to-acme"\]`)
	accepted := func() float64 { return s.metric("hiregate_received_total", `result="accepted"`) }
	refused := func() float64 { return s.metric("hiregate_received_total", `result="loop"`) }
	require.Eventually(t, func() bool { return refused() >= 3 }, patience, 50*time.Millisecond,
		"the refused export is not tried again")
	require.Equal(t, 4.0, accepted(), "in from outside, and three times back")
}
