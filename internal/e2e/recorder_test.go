package e2e

import (
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// recorder is a partner whose answers a test decides. It listens at the system's address for one.
type recorder struct {
	mu       sync.Mutex
	answer   func(event string, n int) int // status for the n-th request of an event, from 1
	says     string                        // what an answer holds
	accepts  func(request) bool            // whether a signature is right; nil: it is not looked at
	counts   map[string]int
	requests []request
	server   *http.Server
}

type request struct {
	at     time.Time
	event  string
	id     string
	path   string
	body   []byte
	header http.Header
}

func (s *system) startRecorder(answer func(event string, n int) int) *recorder {
	s.t.Helper()
	r := &recorder{answer: answer, counts: map[string]int{}}
	r.server = &http.Server{Handler: r}
	listener, err := net.Listen("tcp", s.partner()) // before anybody is told of it
	require.NoError(s.t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := r.server.Serve(listener); err != http.ErrServerClosed {
			s.t.Errorf("the partner stopped answering: %v", err)
		}
	}()
	s.t.Cleanup(func() { r.server.Close(); <-ended })
	return r
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	event := q.Header.Get("X-Service-Event")
	r.counts[event]++
	status := r.answer(event, r.counts[event])
	one := request{time.Now(), event, q.Header.Get("X-Service-UUID"), q.URL.Path, body, q.Header}
	r.requests = append(r.requests, one)
	if r.accepts != nil && !r.accepts(one) {
		status = http.StatusUnauthorized
	}
	r.mu.Unlock()
	if status >= 300 && status < 400 {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, r.says)
}

// of returns the requests of an event.
func (r *recorder) of(event string) (all []request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.requests {
		if one.event == event {
			all = append(all, one)
		}
	}
	return all
}

// arrivals counts how often each export came.
func (r *recorder) arrivals() map[string]int {
	n := map[string]int{}
	for _, one := range r.of("CANDIDATE-EXPORT") {
		n[one.id]++
	}
	return n
}

func (r *recorder) awaitExports(t *testing.T, n int) []request {
	t.Helper()
	require.Eventually(t, func() bool { return len(r.of("CANDIDATE-EXPORT")) >= n }, patience, 20*time.Millisecond,
		"fewer than %d exports came", n)
	return r.of("CANDIDATE-EXPORT")
}
