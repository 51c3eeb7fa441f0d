//go:build unix

package healthz_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/fulldisktest"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/modules/healthz"
)

// A disk without room for documents degrades the gateway; exports are accepted.
func TestFullDisk(t *testing.T) { fulldisktest.Run(t, fillDisk) }

func fillDisk(t *testing.T, room func(bytes uint64)) {
	b := gatewaytest.NewOn(t, storetest.Postgres(t)) // whose files have room still
	becomes := func(documents healthz.Check) {
		t.Helper()
		want := health("degraded", good, noTemporal)
		want.Checks["documents"] = documents
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			w, h := ask(c, b, http.MethodGet)
			assert.Equal(c, want, h)
			assert.Equal(c, http.StatusOK, w.Code)
		}, 90*time.Second, 100*time.Millisecond)
	}
	becomes(good)
	room(0)
	becomes(healthz.Check{Reason: "documents can't be stored, and are lost when their URLs end: see the log"})
	room(fulldisktest.Whole)
	becomes(good)
}
