package gateway

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
)

// While the database is away, a reload that changes no key goes on as before; one that does is refused, since nobody knows.
func TestOnlyAnotherKeyIsTried(t *testing.T) {
	t.Parallel()
	of := func(texts ...string) *vault.Vault {
		v, err := vault.New(texts...)
		require.NoError(t, err)
		return v
	}
	const former, newest = "a text of more than thirty-two characters", "another text of more than thirty-two characters"
	d := &Database{Address: "sqlite://" + filepath.Join(t.TempDir(), "hiregate.db")}
	v := of(former)
	d.vaults.Add(v)
	db, err := d.Open(t.Context(), zap.NewNop())
	require.NoError(t, err)
	require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
		return tx.PutTenant(&hiring.Tenant{Name: "acme", Secrets: []hiring.Secret{"hunter2"}}, time.Now())
	}))
	unseal := func(v *vault.Vault) error {
		d.vaults.Add(v)
		return d.unseal(t.Context(), v)
	}
	require.ErrorIs(t, unseal(of(newest)), store.ErrSealed)
	require.NoError(t, d.unseal(t.Context(), v))
	require.NoError(t, d.Destruct())
	for _, one := range []*vault.Vault{v, of(former), of(newest, former)} {
		require.NoError(t, unseal(one))
	}
	for _, one := range []*vault.Vault{of(newest), new(vault.Vault)} {
		require.ErrorIs(t, unseal(one), store.ErrUnavailable)
	}

	// A request may come to a configuration that has ended. It vouches for none that comes.
	empty := new(vault.Vault)
	d.vaults.Add(empty)
	d.good.Store(append(d.opening(), empty))
	d.leave(empty)
	require.NoError(t, d.unseal(t.Context(), empty))
	require.ErrorIs(t, unseal(of(newest)), store.ErrUnavailable)
}
