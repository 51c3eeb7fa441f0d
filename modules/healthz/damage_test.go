package healthz_test

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// A database that says that it is damaged is degraded while exports can be accepted, and unavailable once reading all of
// it has confirmed that.
func TestDamagedDatabase(t *testing.T) {
	t.Parallel()
	b := gatewaytest.New(t)
	_, h := ask(t, b, http.MethodGet)
	require.NotContains(t, h.Checks, "integrity")
	storetest.Damage(t, filepath.Join(b.Folder, "hiregate.db"), "integration_health")
	require.NoError(t, b.Runtime.Store().Ping(t.Context())) // what is in memory is read again
	_, err := b.Runtime.Store().ListHealth(t.Context())
	require.ErrorContains(t, err, "malformed")
	w, h := ask(t, b, http.MethodGet)
	require.False(t, h.Checks["integrity"].OK)
	// unless the gateway has looked by now
	if !b.Runtime.Damage().Confirmed {
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "degraded", h.Status)
	}
	require.NoError(t, b.Runtime.Store().Examine(t.Context(), time.Now()))
	w, h = ask(t, b, http.MethodGet)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, "unavailable", h.Status)
	require.Contains(t, h.Checks["integrity"].Reason, "put a backup in its place")
}
