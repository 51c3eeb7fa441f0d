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
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

// recruiter is a sound service, which saves an integration, and exports two candidates; a fault replaces one of its parts.
type recruiter struct {
	t        *testing.T
	p        *playedReceiver
	base     string // of the played receiver
	store    *httptest.Server
	client   *http.Client
	verifies bool // before it exports
	repeats  bool // what was not received
	people   int  // how many candidates are exported
	verified func(status int) bool

	method, address string
	event           func(kind string) string
	sign            func(body []byte) string
	header          func(kind string, h http.Header) // the last word about it
	verification    []byte
	candidate       func(c, person, profile object)   // the last word about an export
	written         func(body []byte) []byte          // likewise
	uuid            func(n, try int) string           // of the n-th export
	rewritten       func(body []byte, try int) []byte // of an export that is sent again
	pause           func()                            // before it is
	taken           func(send func())                 // after it was received
	ctx             func(n int) context.Context       // of a request of the n-th export
	document        func(w http.ResponseWriter, r *http.Request, asked int)
	documentURL     func(address string) string
}

// compiled is the validator of most services.
var compiled = sync.OnceValues(func() (*schemas.Validator, error) { return schemas.New("Service") })

func newRecruiter(t *testing.T, service string) *recruiter {
	names, err := webhook.NamesFor(service)
	require.NoError(t, err)
	validator, err := compiled()
	if service != "Service" {
		validator, err = schemas.New(service)
	}
	require.NoError(t, err)
	p := newPlayedReceiver(names, "check-sender-secret", validator)
	p.slow, p.quiet, p.away = time.Millisecond, time.Millisecond, time.Millisecond
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	r := &recruiter{t: t, p: p, base: server.URL, verifies: true, repeats: true, people: 2, method: http.MethodPost,
		address: senderPath + "?" + senderQuery, verification: names.VerifyBody()}
	r.client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r.verified = func(status int) bool { return status == http.StatusOK }
	r.event = func(kind string) string { return kind }
	r.sign = func(body []byte) string { return webhook.Sign(p.secret, body) }
	r.header, r.candidate = func(string, http.Header) {}, func(_, _, _ object) {}
	r.written, r.rewritten = func(b []byte) []byte { return b }, func(b []byte, _ int) []byte { return b }
	ids := map[int]string{}
	r.uuid = func(n, _ int) string {
		if ids[n] == "" {
			ids[n] = uuid.NewString()
		}
		return ids[n]
	}
	r.pause = func() { <-time.After(p.away + time.Millisecond) }
	r.taken = func(func()) {}
	r.ctx = func(int) context.Context { return t.Context() }
	r.document = func(w http.ResponseWriter, _ *http.Request, _ int) { answerDocument(w, []byte("%PDF-1.4 résumé")) }
	r.documentURL = func(address string) string { return address }
	var asked atomic.Int64 // one after the other, on several connections
	r.store = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.document(w, q, int(asked.Add(1)))
	}))
	t.Cleanup(r.store.Close)
	return r
}

func answerDocument(w http.ResponseWriter, content []byte) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object{"content": base64.StdEncoding.EncodeToString(content), "mimeType": "application/pdf",
		"fileName": "résumé.pdf"})
}

// send sends an event and returns the status that it was answered with; 0: with none.
func (r *recruiter) send(ctx context.Context, kind, id string, body []byte) (status int) {
	q, err := http.NewRequestWithContext(ctx, r.method, r.base+r.address, bytes.NewReader(body))
	require.NoError(r.t, err)
	names := r.p.names
	q.Header = http.Header{"Content-Type": {"application/json"}, "User-Agent": {names.UserAgent}, names.Event: {r.event(kind)},
		names.Signature: {r.sign(body)}}
	if kind == webhook.EventExport {
		q.Header[names.UUID], q.Header[webhook.LinkHeader] = []string{id}, []string{"https://service.example.com/candidates/7"}
		q.Header[names.ExportContext] = []string{"NURSE-1"}
	}
	r.header(kind, q.Header)
	answer, err := r.client.Do(q)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

// export exports the n-th candidate, from 1, until it is received.
func (r *recruiter) export(n int) {
	made := &receiver{names: r.p.names, run: "run"}
	attachment := object{"id": made.id("Document to Candidate"), "descriptions": []string{"CV"},
		"url": r.documentURL(fmt.Sprint(r.store.URL, "/", n))}
	var whole struct{ Candidate object }
	require.NoError(r.t, json.Unmarshal(made.full(), &whole))
	c := whole.Candidate
	profile := c["profiles"].([]any)[0].(object)
	profile["attachments"] = []any{attachment}
	r.candidate(c, c["person"].(object), profile)
	original := r.written(body(c))
	for try := range 5 {
		sent := original
		if try > 0 {
			r.pause()
			sent = r.rewritten(original, try)
		}
		id := r.uuid(n, try)
		if status := r.send(r.ctx(n), webhook.EventExport, id, sent); status/100 == 2 {
			r.taken(func() { r.send(r.t.Context(), webhook.EventExport, id, sent) })
			return
		}
		if !r.repeats {
			return
		}
	}
}

// results lets the service do all that it does, and runs the checks.
func (r *recruiter) results() map[string]Result {
	if r.verifies {
		for range 3 {
			if r.verified(r.send(r.t.Context(), webhook.EventVerify, "", r.verification)) {
				break
			}
		}
	}
	for n := range r.people {
		r.export(n + 1)
	}
	require.Eventually(r.t, func() bool {
		r.p.mu.Lock()
		defer r.p.mu.Unlock()
		return r.p.fetches == 0
	}, time.Minute, time.Millisecond)
	results := map[string]Result{}
	runAll(r.t.Context(), senderChecks, r.p, func(one Result) { results[one.ID] = one })
	return results
}

// What a sound service does in its own way is no fault.
func TestSoundServicesPass(t *testing.T) {
	t.Parallel()
	ways := map[string]func(*recruiter){
		"as the contract shows it": func(*recruiter) {},
		"header names in small letters": func(r *recruiter) {
			r.header = func(_ string, h http.Header) {
				for name, values := range h {
					if name != "User-Agent" { // Go's client would add its own
						delete(h, name)
						h[strings.ToLower(name)] = values
					}
				}
			}
		},
		"a signature in capitals": func(r *recruiter) {
			r.sign = func(b []byte) string { return strings.ToUpper(webhook.Sign(r.p.secret, b)) }
		},
		"a charset, and headers of its own": func(r *recruiter) {
			r.header = func(_ string, h http.Header) {
				h["Content-Type"], h["X-Trace"] = []string{"Application/JSON; charset=utf-8"}, []string{"1"}
			}
		},
		"properties of its own": func(r *recruiter) {
			r.candidate = func(c, person, _ object) {
				c["checkExtra"], person["pronouns"] = object{"Person": object{"Id": 1}}, []string{"they"}
			}
		},
		"the least": func(r *recruiter) {
			r.candidate = func(c, person, profile object) {
				clear(profile)
				profile["attachments"] = []any{object{"id": person["id"], "url": r.store.URL + "/cv"}}
				profile["attachments"].([]any)[0].(object)["id"] = (&receiver{names: r.p.names}).id("Document to Candidate")
				delete(c, "alternateIds")
				for name := range person {
					if name != "id" {
						delete(person, name)
					}
				}
			}
		},
		"no job": func(r *recruiter) {
			n := 0
			r.candidate = func(c, _, _ object) {
				if n++; n == 2 {
					delete(c, "profiles")
				}
			}
			r.header = func(_ string, h http.Header) {
				if n == 2 {
					delete(h, r.p.names.ExportContext)
				}
			}
		},
		"null for what may be absent": func(r *recruiter) { r.candidate = func(_, person, _ object) { person["gender"] = nil } },
		"white space and escapes": func(r *recruiter) {
			r.written = func(b []byte) []byte {
				return append([]byte("\n  "), bytes.ReplaceAll(b, []byte("ë"), []byte(`\u00eb`))...)
			}
		},
		"documents that come late": func(r *recruiter) {
			sound := r.document
			r.document = func(w http.ResponseWriter, q *http.Request, asked int) {
				if asked == 1 {
					w.Header().Set("Retry-After", "1")
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				sound(w, q, asked)
			}
		},
		"signed URLs that end late": func(r *recruiter) {
			r.documentURL = func(address string) string {
				return address + "?" + url.Values{"X-Amz-Date": {time.Now().UTC().Format("20060102T150405Z")}, "X-Amz-Expires": {"9000"}}.Encode()
			}
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecruiter(t, "Service")
			way(r)
			for id, one := range r.results() {
				require.Equal(t, passed, one.Verdict, "%s: %+v", id, one)
			}
			<-r.p.finished
		})
	}
	t.Run("another maker's name", func(t *testing.T) {
		t.Parallel()
		for id, one := range newRecruiter(t, "Acme").results() {
			require.Equal(t, passed, one.Verdict, "%s: %+v", id, one)
		}
	})
}

// A service that leaves it to people to export again keeps each must.
func TestServiceThatDoesNotRepeat(t *testing.T) {
	t.Parallel()
	r := newRecruiter(t, "Service")
	r.repeats = false
	r.people = 4
	results := r.results()
	<-r.p.finished
	for id, one := range results {
		switch {
		case id == "E-27":
			require.Equal(t, failed, one.Verdict)
			require.Contains(t, one.Got, "nothing under its UUID")
		case id == "E-28", id == "E-29":
			require.Equal(t, skipped, one.Verdict, "%+v", one)
		default:
			require.Equal(t, passed, one.Verdict, "%+v", one)
		}
	}
}

// Whoever interrupts gets a report of what has come, without the secret of a file and without what the candidate's URLs are.
func TestInterruptedSenderCheckReports(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("check-sender-secret\n"), 0o600))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	for exported, code := range map[bool]int{false: 3, true: 0} {
		ctx, interrupt := context.WithCancel(t.Context())
		ended := make(chan struct{})
		var out string
		var got int
		go func() {
			defer close(ended)
			out, got = hiregateIn(ctx, "sender", "--listen", address, "--secret-file", secret, "--only", "E-0*,E-37")
		}()
		r := newRecruiter(t, "Service")
		r.base, r.repeats = "http://"+address, false
		require.Eventually(t, func() bool {
			return r.send(t.Context(), webhook.EventVerify, "", r.verification) == http.StatusAccepted
		},
			time.Minute, 10*time.Millisecond)
		if exported {
			require.Equal(t, http.StatusOK, r.send(t.Context(), webhook.EventVerify, "", r.verification))
			r.export(1)
		}
		interrupt()
		<-ended
		require.Equal(t, code, got, out)
		require.Contains(t, out, " 1  VERIFY            answered 202 Accepted\nThe integration must not count as configured, since only 200 verifies it.")
		require.Contains(t, out, "of 10 checks passed; failed: 0 must, 0 should")
		require.Equal(t, exported, strings.Contains(out, " 3  CANDIDATE-EXPORT  answered 503 Service Unavailable\nIt should come again by itself."), out)
		require.Equal(t, !exported, strings.Contains(out, "no export came, so most checks were skipped"), out)
		require.NotContains(t, out, "check-sender-secret")
		require.NotContains(t, out, r.store.URL)
	}
}
