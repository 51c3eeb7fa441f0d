package signin_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/modules/gateway/gatewaytest"
)

// "40 parallel exchanges of one code: exactly one succeeds", and one more revokes what it got.
func TestOneWinner(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		b := benchOf(t, gatewaytest.NewOn(t, address))
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

// What came first is good while nobody else comes: it is the replay that revokes it, on either database.
func TestWinnerKeepsItsTokens(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		b := benchOf(t, gatewaytest.NewOn(t, address))
		b.requireGood(b.flow(base()).AccessToken)
	})
}
