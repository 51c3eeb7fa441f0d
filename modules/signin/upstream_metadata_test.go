package signin_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/modules/signin"
)

// One request for all who need the metadata at the same time, each of whom waits as long as they like; a failure is
// not asked for again at once.
func TestReadingMetadata(t *testing.T) {
	t.Parallel()
	var asked, status atomic.Int64
	status.Store(http.StatusServiceUnavailable)
	came, answer := make(chan struct{}, 10), make(chan struct{})
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		came <- struct{}{}
		select {
		case <-answer:
		case <-r.Context().Done():
		}
		w.WriteHeader(int(status.Load()))
		fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":"%s/%d"}`, server.URL, server.URL, asked.Load())
	}))
	t.Cleanup(server.Close)
	clock := gatewaytest.New(t).Clock
	u := &signin.Upstream{Issuer: server.URL, Client: server.Client(), Now: clock.Now}

	gone, leave := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	failed := make(chan error, 5)
	for range cap(failed) {
		waiting.Go(func() { _, err := u.Discovered(t.Context()); failed <- err })
	}
	<-came
	leave()
	_, err := u.Discovered(gone)
	require.ErrorIs(t, err, context.Canceled, "somebody waits for what others asked, though they are gone")
	close(answer)
	waiting.Wait()
	for range cap(failed) {
		require.ErrorContains(t, <-failed, "503")
	}
	_, err = u.Discovered(t.Context())
	require.ErrorContains(t, err, "503")
	require.Equal(t, int64(1), asked.Load())

	status.Store(http.StatusOK)
	clock.Advance(11 * time.Second)
	at := func() string {
		t.Helper()
		found, err := u.Discovered(t.Context())
		require.NoError(t, err)
		return found
	}
	require.Equal(t, server.URL+"/2", at())
	clock.Advance(59 * time.Minute)
	require.Equal(t, server.URL+"/2", at())
	require.Equal(t, int64(2), asked.Load())

	// It is read again while what is known goes on.
	clock.Advance(2 * time.Minute)
	require.Equal(t, server.URL+"/2", at())
	eventually := func(done func(found string, err error) bool) {
		t.Helper()
		require.Eventually(t, func() bool { return done(u.Discovered(t.Context())) }, time.Minute, time.Millisecond)
	}
	eventually(func(found string, _ error) bool { return found == server.URL+"/3" })
	status.Store(http.StatusServiceUnavailable)
	clock.Advance(time.Hour)
	lost := false
	eventually(func(found string, err error) bool {
		clock.Advance(11 * time.Second)
		lost = lost || err != nil || found != server.URL+"/3"
		return asked.Load() > 5
	})
	require.False(t, lost, "what was known is lost where it can't be read again")
}

// The secret goes as the metadata says, and the code goes once, whatever is answered.
func TestSecretGoesUpstream(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		methods any
		inBody  bool
	}{
		"nothing is told": {nil, false},
		"basic":           {[]string{"client_secret_basic"}, false},
		"both":            {[]string{"client_secret_post", "client_secret_basic"}, false},
		"post":            {[]string{"private_key_jwt", "client_secret_post"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newTeller(t)
			if c.methods != nil {
				j.tells = map[string]any{"token_endpoint_auth_methods_supported": c.methods}
			}
			for _, j.status = range []int{http.StatusOK, http.StatusUnauthorized} {
				j.asked = nil
				u := j.browser()
				j.back(u, j.leave(u, base()), params{"code": "c"})
				require.Len(t, j.asked, 1)
				_, secret, basic := j.asked[0].BasicAuth()
				secret, err := url.QueryUnescape(secret)
				require.NoError(t, err)
				got := map[bool]string{true: j.asked[0].PostForm.Get("client_secret"), false: secret}
				require.Equal(t, map[bool]string{c.inBody: "s", !c.inBody: ""}, got)
				require.Equal(t, !c.inBody, basic)
			}
		})
	}
}
