package signin_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Anybody may send a form: they share the memory of all unverified bodies.
func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	send := func(path, accept string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader("grant_type=authorization_code"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		b.ServeHTTP(w, r)
		return w
	}
	require.Equal(t, http.StatusUnauthorized, send("/openId/accessToken", "*/*").Code)
	require.Zero(t, b.Runtime.Unverified.Used())

	b.Runtime.Unverified.Configure(0, time.Minute)
	requireFault(t, send("/openId/accessToken", "*/*"), http.StatusServiceUnavailable, "temporarily_unavailable")
	for _, path := range []string{"/openId/accessToken", "/oauth/revoke", "/oauth/sign-in", "/oauth/authorize",
		"/oauth/userinfo"} {
		for _, accept := range []string{"text/html", "application/json"} {
			w := send(path, accept)
			require.Equal(t, http.StatusServiceUnavailable, w.Code, path)
			require.Equal(t, "5", w.Header().Get("Retry-After"))
			require.NotContains(t, w.Body.String(), "database")
		}
	}
}
