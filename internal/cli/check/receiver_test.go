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

// having is an answer to exports whose body has a text.
func having(text string, status int) func(*http.Request, []byte) int {
	return func(_ *http.Request, body []byte) int {
		if bytes.Contains(body, []byte(text)) {
			return status
		}
		return 0
	}
}

// ifSignature answers 202 to an export whose signature a fault accepts.
func ifSignature(accepts func(header string) bool) func(*http.Request, []byte) int {
	return func(r *http.Request, _ []byte) int {
		if r.Header.Get("X-Service-Event") == webhook.EventExport && accepts(r.Header.Get("X-Service-Signature")) {
			return 202
		}
		return 0
	}
}

// crowd counts how many are inside at once. Whoever is inside waits a while for others.
type crowd struct {
	mu     sync.Mutex
	inside int
	full   chan struct{}
}

// enter returns false when more than most are inside.
func (c *crowd) enter(most int) bool {
	c.mu.Lock()
	if c.full == nil {
		c.full = make(chan struct{})
	}
	full := c.full
	c.inside++
	n := c.inside
	if n == most+1 {
		close(c.full)
		c.full = nil
	}
	c.mu.Unlock()
	patience := 10 * time.Second
	if n == 1 {
		patience = 30 * time.Millisecond
	}
	ok := n <= most
	if ok {
		select {
		case <-full:
		case <-time.After(patience):
		}
	}
	c.mu.Lock()
	c.inside--
	c.mu.Unlock()
	return ok
}

var hex64 = regexp.MustCompile(`^[0-9a-f]{64}$`)

// faults has for each check a receiver that has just this fault.
var faults = []struct {
	check string
	fault func(*endpoint)
	also  []string // other musts that fail, and why below
	why   string
}{
	{check: "B-01", fault: func(e *endpoint) { e.verified = func() int { return 204 } }, also: []string{"B-02"},
		why: "a VERIFY that is never answered 200 is not answered 200 again"},
	{check: "B-02", fault: func(e *endpoint) {
		n := 0
		e.verified = func() int {
			if n++; n > 1 {
				return 409
			}
			return 200
		}
	}},
	{check: "B-03", fault: func(e *endpoint) {
		e.early = func(r *http.Request, _ []byte) int {
			if r.Header.Get("X-Service-Event") == webhook.EventVerify {
				return 200
			}
			return 0
		}
	}},
	{check: "B-04", fault: func(e *endpoint) { e.early = ifSignature(func(header string) bool { return header == "" }) }},
	{check: "B-05", fault: func(e *endpoint) { e.early = ifSignature(hex64.MatchString) }, also: []string{"B-06"},
		why: "who takes any hex takes another body's signature, too"},
	{check: "B-06", fault: func(e *endpoint) {
		seen := map[string]bool{}
		var mu sync.Mutex
		e.early = func(r *http.Request, body []byte) int {
			mu.Lock()
			defer mu.Unlock()
			header := r.Header.Get("X-Service-Signature")
			if seen[header] && r.Header.Get("X-Service-Event") == webhook.EventExport {
				return 202
			}
			seen[header] = seen[header] || webhook.Verify(header, body, e.secrets...)
			return 0
		}
	}},
	{check: "B-07", fault: func(e *endpoint) {
		e.early = func(r *http.Request, _ []byte) int {
			if header := r.Header.Get("X-Service-Signature"); header != "" && !hex64.MatchString(header) {
				return 500
			}
			return 0
		}
	}},
	{check: "B-07", fault: func(e *endpoint) { // a decoder that stops where the digits end
		e.early = func(r *http.Request, body []byte) int {
			header := r.Header.Get("X-Service-Signature")
			if r.Header.Get("X-Service-Event") == webhook.EventExport && len(header) > 64 &&
				webhook.Verify(header[:64], body, e.secrets...) {
				return 202
			}
			return 0
		}
	}},
	{check: "B-08", fault: func(e *endpoint) {
		e.late = func(_ *http.Request, body []byte) int {
			var b struct {
				Candidate struct{ Person map[string]json.RawMessage }
			}
			if json.Unmarshal(body, &b) == nil && b.Candidate.Person["name"] == nil {
				return 422
			}
			return 0
		}
	}, also: []string{"B-11", "B-12", "B-13", "B-14", "B-16", "B-19", "B-20", "B-25", "B-26"},
		why: "these send the least as well"},
	{check: "B-09", fault: func(e *endpoint) { e.late = having(`"Service Start Date"`, 422) }},
	{check: "B-10", fault: func(e *endpoint) { e.late = having(`:null`, 422) }},
	{check: "B-11", fault: func(e *endpoint) { e.late = having(`"checkExtra"`, 422) }},
	{check: "B-12", fault: func(e *endpoint) {
		e.late = func(_ *http.Request, body []byte) int {
			gender := regexp.MustCompile(`"gender":"([^"]*)"`).FindSubmatch(body)
			if gender != nil && string(gender[1]) != "Female" && string(gender[1]) != "Male" {
				return 422
			}
			return 0
		}
	}},
	{check: "B-13", fault: func(e *endpoint) {
		e.signed = func(body []byte) []byte {
			var out bytes.Buffer
			if json.Compact(&out, body) != nil {
				return body
			}
			return out.Bytes()
		}
	}},
	{check: "B-14", fault: func(e *endpoint) { e.signed = writtenAgain }, also: []string{"B-13", "B-15"},
		why: "who sorts keys writes the JSON again, without white space and escapes"},
	{check: "B-15", fault: func(e *endpoint) {
		e.signed = func(body []byte) []byte { return bytes.ReplaceAll(body, []byte(`\u00e9`), []byte("é")) }
	}},
	{check: "B-16", fault: func(e *endpoint) {
		e.signed = func(body []byte) []byte {
			return regexp.MustCompile(`[0-9.]+E?[0-9]*[,\]]`).ReplaceAllFunc(body, func(number []byte) []byte {
				var n float64
				end := len(number) - 1
				if json.Unmarshal(number[:end], &n) != nil {
					return number
				}
				written, _ := json.Marshal(n) // a float64 always can be
				return append(written, number[end])
			})
		}
	}},
	{check: "B-17", fault: func(e *endpoint) {
		e.late = func(_ *http.Request, body []byte) int {
			if strings.ContainsFunc(string(body), func(r rune) bool { return r > 0xffff }) {
				return 500
			}
			return 0
		}
	}},
	{check: "B-18", fault: func(e *endpoint) {
		e.early = func(_ *http.Request, body []byte) int {
			if len(body) > 1<<15 {
				return 413
			}
			return 0
		}
	}},
	{check: "B-19", fault: func(e *endpoint) { e.again = func(bool, int) int { return 409 } }, also: []string{"B-20"},
		why: "ten at once are nine repetitions"},
	{check: "B-20", fault: func(e *endpoint) {
		e.again = func(same bool, times int) int {
			if times > 2 {
				return 500
			}
			return map[bool]int{true: 200, false: 409}[same]
		}
	}},
	{check: "B-21", fault: func(e *endpoint) {
		e.again = func(same bool, _ int) int { return map[bool]int{true: 200, false: 500}[same] }
	}},
	{check: "B-22", fault: func(e *endpoint) { e.broken = 500 }},
	{check: "B-23", fault: func(e *endpoint) { e.unknown = 500 }},
	{check: "B-24", fault: func(e *endpoint) { e.get = 200 }},
	{check: "B-25", fault: func(e *endpoint) {
		c := new(crowd)
		e.late = func(*http.Request, []byte) int {
			if !c.enter(10) {
				return 503
			}
			return 0
		}
	}},
	{check: "B-26", fault: func(e *endpoint) { e.secrets = e.secrets[:1] }},
	{check: "B-27", fault: func(e *endpoint) {
		e.late = func(*http.Request, []byte) int {
			<-time.After(slow)
			return 0
		}
	}},
	{check: "B-28", fault: func(e *endpoint) { e.cased = true }},
	{check: "B-29", fault: func(e *endpoint) { e.asks = func(int, int) bool { return false } }},
	{check: "B-30", fault: func(e *endpoint) { e.asks = func(status, _ int) bool { return status == 0 } }},
	{check: "B-31", fault: func(e *endpoint) {
		e.asks = func(status, times int) bool { return status != 200 && times < 3 }
	}},
}

// slow is how long the receiver of B-27 takes, and more than what its test allows.
const slow = 20 * time.Millisecond

// writtenAgain parses JSON and writes it, as receivers do that sign what their framework gives them.
func writtenAgain(body []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if d.Decode(&v) != nil || e.Encode(v) != nil {
		return body
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
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
