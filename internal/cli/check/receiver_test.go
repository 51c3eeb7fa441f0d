package check

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/webhook"
)

const (
	present = "the-present-secret"
	next    = "the-next-secret"
)

// endpoint is a sound receiver of a partner, but for its fault.
type endpoint struct {
	secrets []string
	// A fault replaces one of these; each returns the status to answer with, or 0 to go on.
	early    func(r *http.Request, body []byte) int // before the signature is checked
	late     func(r *http.Request, body []byte) int // of a well-signed export
	verified func() int                             // the answer to VERIFY
	signed   func(body []byte) []byte               // the bytes that the signature is checked over
	broken   int                                    // the answer to broken JSON
	unknown  int                                    // the answer to an unknown event
	get      int
	again    func(same bool, times int) int // the answer to a known UUID
	asks     func(status, times int) bool   // whether a document is asked for again after that status, the first time and after others
	cased    bool                           // header names are compared with their case

	mu    sync.Mutex
	known map[string][]byte
	times map[string]int
}

func newEndpoint() *endpoint {
	return &endpoint{
		secrets:  []string{present, next},
		early:    func(*http.Request, []byte) int { return 0 },
		late:     func(*http.Request, []byte) int { return 0 },
		verified: func() int { return 200 },
		signed:   func(body []byte) []byte { return body },
		broken:   400, unknown: 400, get: 405,
		again: func(same bool, _ int) int {
			if same {
				return 200
			}
			return 409
		},
		asks:  func(status, _ int) bool { return status == 0 || status == 503 },
		known: map[string][]byte{}, times: map[string]int{},
	}
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(400)
		return
	}
	w.WriteHeader(e.answer(r, body))
}

func (e *endpoint) answer(r *http.Request, body []byte) int {
	if r.Method != http.MethodPost {
		return e.get
	}
	if status := e.early(r, body); status != 0 {
		return status
	}
	if !webhook.Verify(r.Header.Get("X-Service-Signature"), e.signed(body), e.secrets...) {
		return 401
	}
	if e.cased && !strings.Contains(headOf(r), "X-Service-Signature: ") {
		return 401
	}
	switch r.Header.Get("X-Service-Event") {
	case webhook.EventVerify:
		return e.verified()
	case webhook.EventExport:
	default:
		return e.unknown
	}
	if !json.Valid(body) {
		return e.broken
	}
	if status := e.late(r, body); status != 0 {
		return status
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	uuid := r.Header.Get("X-Service-UUID")
	e.times[uuid]++
	if before, ok := e.known[uuid]; ok {
		return e.again(bytes.Equal(before, body), e.times[uuid])
	}
	e.known[uuid] = body
	e.fetch(body)
	return 202
}

// fetch asks for the documents of an export before it is answered.
func (e *endpoint) fetch(body []byte) {
	for _, url := range regexp.MustCompile(`"url":"([^"]*)"`).FindAllSubmatch(body, -1) {
		for status, times := 0, 0; e.asks(status, times); times++ {
			answer, err := http.Get(string(url[1]))
			if err != nil {
				return
			}
			answer.Body.Close()
			status = answer.StatusCode
		}
	}
}

// serve serves an endpoint, whose requests have their heads as they came: see headOf.
func serve(t *testing.T, e *endpoint) (url string) {
	t.Helper()
	server := httptest.NewUnstartedServer(e)
	server.Listener = recorder{server.Listener}
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, recorder{}, c)
	}
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// recorder is a listener whose connections record what they read.
type recorder struct{ net.Listener }

func (r recorder) Accept() (net.Conn, error) {
	c, err := r.Listener.Accept()
	return &recorded{Conn: c}, err
}

type recorded struct {
	net.Conn
	mu   sync.Mutex
	read []byte
}

func (r *recorded) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read = append(r.read, p[:n]...)
	return n, err
}

// headOf is all that came on the connection since the request before, whose names of headers are as they were sent.
func headOf(r *http.Request) string {
	c := r.Context().Value(recorder{}).(*recorded)
	c.mu.Lock()
	defer c.mu.Unlock()
	head := string(c.read)
	c.read = nil
	return head
}

// resultsOf runs all checks on a receiver.
func resultsOf(t *testing.T, url string, prompt time.Duration) map[string]Result {
	t.Helper()
	names, err := webhook.NamesFor("Service")
	require.NoError(t, err)
	r := newReceiver(url, names)
	r.secret, r.nextSecret, r.prompt, r.most, r.quiet = present, next, prompt, 1<<16, 0
	defer r.client.CloseIdleConnections()
	end, err := r.serveDocuments("127.0.0.1:0", "") // the endpoint fetches before it answers: nobody has to wait
	require.NoError(t, err)
	defer end()
	results := map[string]Result{}
	runAll(t.Context(), receiverChecks, r, func(r Result) { results[r.ID] = r })
	require.Len(t, results, len(receiverChecks))
	return results
}

const long = time.Minute

func TestSoundReceiverPasses(t *testing.T) {
	t.Parallel()
	for _, r := range resultsOf(t, serve(t, newEndpoint()), long) {
		require.Equal(t, passed, r.Verdict, "%+v", r)
	}
}

func TestEachReceiverCheckFindsItsFault(t *testing.T) {
	t.Parallel()
	proven := map[string]bool{}
	for _, f := range faults {
		proven[f.check] = true
		require.Equal(t, f.also == nil, f.why == "", f.check)
		t.Run(f.check, func(t *testing.T) {
			t.Parallel()
			e := newEndpoint()
			f.fault(e)
			limit := long
			if f.check == "B-27" {
				limit = slow
			}
			results := resultsOf(t, serve(t, e), limit)
			proves(t, results, f.check, f.also, passed, skipped)
		})
	}
	for _, c := range receiverChecks {
		require.True(t, proven[c.id], "%s has no receiver with its fault", c.id)
	}
}
