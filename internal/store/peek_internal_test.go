package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store/storetest"
)

// Tenants are read with their secrets from a database that a gateway uses, and from none.
func TestTenantsArePeekedAt(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		none, err := PeekTenants(t.Context(), address, vaultOf(t))
		require.NoError(t, err)
		require.Empty(t, none)
		db, v := openSealing(t, address, formerKey)
		putSecrets(t, db, tenantNames(MaxPage+1)...)
		listed, err := db.ListTenants(t.Context())
		require.NoError(t, err)
		peeked, err := PeekTenants(t.Context(), address, v)
		require.NoError(t, err)
		require.Len(t, peeked, MaxPage+1)
		require.Equal(t, listed, peeked)
		_, err = PeekTenants(t.Context(), address, vaultOf(t, newestKey))
		require.ErrorIs(t, err, ErrSealed)
	})
}
