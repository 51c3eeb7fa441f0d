package webhook_test

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

// bearers are a token endpoint and a receiver without a network, and the guard of their one client: so that a test can
// let a minute pass.
type bearers struct {
	client *http.Client

	mu       sync.Mutex
	issued   int
	received int
	accepts  func(token int) bool // tokens are numbered from 1
	waits    func()               // before the receiver answers; nil: it answers at once
	answer   string               // what the token endpoint answers beside the token; empty: that it is a bearer token
}

func (b *bearers) Client() *http.Client                { return &http.Client{Transport: b} }
func (b *bearers) ClientWith(*tls.Config) *http.Client { return b.Client() }

func (b *bearers) Kept(_ string, _ [sha256.Size]byte, build func() *http.Client) *http.Client {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client == nil {
		b.client = build()
	}
	return b.client
}

func (b *bearers) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
	body := ""
	if r.URL.Path == "/token" {
		b.issued++
		body = `{"access_token":"` + strconv.Itoa(b.issued) + `",` + cmp.Or(b.answer, `"token_type":"Bearer"`) + `}`
	} else {
		b.received++
		if b.waits != nil {
			b.mu.Unlock()
			b.waits()
			b.mu.Lock()
		}
		token, _ := strconv.Atoi(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		if !b.accepts(token) {
			answer.StatusCode = http.StatusUnauthorized
		}
	}
	answer.Body = io.NopCloser(strings.NewReader(body))
	return answer, nil
}

// attempt reports whether the receiver accepts an attempt.
func (b *bearers) attempt(t *testing.T) bool {
	return verify(t, b, integration("https://hr.example.com", &model.Authentication{OAuth2: &model.OAuth2{
		TokenURL: "https://login.example.com/token", ClientID: "gate", ClientSecret: "hunter2"}})) == ""
}

var _ webhook.Guard = new(bearers)

func TestReceiverThatRefusesEveryToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bearers{accepts: func(int) bool { return false }}
		for range 300 {
			require.False(t, b.attempt(t))
			time.Sleep(2 * time.Second)
		}
		require.Equal(t, 300, b.received, "each attempt was sent once")
		require.Equal(t, 10, b.issued, "a token a minute")

		b.accepts = func(int) bool { return true }
		require.True(t, b.attempt(t))
		b.accepts = func(token int) bool { return token > 11 }
		require.True(t, b.attempt(t), "a token that was revoked is renewed within the attempt, as before")
	})
}

func TestReceiverThatRefusesEveryTokenFromNowOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bearers{accepts: func(int) bool { return true }}
		require.True(t, b.attempt(t))
		b.accepts = func(int) bool { return false }
		for range 30 {
			require.False(t, b.attempt(t))
		}
		require.Equal(t, 32, b.received, "one attempt was sent again")
		require.Equal(t, 2, b.issued)
	})
}

// A receiver that refuses some requests whatever their token is has no token renewed for each.
func TestReceiverThatRefusesNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := new(bearers)
		for n := range 30 {
			b.accepts = func(int) bool { return n%2 == 0 }
			require.Equal(t, n%2 == 0, b.attempt(t))
		}
		require.Equal(t, 2, b.issued)
	})
}

func TestAttemptsShareARenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bearers{accepts: func(int) bool { return true }}
		require.True(t, b.attempt(t))
		b.accepts = func(token int) bool { return token > 1 }
		b.waits = func() { time.Sleep(time.Second) }
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { require.True(t, b.attempt(t)) })
		}
		all.Wait()
		require.Equal(t, 2, b.issued)
		time.Sleep(time.Hour)
		b.accepts = func(token int) bool { return token > 2 }
		require.True(t, b.attempt(t), "one that replaced a revoked one is renewed as well")
		require.Equal(t, 3, b.issued)
	})
}

// A token is sent as a bearer token only if it is one, which one without a type is.
func TestTokensOfOtherTypesAreRefused(t *testing.T) {
	t.Parallel()
	for kind, good := range map[string]bool{`"bearer"`: true, `"BEARER"`: true, `""`: true, `null`: true, `"mac"`: false,
		`"DPoP"`: false} {
		b := &bearers{accepts: func(int) bool { return true }, answer: `"token_type":` + kind}
		require.Equal(t, good, b.attempt(t), kind)
		require.Equal(t, good, b.received == 1, kind)
	}
	b := &bearers{accepts: func(int) bool { return true }, answer: `"scope":"a"`}
	require.True(t, b.attempt(t), "one without a type")
}

// A token whose lifetime can't be read is used, and not kept.
func TestLifetimesOfTokens(t *testing.T) {
	t.Parallel()
	for lifetime, issued := range map[string]int{`3600`: 1, `"3600"`: 1, `99999999999`: 1, `null`: 1, `0`: 1,
		`3599.5`: 3, `-1`: 3, `-0.5`: 3, `"soon"`: 3, `1e3`: 3, `{}`: 3} {
		b := &bearers{accepts: func(int) bool { return true }, answer: `"token_type":"Bearer","expires_in":` + lifetime}
		for range 3 {
			require.True(t, b.attempt(t), lifetime)
		}
		require.Equal(t, issued, b.issued, lifetime)
	}
}
