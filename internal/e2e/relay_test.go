package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/applyclient"
)

// relayedService is an Apply API that refuses all tokens until it is told to work.
type relayedService struct {
	*httptest.Server
	mu      sync.Mutex
	works   bool
	hang    chan struct{}     // closed: applications are answered
	bodies  map[string]string // of the accepted applications, by their key
	arrived chan string       // the key of each application that was read
}

func newRelayedService(t *testing.T) *relayedService {
	t.Helper()
	s := &relayedService{bodies: map[string]string{}, arrived: make(chan string, 1000), hang: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, applyclient.SignInPath):
			io.WriteString(w, `{"token":"t-1"}`)
		case r.Method == http.MethodGet:
			io.WriteString(w, emailAndResume)
		default:
			s.apply(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *relayedService) apply(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	key := r.Header.Get("Idempotency-Key")
	s.arrived <- key
	<-s.hang
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.works {
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"code":401,"message":"no"}`)
		return
	}
	if _, known := s.bodies[key]; known {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	s.bodies[key] = string(raw)
	w.WriteHeader(http.StatusNoContent)
}

func (s *relayedService) work() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.works = true
}

// TestApplicationsOutliveTheirServiceAndTheGateway has a service hang, the gateway killed in the middle of the first attempt,
// and the service refuse every token for a while: what was acknowledged arrives, with its files, once.
func TestApplicationsOutliveTheirServiceAndTheGateway(t *testing.T) {
	t.Parallel()
	service := newRelayedService(t)
	s := newSystemWith(t, setup{routes: "handle_path /apply/* {\napply_api\n}", tenant: "apply_upstream " + service.URL + ` {
		user     partner@acme.example
		password service-password
		wait     200ms
	}`})
	s.post201("/tenants/acme/api-users", map[string]string{"userName": "partner@example.com", "password": "correct horse"})
	send := func(key string) (id string) {
		t.Helper()
		status, id, answer, err := s.apply(applyToken(t, s.url("/apply")), key, strings.NewReader(`{"jobBoardCode":"NURSE-1",
			"source":"","answers":[{"questionId":"email","value":"marker-`+key+`@example.com"},
			{"questionId":"resume","value":"JVBERi0xLjQKbWFya2VyLWZpbGU="}]}`))
		require.NoError(t, err)
		require.Equal(t, http.StatusNoContent, status, "%s", answer)
		return id
	}
	first := send("a-1")
	<-service.arrived
	s.gateway.signal(syscall.SIGKILL)
	s.gateway.exitCode()
	close(service.hang)
	s.startGateway()
	second := send("a-2")
	require.Equal(t, second, send("a-2"), "a repeat is the same submission")
	require.Eventually(t, func() bool {
		return strings.Contains(s.cli("status"), "applications don't reach the service")
	}, patience, 100*time.Millisecond, "nobody is told")
	require.Contains(t, s.cli("submission", "list", "acme", "--state", "waiting"), first)

	service.work()
	require.Eventually(t, func() bool {
		list := s.cli("submission", "list", "acme", "--state", "delivered")
		return strings.Contains(list, first) && strings.Contains(list, second)
	}, patience, 200*time.Millisecond, "they don't arrive")
	service.mu.Lock()
	defer service.mu.Unlock()
	require.Len(t, service.bodies, 2, "each has one key")
	for _, body := range service.bodies {
		require.Contains(t, body, "JVBERi0xLjQKbWFya2VyLWZpbGU=")
	}
	require.Contains(t, s.cli("submission", "show", "acme/"+first), "yes", "the killed attempt may have arrived")
	require.NotContains(t, s.cli("status"), "applications don't reach")
	s.history(s.temporalClient(), []string{"marker-", "service-password", service.URL}, "submission/attempt", "submission/acme/"+first)
}
