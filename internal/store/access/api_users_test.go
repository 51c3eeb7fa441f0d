package access_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

func TestAPIUserIsFoundByName(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		ada := &model.APIUser{ID: "u-1", Tenant: "acme", Name: "Partner@example.com", Password: "$x", CreatedAt: noon}
		write(t, db, func(tx *store.Tx) error { return tx.InsertAPIUser(ada) })
		found, err := db.APIUserByName(t.Context(), "acme", " pARTNER@EXAMPLE.com ")
		require.NoError(t, err)
		require.Equal(t, ada, found)
		err = db.Write(t.Context(), func(tx *store.Tx) error {
			return tx.InsertAPIUser(&model.APIUser{ID: "u-2", Tenant: "acme", Name: "partner@example.com", CreatedAt: noon})
		})
		require.ErrorIs(t, err, store.ErrTaken)
		write(t, db, func(tx *store.Tx) error {
			return tx.InsertAPIUser(&model.APIUser{ID: "u-4", Tenant: "globex", Name: "partner@example.com", CreatedAt: noon})
		})
		namesakes, err := db.ListAPIUsersByName(t.Context(), "partner@example.com")
		require.NoError(t, err)
		require.Len(t, namesakes, 2)
		require.Equal(t, ada, namesakes[0])
		_, err = db.APIUser(t.Context(), "globex", "u-1")
		require.ErrorIs(t, err, store.ErrNotFound)
	})
}

func TestAPITokens(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		user := &model.APIUser{ID: "u-1", Tenant: "acme", Name: "partner@example.com", Password: "$1", CreatedAt: noon}
		write(t, db, func(tx *store.Tx) error { return tx.InsertAPIUser(user) })
		issue := func(token string, at time.Time) (issued bool) {
			write(t, db, func(tx *store.Tx) (err error) {
				issued, err = tx.InsertAPIToken(user, identity.HashSecret(token), at)
				return err
			})
			return issued
		}
		good := func(token string, at time.Time) bool {
			u, err := db.APIUserByToken(t.Context(), identity.HashSecret(token), at)
			if err != nil {
				require.ErrorIs(t, err, store.ErrNotFound)
				return false
			}
			require.Equal(t, "acme", u.Tenant)
			return true
		}
		require.True(t, issue("a", noon))
		require.True(t, issue("b", noon.Add(time.Hour)))
		require.True(t, good("a", noon.Add(48*time.Hour-time.Microsecond)))
		require.False(t, good("a", noon.Add(48*time.Hour)))
		require.True(t, good("b", noon.Add(48*time.Hour)))
		require.False(t, good("c", noon))

		reset := func(tenant, password string) (ok bool) {
			write(t, db, func(tx *store.Tx) (err error) {
				ok, err = tx.ResetAPIUser(tenant, "u-1", password)
				return err
			})
			return ok
		}
		require.False(t, reset("globex", "$2"))
		require.True(t, good("a", noon))
		require.True(t, reset("acme", "$2"))
		require.False(t, good("a", noon), "the password was changed")
		require.False(t, issue("d", noon), "it is the password of before that was right")
		user.Password = "$2"
		require.True(t, issue("d", noon))

		disable := func() (ok bool) {
			write(t, db, func(tx *store.Tx) (err error) {
				ok, err = tx.DisableAPIUser("acme", "u-1", noon)
				return err
			})
			return ok
		}
		require.True(t, disable())
		require.False(t, disable())
		require.False(t, good("d", noon))
		require.False(t, issue("e", noon))
		require.True(t, reset("acme", "$2"))
		require.False(t, issue("e", noon), "another password lets nobody in who is disabled")
		enable := func(tenant string) (ok bool) {
			write(t, db, func(tx *store.Tx) (err error) {
				ok, err = tx.EnableAPIUser(tenant, "u-1")
				return err
			})
			return ok
		}
		require.False(t, enable("globex"))
		require.True(t, enable("acme"))
		require.True(t, issue("e", noon))
		require.False(t, good("d", noon), "a token came back to life")
		for _, tenant := range []string{"globex", "acme"} {
			require.True(t, good("e", noon))
			write(t, db, func(tx *store.Tx) error { return tx.DeleteAPIUsersOfTenant(tenant) })
		}
		require.False(t, good("e", noon))
		require.False(t, enable("acme"))
		anew := *user
		anew.ID, anew.Tenant = "u-9", "globex"
		write(t, db, func(tx *store.Tx) error { return tx.InsertAPIUser(&anew) })
		require.False(t, good("e", noon), "a token came back to life")
	})
}
