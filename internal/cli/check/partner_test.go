package check

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// jobBoard is a sound client of a partner, which applies once; a fault replaces one of its parts.
type jobBoard struct {
	t       *testing.T
	base    string
	login   map[string]string
	scheme  string
	known   []question                            // asked without reading what the job asks
	answer  func(q question) any                  // of each question; nil: none
	more    []map[string]any                      // answers beside these
	renew   bool                                  // a token before each application
	give    int                                   // the status after which it gives up
	pause   func(failures int)                    // after a 500
	wait    func(seconds int)                     // after a 429
	correct func(answers []map[string]any, n int) // after a 400
	key     func(n int) string                    // Idempotency-Key of the n-th try

	token string
}

func newJobBoard(t *testing.T, base string) *jobBoard {
	b := &jobBoard{t: t, base: base, login: map[string]string{"userName": partnerUser, "password": partnerPassword}, scheme: "Bearer "}
	sound := newApplicant(base, "", "", "")
	b.answer = func(q question) any {
		if *q.ID == "lastName" {
			return "Lovelace"
		}
		if *q.Format == model.Checkbox {
			return model.JoinOptions(q.Options)
		}
		return sound.sound(q)
	}
	b.pause = func(failures int) { <-time.After(time.Duration(failures) * 20 * time.Millisecond) }
	b.wait = func(seconds int) { <-time.After(time.Duration(seconds)*time.Second + time.Millisecond) }
	b.correct = func(answers []map[string]any, n int) {
		for _, one := range answers {
			if id, _ := one["questionId"].(string); strings.HasPrefix(id, "why") {
				one["value"] = fmt.Sprint("corrected ", n)
			}
		}
	}
	b.key = func(int) string { return "one-key" }
	return b
}

func (b *jobBoard) do(method, path, key string, body any) (int, http.Header, []byte) {
	var raw []byte
	if body != nil {
		raw = encode(body)
	}
	r, err := http.NewRequest(method, b.base+path, bytes.NewReader(raw))
	require.NoError(b.t, err)
	r.Header.Set("Content-Type", "application/json")
	if b.token != "" {
		r.Header.Set("Authorization", b.scheme+b.token)
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(b.t, err)
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	require.NoError(b.t, err)
	return answer.StatusCode, answer.Header, said
}

func (b *jobBoard) signIn() {
	var said struct{ Token string }
	_, _, raw := b.do(http.MethodPost, "/v2/authentication", "", b.login)
	_ = json.Unmarshal(raw, &said)
	b.token = said.Token
}

// applyOnce applies until it is accepted or gives up.
func (b *jobBoard) applyOnce() {
	b.signIn()
	questions := b.known
	if questions == nil {
		_, _, raw := b.do(http.MethodGet, "/v2/job/"+partnerJob+"/question", "", nil)
		if json.Unmarshal(raw, &questions) != nil {
			return
		}
	}
	answers := slices.Clone(b.more)
	for _, q := range questions {
		if value := b.answer(q); value != nil {
			answers = append(answers, map[string]any{"questionId": *q.ID, "value": value})
		}
	}
	failures, key := 0, 0
	for n := range 200 {
		if b.renew {
			b.signIn()
		}
		status, header, _ := b.do(http.MethodPost, "/v2/application", b.key(key),
			map[string]any{"jobBoardCode": partnerJob, "source": "test", "answers": answers})
		switch {
		case status == http.StatusNoContent, status == b.give, n > 20 && status != http.StatusInternalServerError:
			return
		case status == http.StatusInternalServerError:
			failures++
			b.pause(failures)
		case status == http.StatusTooManyRequests:
			seconds, _ := strconv.Atoi(header.Get("Retry-After"))
			b.wait(seconds)
		case status == http.StatusUnauthorized:
			b.signIn()
		case status == http.StatusBadRequest:
			b.correct(answers, n)
			key++
		}
	}
}

// instead answers questions of a format otherwise.
func instead(f model.Format, value any) func(*jobBoard) {
	return func(b *jobBoard) {
		answer := b.answer
		b.answer = func(q question) any {
			if *q.Format == f {
				return value
			}
			return answer(q)
		}
	}
}

// Each check has a client with the fault that it is to find, and the other musts that fail there, with the reason.
var partnerFaults = []struct {
	check string
	fault func(*jobBoard)
	also  []string
	why   string
}{
	{check: "D-01", fault: func(b *jobBoard) { b.login = map[string]string{"user": partnerUser, "password": partnerPassword} },
		also: []string{"D-02"}, why: "without a token there is no header"},
	{check: "D-02", fault: func(b *jobBoard) { b.scheme = "" }},
	{check: "D-03", fault: func(b *jobBoard) { b.renew = true }},
	{check: "D-04", fault: func(b *jobBoard) { b.give = http.StatusUnauthorized }},
	{check: "D-05", fault: func(b *jobBoard) {
		id, text := "firstName", model.Text
		b.known = []question{{ID: &id, Format: &text}}
		b.correct = func(answers []map[string]any, n int) { answers[0]["value"] = fmt.Sprint("Ada ", n) }
	}, also: []string{"D-07"}, why: "it knows one question alone"},
	{check: "D-06", fault: func(b *jobBoard) { b.more = []map[string]any{{"questionId": "nickname", "value": "Ada"}} }},
	{check: "D-07", fault: func(b *jobBoard) {
		answer := b.answer
		b.answer = func(q question) any {
			if *q.ID == "lastName" {
				return nil
			}
			return answer(q)
		}
	}},
	{check: "D-08", fault: instead(model.Number, 5)},
	{check: "D-09", fault: instead(model.Checkbox, "Day | Evening")},
	{check: "D-10", fault: instead(model.Select, "care")},
	{check: "D-11", fault: instead(model.Date, "25.11.2026")},
	{check: "D-12", fault: instead(model.Number, "five")},
	{check: "D-13", fault: instead(model.File, "data:text/plain;base64,Y2hlY2s=")},
	{check: "D-14", fault: instead(model.File, base64.StdEncoding.EncodeToString([]byte("MZ\x90\x00\x03\x00\x00\x00\x04\x00\x00\x00\xff\xff")))},
	{check: "D-15", fault: func(b *jobBoard) { b.wait = func(int) {} }},
	{check: "D-16", fault: func(b *jobBoard) { b.pause = func(int) {} }},
	{check: "D-17", fault: func(b *jobBoard) { b.correct = func([]map[string]any, int) {} }},
	{check: "D-18", fault: func(b *jobBoard) {
		n := 0
		b.key = func(int) string { n++; return fmt.Sprint(n) }
	}},
}

// partnerResults lets a client apply, and runs all checks on what it did.
func partnerResults(t *testing.T, storm time.Duration, fault func(*jobBoard)) map[string]Result {
	t.Helper()
	s, err := newService(partnerUser, partnerPassword, partnerJob)
	require.NoError(t, err)
	s.storm, s.retryAfter = storm, time.Second
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	b := newJobBoard(t, server.URL)
	fault(b)
	b.applyOnce()
	results := map[string]Result{}
	runAll(t.Context(), partnerChecks, s, func(r Result) { results[r.ID] = r })
	require.Len(t, results, len(partnerChecks))
	return results
}

func TestSoundPartnerPasses(t *testing.T) {
	t.Parallel()
	for _, r := range partnerResults(t, 30*time.Millisecond, func(*jobBoard) {}) {
		require.Equal(t, passed, r.Verdict, "%+v", r)
	}
}

func TestEachPartnerCheckFindsItsFault(t *testing.T) {
	t.Parallel()
	proven := map[string]bool{}
	for _, f := range partnerFaults {
		proven[f.check] = true
		require.Equal(t, f.also == nil, f.why == "", f.check)
		t.Run(f.check, func(t *testing.T) {
			t.Parallel()
			storm := 30 * time.Millisecond
			if f.check == "D-16" {
				storm = time.Second
			}
			results := partnerResults(t, storm, f.fault)
			proves(t, results, f.check, f.also, passed, skipped)
		})
	}
	for _, c := range partnerChecks {
		require.True(t, proven[c.id], "%s has no client with its fault", c.id)
	}
}

// seen is a service to which these requests came.
func seen(t *testing.T, all ...observation) map[string]Result {
	t.Helper()
	s, err := newService(partnerUser, partnerPassword, partnerJob)
	require.NoError(t, err)
	s.seen = all
	results := map[string]Result{}
	runAll(t.Context(), partnerChecks, s, func(r Result) { results[r.ID] = r })
	return results
}

// A client that stops at the first 500 did not show whether it tries again.
func TestClientThatStopsIsNotJudgedByWhatItDidNotDo(t *testing.T) {
	t.Parallel()
	once := observation{kind: applies, current: true, authorization: "Bearer x", body: []byte(`{}`), status: http.StatusInternalServerError}
	results := seen(t, once)
	require.Contains(t, results["D-16"].Skipped, "no application came after the 500: start the client again")
	require.Equal(t, "no application was sent again unchanged", results["D-18"].Skipped)
	limited := once
	limited.status = http.StatusTooManyRequests
	results = seen(t, once, limited)
	require.Equal(t, passed, results["D-16"].Verdict)
	require.Equal(t, failed, results["D-18"].Verdict, "it was sent again without a key")
	once.status = http.StatusUnauthorized
	require.Equal(t, "no application came so far that it was answered 500", seen(t, once)["D-16"].Skipped)
}

func TestTokenIsSentWithApplicationsToo(t *testing.T) {
	t.Parallel()
	asked := observation{kind: asksQuestions, authorization: "Bearer x", status: http.StatusOK}
	applied := observation{kind: applies, authorization: "x", body: []byte(`{}`), status: http.StatusUnauthorized}
	results := seen(t, asked, applied)
	require.Equal(t, failed, results["D-02"].Verdict)
	require.Contains(t, results["D-02"].Got, "a request for application whose header")
	applied.authorization = "Token x"
	require.Equal(t, passed, seen(t, asked, applied)["D-02"].Verdict)
	require.Equal(t, passed, seen(t, asked)["D-02"].Verdict)
}

// A client that asks elsewhere, or never applies, is not said to be right.
func TestClientThatDoesNotApplyFails(t *testing.T) {
	t.Parallel()
	require.Equal(t, failed, seen(t, observation{kind: asksElse, asked: "GET /jobs", status: 400})["D-01"].Verdict)
	for request, wanted := range map[string]struct {
		code int
		says string
	}{
		"/v2/authentication": {3, "no application came"},
		"/authentication":    {1, "POST /authentication answered 400"},
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		address := listener.Addr().String()
		require.NoError(t, listener.Close())
		ctx, interrupt := context.WithCancel(t.Context())
		go func() {
			defer interrupt()
			for range 1000 { // until the command listens
				body := strings.NewReader(`{"userName":"` + partnerUser + `","password":"` + partnerPassword + `"}`)
				answer, err := http.Post("http://"+address+request, "application/json", body)
				if err == nil {
					answer.Body.Close()
					return
				}
				<-time.After(10 * time.Millisecond)
			}
		}()
		out, code := hiregateIn(ctx, "partner", "--listen", address)
		require.Equal(t, wanted.code, code, out)
		require.Contains(t, out, wanted.says)
	}
}

func encode(value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings, lists and maps of them always can be
	}
	return raw
}
