package apply_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

// Anybody may ask for a token: the bodies of those who do share the memory of all unverified bodies, and have their
// time.
func TestCredentialsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, http.StatusOK, b.authenticate(partner, right).Code)
	require.Zero(t, b.Runtime.Unverified.Used())

	slow := httptest.NewRequest(http.MethodPost, "/v2/authentication", iotest.ErrReader(os.ErrDeadlineExceeded))
	slow.Header.Set(contentType, asJSON)
	w := httptest.NewRecorder()
	b.ServeHTTP(w, slow)
	require.Equal(t, http.StatusRequestTimeout, w.Code)
	require.Contains(t, w.Body.String(), "too slowly")

	b.Runtime.Unverified.Configure(0, time.Minute)
	refused := b.authenticate(partner, right)
	require.Equal(t, http.StatusServiceUnavailable, refused.Code)
	require.Equal(t, "5", refused.Header().Get("Retry-After"))
	require.Contains(t, refused.Body.String(), "too many ask for a token")
}
