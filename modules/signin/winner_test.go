package signin_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// "40 parallel exchanges of one code: exactly one succeeds", and one more revokes what it got.
func TestOneWinner(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		b := fixtureOf(t, gatewaytest.NewOn(t, address))
		code := b.browser().enter(base()).Get("code")
		answers := make([]*httptest.ResponseRecorder, 40)
		var asking sync.WaitGroup
		start := make(chan struct{})
		for n := range answers {
			asking.Go(func() {
				<-start
				answers[n] = b.exchange("app", code)
			})
		}
		close(start)
		asking.Wait()
		var won []tokens
		for _, w := range answers {
			if w.Code == http.StatusOK {
				won = append(won, requireTokens(t, w))
			} else {
				requireFault(t, w, http.StatusBadRequest, "invalid_grant")
			}
		}
		require.Len(t, won, 1)
		requireFault(t, b.exchange("app", code), http.StatusBadRequest, "invalid_grant")
		b.requireRevoked(won[0].AccessToken)
	})
}

// A client that refreshes for eight requests at once keeps its session: each gets tokens. Another client is refused, and once 30 s
// have passed the former token ends the family (RFC 9700 section 4.14.2).
func TestRefreshesAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		b := fixtureOf(t, gatewaytest.NewOn(t, address))
		refresh := func(client, token string) *httptest.ResponseRecorder {
			return b.post(tokenPath, client, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}})
		}
		first := b.flow(base())
		answers := make([]*httptest.ResponseRecorder, 8)
		var asking sync.WaitGroup
		start := make(chan struct{})
		for n := range answers {
			asking.Go(func() {
				<-start
				answers[n] = refresh("app", first.RefreshToken)
			})
		}
		close(start)
		asking.Wait()
		var latest tokens
		for _, w := range answers {
			issued := requireTokens(t, w)
			b.requireGood(issued.AccessToken)
			latest = requireTokens(t, refresh("app", issued.RefreshToken))
		}
		next := requireTokens(t, refresh("app", latest.RefreshToken))
		requireFault(t, refresh("other", latest.RefreshToken), http.StatusBadRequest, "invalid_grant")
		b.requireGood(next.AccessToken)
		b.Clock.Advance(30 * time.Second)
		requireFault(t, refresh("app", latest.RefreshToken), http.StatusBadRequest, "invalid_grant")
		b.requireRevoked(next.AccessToken)
		requireFault(t, refresh("app", next.RefreshToken), http.StatusBadRequest, "invalid_grant")
	})
}

// What came first is good while nobody else comes: it is the replay that revokes it, on either database.
func TestWinnerKeepsItsTokens(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		b := fixtureOf(t, gatewaytest.NewOn(t, address))
		b.requireGood(b.flow(base()).AccessToken)
	})
}
