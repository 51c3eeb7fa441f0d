package access_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

func TestAPIKeys(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		text, hash := model.NewAPIKey()
		require.Regexp(t, `^hgk_[A-Za-z0-9_-]{43}$`, text)
		require.Equal(t, hash, model.HashAPIKey(text))
		key := &model.APIKey{ID: "k-1", Label: "CI", Tenant: "acme", Role: model.Operator, CreatedAt: noon}
		write := func(fn func(*store.Tx) error) { require.NoError(t, db.Write(t.Context(), fn)) }
		write(func(tx *store.Tx) error { return tx.InsertAPIKey(key, hash) })
		found := func() *model.APIKey {
			k, err := db.APIKeyByHash(t.Context(), hash)
			require.NoError(t, err)
			same, err := db.APIKey(t.Context(), "k-1")
			require.NoError(t, err)
			require.Equal(t, k, same)
			return k
		}
		require.Equal(t, key, found())
		_, err := db.APIKeyByHash(t.Context(), model.HashAPIKey(text+"x"))
		require.ErrorIs(t, err, store.ErrNotFound)

		touch := func(at time.Time) {
			write(func(tx *store.Tx) error { return tx.UpdateAPIKeyUse("k-1", at, at.Add(-time.Minute)) })
		}
		touch(noon)
		touch(noon.Add(59 * time.Second))
		require.Equal(t, noon, found().LastUsedAt)
		touch(noon.Add(61 * time.Second))
		require.Equal(t, noon.Add(61*time.Second), found().LastUsedAt)

		for n, want := range []bool{true, false} {
			at := noon.Add(time.Duration(n) * time.Hour)
			write(func(tx *store.Tx) error {
				revoked, err := tx.RevokeAPIKey("k-1", at)
				require.Equal(t, want, revoked)
				return err
			})
		}
		require.Equal(t, noon, found().RevokedAt, "it was revoked twice")
	})
}

func TestAPIKeysOfATenant(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			for n, tenant := range []string{"acme", "globex", "", "acme"} {
				_, hash := model.NewAPIKey()
				if err := tx.InsertAPIKey(&model.APIKey{ID: fmt.Sprint("k-", n), Tenant: tenant, Role: model.Viewer, CreatedAt: noon}, hash); err != nil {
					return err
				}
			}
			return tx.RevokeAPIKeysOfTenant("globex", noon)
		}))
		ids := func(tenant string) (ids []string) {
			page, _, err := db.ListAPIKeys(t.Context(), tenant, store.Page{})
			require.NoError(t, err)
			for _, k := range page {
				ids = append(ids, k.ID)
				require.Equal(t, k.Tenant == "globex", !k.RevokedAt.IsZero())
			}
			return ids
		}
		require.Equal(t, []string{"k-0", "k-1", "k-2", "k-3"}, ids(""))
		require.Equal(t, []string{"k-0", "k-3"}, ids("acme"))
	})
}
