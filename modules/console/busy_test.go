package console

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/fairpool"
	"github.com/hiregate/hiregate/internal/session"
)

// stalled is the browser of somebody who reads nothing until it is resumed.
type stalled struct {
	*httptest.ResponseRecorder
	reached, resumed chan struct{}
}

func (s stalled) Write(p []byte) (int, error) {
	s.reached <- struct{}{}
	<-s.resumed
	return s.ResponseRecorder.Write(p)
}

// One person's pages take half of the places at most; what is more waits for a moment, and is refused.
func TestPagesOfAPersonAreBounded(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Fixture.Gateway.Runtime.Pages = fairpool.NewPool(4)
	b.patience = time.Millisecond
	page := func(who string, w http.ResponseWriter) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://gate.example/exports", nil)
		b.signedIn(r, "sub-of-"+who, session.Person{Email: who})
		b.ServeHTTP(w, r)
	}
	reached, resumed, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	for range 2 {
		go func() {
			page(ops, stalled{httptest.NewRecorder(), reached, resumed})
			done <- struct{}{}
		}()
		<-reached
	}
	w := httptest.NewRecorder()
	page(ops, w)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.NotEmpty(t, w.Header().Get("Retry-After"))
	require.Contains(t, w.Body.String(), "Too many of your pages")
	w = httptest.NewRecorder()
	page(viewer, w)
	require.Equal(t, http.StatusOK, w.Code, "another person waits")
	close(resumed)
	<-done
	<-done
	w = httptest.NewRecorder()
	page(ops, w)
	require.Equal(t, http.StatusOK, w.Code)
}
