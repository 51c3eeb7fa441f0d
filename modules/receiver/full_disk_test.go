//go:build unix

package receiver_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/fulldisktest"
)

// Room on the disk ends and comes back.
func TestFullDisk(t *testing.T) { fulldisktest.Run(t, fillDisk) }

func fillDisk(t *testing.T, room func(bytes uint64)) {
	b := newFixture(t)
	first := requireReceipt(t, b.send(request{uuid: "u-1"}), http.StatusAccepted)

	room(1024)
	for round := range 3 {
		for n := range 4 {
			requireProblem(t, b.send(request{uuid: fmt.Sprint("u-", n+2), body: another(n)}), http.StatusServiceUnavailable,
				unavailable, "Retry-After", "5")
		}
		requireProblem(t, b.send(request{body: full}), http.StatusServiceUnavailable, unavailable, "Retry-After", "5")
		requireProblem(t, b.send(request{event: "VERIFY", body: verify}), http.StatusServiceUnavailable, unavailable,
			"Retry-After", "5")
		require.Equal(t, http.StatusUnauthorized, b.send(request{unsigned: true}).Code, "round %d", round)
	}
	room(fulldisktest.Whole)

	require.Len(t, b.Exports(t), 1, "something was half accepted")
	require.Equal(t, http.StatusOK, b.send(request{event: "VERIFY", body: verify}).Code)
	for n := range 4 {
		requireReceipt(t, b.send(request{uuid: fmt.Sprint("u-", n+2), body: another(n)}), http.StatusAccepted)
	}
	requireReceipt(t, b.send(request{body: full}), http.StatusAccepted)
	require.Equal(t, first, requireReceipt(t, b.send(request{uuid: "u-1"}), http.StatusOK))
	require.Len(t, b.Exports(t), 6)
	for _, e := range b.Exports(t) {
		require.NoError(t, b.Runtime.Store().LoadBody(t.Context(), e), "an export has no body")
	}
}
