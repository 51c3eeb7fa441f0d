package check

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/webhook"
)

// some runs some checks on a receiver.
func some(t *testing.T, handler http.Handler, only ...string) (results map[string]Result) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return someAt(t, server.URL, only...)
}

func someAt(t *testing.T, url string, only ...string) map[string]Result {
	t.Helper()
	names, err := webhook.NamesFor("Service")
	require.NoError(t, err)
	r := newReceiver(url, names)
	r.secret, r.nextSecret, r.most = present, next, 1<<16
	defer r.client.CloseIdleConnections()
	checks, err := selected(receiverChecks, only)
	require.NoError(t, err)
	results := map[string]Result{}
	runAll(t.Context(), checks, r, func(r Result) { results[r.ID] = r })
	return results
}

// What answers everything the same, such as a web server or a receiver that knows another secret, does not check signatures.
func TestOneAnswerToEverythingProvesNothing(t *testing.T) {
	t.Parallel()
	for status, todo := range map[int]string{
		401: "name the file of the receiver's secret with --secret",
		404: "or correct the URL",
		405: "or correct the URL",
		307: "the service follows no redirect",
		500: "look into the receiver's log",
		501: "or correct the URL",
	} {
		results := some(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		for id, r := range results {
			require.NotEqual(t, passed, r.Verdict, "%d: %s", status, id)
		}
		for _, id := range []string{"B-03", "B-04", "B-05", "B-06", "B-07", "B-21", "B-22", "B-23", "B-24", "B-27"} {
			require.Equal(t, skipped, results[id].Verdict, "%d: %s", status, id)
			require.Contains(t, results[id].Skipped, fmt.Sprint(status, " "), id)
		}
		require.Contains(t, results["B-01"].Do, todo, status)
		require.Contains(t, results["B-08"].Do, todo, status)
		for _, id := range []string{"B-09", "B-13", "B-18", "B-19", "B-20", "B-25", "B-26"} {
			require.Equal(t, failed, results[id].Verdict, "%d: %s", status, id)
			require.NotContains(t, results[id].Do, "raise the limit", status)
		}
		require.Contains(t, results["B-18"].Do, map[bool]string{true: todo, false: "see B-08"}[status == 307], status)
	}
}

// limited takes so many requests a second and tells others to come again.
func limited(perSecond int, retryAfter string, next http.Handler) http.Handler {
	var mu sync.Mutex
	var taken []time.Time
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		for len(taken) > 0 && time.Since(taken[0]) > time.Second {
			taken = taken[1:]
		}
		full := len(taken) == perSecond
		if !full {
			taken = append(taken, time.Now())
		}
		mu.Unlock()
		if !full {
			next.ServeHTTP(w, r)
			return
		}
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(http.StatusTooManyRequests)
	})
}

func TestReceiverThatLimitsIsWaitedFor(t *testing.T) {
	t.Parallel()
	for id, r := range some(t, limited(5, "1", newEndpoint()), "B-0*", "B-25") {
		require.Equal(t, passed, r.Verdict, "%s: %+v", id, r)
	}
	results := some(t, limited(0, "", newEndpoint()), "B-04", "B-08")
	require.Equal(t, skipped, results["B-04"].Verdict)
	require.Contains(t, results["B-08"].Do, "Retry-After")

	e := newEndpoint()
	e.early = ifSignature(func(header string) bool { return header == "" })
	unsigned := e.early
	e.early = func(r *http.Request, body []byte) int {
		if unsigned(r, body) != 0 {
			return http.StatusTooManyRequests
		}
		return 0
	}
	require.Equal(t, failed, some(t, e, "B-04")["B-04"].Verdict, "429 is no refusal of a signature")
}

// Whoever queues may postpone an export, but VERIFY wants 200 at once.
func TestReceiverThatPostponesIsWaitedFor(t *testing.T) {
	t.Parallel()
	n, e := 0, newEndpoint()
	results := some(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n++; n%2 == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		e.ServeHTTP(w, r)
	}), "B-01", "B-08")
	require.Equal(t, failed, results["B-01"].Verdict)
	require.Contains(t, results["B-01"].Do, "answer 200 also while exports have to wait")
	require.Equal(t, passed, results["B-08"].Verdict, "%+v", results["B-08"])
}

// A receiver that a request ends fails that check alone: the others are not run, or run on the one that is started in its place.
func TestReceiverThatEnds(t *testing.T) {
	t.Parallel()
	for _, comesBack := range []bool{false, true} {
		e := newEndpoint()
		e.broken = 0
		server := httptest.NewUnstartedServer(nil)
		address := server.Listener.Addr().String()
		server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength < 20 { // broken JSON
				server.Listener.Close()
				if comesBack {
					listener, err := net.Listen("tcp", address)
					if err == nil {
						t.Cleanup(func() { listener.Close() })
						go http.Serve(listener, e)
					}
				}
				panic(http.ErrAbortHandler)
			}
			e.ServeHTTP(w, r)
		})
		server.Start()
		t.Cleanup(server.Close)
		names, err := webhook.NamesFor("Service")
		require.NoError(t, err)
		r := newReceiver("http://"+address, names)
		r.secret = present
		if !comesBack {
			r.restart = 0
		}
		checks, err := selected(receiverChecks, []string{"B-08", "B-22", "B-23", "B-25"})
		require.NoError(t, err)
		results := map[string]Result{}
		ended := runAll(t.Context(), checks, r, func(r Result) { results[r.ID] = r })
		r.client.CloseIdleConnections()
		require.Equal(t, passed, results["B-08"].Verdict)
		require.Equal(t, failed, results["B-22"].Verdict)
		require.Contains(t, results["B-22"].Do, "the request made it close the connection")
		if comesBack {
			require.NoError(t, ended)
			require.Equal(t, passed, results["B-23"].Verdict, "%+v", results["B-23"])
			require.Equal(t, passed, results["B-25"].Verdict, "%+v", results["B-25"])
			continue
		}
		require.ErrorContains(t, ended, "the receiver can't be reached any more (connection refused)")
		require.Len(t, results, 2)

		r.broke.Store(true)
		cmd, out := new(cobra.Command), new(strings.Builder)
		cmd.SetOut(out)
		cmd.SetErr(out)
		err = play(t.Context(), cmd, &flags{format: "table"}, checks, r)
		require.ErrorContains(t, err, "only 0 of 4 checks were run: the receiver can't be reached any more (connection refused); start it again")
		require.ErrorContains(t, err, "--only B-08,B-22,B-23,B-25")
		require.Equal(t, 3, terminal.ExitCode(err))
		require.Contains(t, out.String(), "B-25 was skipped: it was not run, because the receiver can't be reached any more")
	}
}

func TestSlowReceiverIsFoundOutWithTwoExports(t *testing.T) {
	t.Parallel()
	names, err := webhook.NamesFor("Service")
	require.NoError(t, err)
	e, sent := newEndpoint(), 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { sent++; e.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	r := newReceiver(server.URL, names)
	r.secret, r.prompt = present, 0
	found := prompt(t.Context(), r)
	require.Contains(t, found.Got, "2 of the first 2 took longer")
	require.Equal(t, 2, sent)
}

// In lower case a request has the same headers, and no other User-Agent beside.
func TestLowerCaseAddsNoHeader(t *testing.T) {
	t.Parallel()
	e := newEndpoint()
	var mu sync.Mutex
	var heads []string
	e.early = func(r *http.Request, _ []byte) int {
		mu.Lock()
		defer mu.Unlock()
		heads = append(heads, headOf(r))
		return 0
	}
	require.Equal(t, passed, someAt(t, serve(t, e), "B-28")["B-28"].Verdict)
	require.Contains(t, strings.Join(heads, ""), "x-service-signature: ")
	require.NotContains(t, strings.Join(heads, ""), "Go-http-client")
}

func TestCredentialsOfTheReceiver(t *testing.T) {
	t.Parallel()
	e := newEndpoint()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "acme" || password != "open" {
			w.Header().Set("WWW-Authenticate", `Basic realm="acme"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		e.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	folder := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	secret := file("secret", []byte(present))
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	run := func(more ...string) (string, int) {
		return hiregate(append([]string{"receiver", server.URL + "/acme", "--secret", secret, "--only", "B-01,B-04,B-08"}, more...)...)
	}
	out, code := run()
	require.Equal(t, 1, code)
	require.Contains(t, out, "--authentication-file")

	out, code = run("--authentication-file", file("authority", encode(object{"tls": object{"ca": authority}})))
	require.Equal(t, 1, code)
	require.Contains(t, out, "the receiver asks for a user name and a password: give them with --authentication-file")

	out, code = run("--authentication-file", file("both", encode(object{"tls": object{"ca": authority},
		"basic": object{"user": "acme", "password": "open"}})))
	require.Equal(t, 0, code, out)
	require.Contains(t, out, "3 of 3 checks passed")

	for _, wrong := range []any{object{"basic": "acme:open"}, object{"headers": []object{{"name": "X-Service-Event", "value": "open"}}}} {
		out, code = run("--authentication-file", file("wrong", encode(wrong)))
		require.Equal(t, 3, code)
		require.Contains(t, out, "--authentication-file: ")
		require.NotContains(t, out, "open")
	}
}

func TestAnswerThatBreaksOffIsNotTheURLs(t *testing.T) {
	t.Parallel()
	e := newEndpoint()
	results := some(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Service-Event") != webhook.EventVerify {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = conn.Write([]byte("HTTP/1.1 20"))
				conn.Close()
			}
			return
		}
		e.ServeHTTP(w, r)
	}), "B-01", "B-08")
	require.Equal(t, passed, results["B-01"].Verdict)
	require.Contains(t, results["B-08"].Do, "look into the receiver's log: its answer breaks off")
}

// The configured URL must contain an identifier (contract, "Endpoints", B).
func TestURLWithoutIdentifierIsNoticed(t *testing.T) {
	t.Parallel()
	url, secret := serve(t, newEndpoint()), filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte(present), 0o600))
	for end, noticed := range map[string]bool{"": true, "/": true, "/?client=": true, "/acme": false, "/acme/": false, "/?client=acme": false} {
		out, code := hiregate("receiver", url+end, "--secret", secret, "--only", "B-01")
		require.Zero(t, code, out)
		require.Equal(t, noticed, strings.Contains(out, "The URL has no identifier"), end)
	}
}
