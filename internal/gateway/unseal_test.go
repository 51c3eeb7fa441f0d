package gateway

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
)

// While the database is away, a reload that changes no key goes on as before; one that does is refused, since nobody
// knows.
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
		return tx.UpsertTenant(&model.Tenant{Name: "acme", Secrets: []model.Secret{"hunter2"}}, time.Now())
	}))
	unseal := func(v *vault.Vault) error {
		d.vaults.Add(v)
		return d.unseal(t.Context(), v, time.Now())
	}
	require.ErrorIs(t, unseal(of(newest)), store.ErrSealed)
	require.NoError(t, d.unseal(t.Context(), v, time.Now()))
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
	d.RemoveVault(empty)
	require.NoError(t, d.unseal(t.Context(), empty, time.Now()))
	require.ErrorIs(t, unseal(of(newest)), store.ErrUnavailable)
}

// A configuration without the key that is checked while a data key is being made would not see it, and might be the
// one that is left.
func TestNoDataKeyIsMadeBesideACheck(t *testing.T) {
	t.Parallel()
	v, err := vault.New("a text of more than thirty-two characters")
	require.NoError(t, err)
	d := &Database{Address: "sqlite://" + filepath.Join(t.TempDir(), "hiregate.db")}
	d.vaults.Add(v)
	db, err := d.Open(t.Context(), zap.NewNop())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Destruct()) })
	type result struct {
		made bool
		err  error
	}
	ended := make(chan result, 1)
	d.mu.Lock() // as unseal does
	go func() {
		made, err := d.renew(t.Context(), time.Now())
		ended <- result{made, err}
	}()
	require.Never(t, db.Sealing, 200*time.Millisecond, 10*time.Millisecond)
	none := new(vault.Vault)
	d.vaults.Add(none)
	d.mu.Unlock()
	require.Equal(t, result{}, <-ended)
	require.False(t, db.Sealing())
	require.NoError(t, d.unseal(t.Context(), none, time.Now()))
	d.RemoveVault(none)
	made, err := d.renew(t.Context(), time.Now())
	require.NoError(t, err)
	require.True(t, made)
}
