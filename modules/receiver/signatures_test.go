package receiver_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
)

// Each request with a right signature is a use of its secret, each other one counts for its tenant; of strangers'
// tenants nothing is noted.
func TestSignaturesAreNoted(t *testing.T) {
	t.Parallel()
	b := newFixture(t, gatewaytest.Tenant("acme", "old", "new"))
	require.Equal(t, http.StatusAccepted, b.send(request{uuid: "u-1", secret: "new"}).Code)
	require.Equal(t, http.StatusUnauthorized, b.send(request{uuid: "u-2", secret: "wrong"}).Code)
	require.Equal(t, http.StatusUnauthorized, b.send(request{uuid: "u-3", unsigned: true}).Code)
	require.Equal(t, http.StatusNotFound, b.send(request{path: "/hooks/stranger"}).Code)
	require.NoError(t, b.Runtime.Signatures.Flush(t.Context(), time.Now(), 0))
	acme, _ := b.Config.Tenant("acme")
	uses, err := b.Runtime.Store().ListSecretUses(t.Context())
	require.NoError(t, err)
	require.Equal(t, []time.Time{{}, gatewaytest.Noon}, uses.Of(acme))
	require.Len(t, uses, 1)
	refused, err := b.Runtime.Store().RefusedSignatures(t.Context(), "acme")
	require.NoError(t, err)
	require.EqualValues(t, 2, refused.Count)
	require.Equal(t, gatewaytest.Noon, refused.Last)
}
