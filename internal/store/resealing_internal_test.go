package store

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/internal/vault"
)

func tenantNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("t-%03d", i))
	}
	return names
}

// What was stored before there was a key, or with a former one, is sealed anew; nobody notices but a thief.
func TestResealing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		const n = 2*secretsAtOnce + 10
		db, none := openSealing(t, address)
		putSecrets(t, db, tenantNames(n)...)
		require.NoError(t, db.CheckSecrets(t.Context(), none))
		for _, one := range secretRows(t, db) {
			require.Equal(t, byte(plainBody), one.kept[0])
		}
		versions := rowVersions(t, db)
		for _, texts := range [][]string{{formerKey}, {newestKey, formerKey}} {
			v := swap(t, db, texts...)
			requireSecrets(t, db, n)
			resealed, err := db.Reencrypt(t.Context(), v)
			require.NoError(t, err)
			require.Equal(t, 6*n, resealed)
			require.NoError(t, db.CheckSecrets(t.Context(), v.Newest()))
			rows := secretRows(t, db)
			db.Work()
			resealed, err = db.Reencrypt(t.Context(), v)
			require.NoError(t, err)
			require.Zero(t, resealed)
			require.Equal(t, rows, secretRows(t, db), "what is sealed with the key is sealed once more")
			require.LessOrEqual(t, db.Work().Commits, int64(1), "it writes though there is nothing to write")
		}
		swap(t, db, newestKey)
		requireSecrets(t, db, n)
		require.Equal(t, versions, rowVersions(t, db), "an ETag changed, though nothing did that it is of")
	})
}

// What is saved while a configuration with a key takes the place of one without could be read by either, and is sealed
// once one is left.
func TestSavedDuringAReload(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, none := openSealing(t, address)
		v := vaultOf(t, formerKey)
		db.vaults.Add(v)
		putSecrets(t, db, "acme")
		require.NoError(t, db.CheckSecrets(t.Context(), none))
		db.vaults.Remove(none)
		requireSecrets(t, db, 1)
		resealed, err := db.Reencrypt(t.Context(), v)
		require.NoError(t, err)
		require.Equal(t, 6, resealed)
		require.ErrorIs(t, db.CheckSecrets(t.Context(), none), ErrSealed)

		next := vaultOf(t, newestKey, formerKey)
		db.vaults.Add(next)
		putSecrets(t, db, "globex")
		require.NoError(t, db.CheckSecrets(t.Context(), v), "the one that goes on, should the other fail, can't read it")
	})
}

// A process that ends in the middle leaves some sealed with one key and some with the other, or plainly. The next one
// goes on.
func TestResealingGoesOn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		const n = 2*secretsAtOnce + 10
		db, _ := openSealing(t, address)
		putSecrets(t, db, tenantNames(n)...)
		v := swap(t, db, formerKey)
		ctx, end := context.WithCancel(t.Context())
		pages := 0
		observe(db, func(string, []any) {
			if pages++; pages == 2 {
				end()
			}
		}, nil)
		resealed, err := db.Reencrypt(ctx, v)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, secretsAtOnce, resealed)
		observe(db, nil, nil)
		require.NoError(t, db.Close())

		none, noKey := openSealing(t, address)
		require.ErrorIs(t, none.CheckSecrets(t.Context(), noKey), ErrSealed)
		require.NoError(t, none.Close())
		db, v = openSealing(t, address, newestKey, formerKey)
		requireSecrets(t, db, n)
		resealed, err = db.Reencrypt(t.Context(), v)
		require.NoError(t, err)
		require.Equal(t, 6*n, resealed)
		require.NoError(t, db.CheckSecrets(t.Context(), v.Newest()))
	})
}

// A secret that somebody changes while all are sealed anew is theirs, whenever that is: what was read of it before is
// not written over it.
func TestResealingLeavesWhatSomebodyChanges(t *testing.T) {
	t.Parallel()
	tenant := func(tx *Tx) error {
		row := model.Row{Version: 2, CreatedAt: secretsNoon} // of a tenant that got an integration
		return tx.UpsertTenant(&model.Tenant{Row: row, Name: "acme", Secrets: []model.Secret{"changed"}}, secretsNoon)
	}
	integration := func(tx *Tx) error {
		row := model.Row{Version: 1, CreatedAt: secretsNoon}
		return tx.UpsertIntegration(&model.Integration{Row: row, Tenant: "acme", Name: "hris", URL: "https://hr.example/in/changed", Secret: "changed", Options: model.Options{Documents: model.Rehost}}, secretsNoon)
	}
	for name, one := range map[string]struct {
		table  secretTable
		change func(*Tx) error
	}{"tenant": {tenantSecrets, tenant}, "integration": {integrationSecrets, integration}, "address": {integrationURLs, integration}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, address string) {
				db, _ := openSealing(t, address)
				putSecrets(t, db, "acme")
				v := swap(t, db, formerKey)
				changed := false
				observe(db, nil, func(q string, _ []any) { // after it is read, and before what comes of that is written
					if q == one.table.page && !changed {
						changed = true
						require.NoError(t, db.Write(t.Context(), one.change))
					}
				})
				_, err := db.Reencrypt(t.Context(), v)
				require.NoError(t, err)
				require.True(t, changed)
				observe(db, nil, nil)
				all, err := db.ListTenants(t.Context())
				require.NoError(t, err)
				if name == "tenant" {
					require.Equal(t, []string{"changed"}, all[0].SigningKeys())
				} else {
					require.Equal(t, []string{"changed", "https://hr.example/in/changed"}, []string{all[0].Integrations[0].Secret.Reveal(), all[0].Integrations[0].URL})
				}
			})
		})
	}
}

// What can't be opened keeps nothing else from being sealed, and stays as it is.
func TestResealingPassesOverWhatItCantOpen(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, _ := openSealing(t, address, formerKey)
		putSecrets(t, db, "acme")
		v := swap(t, db, newestKey)
		putSecrets(t, db, "globex")
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
			return tx.UpsertTenant(&model.Tenant{Name: "initech"}, secretsNoon)
		}))
		foreign := secretRows(t, db)[0]
		resealed, err := db.Reencrypt(t.Context(), v)
		require.ErrorIs(t, err, ErrSealed)
		require.ErrorContains(t, err, "acme")
		require.Zero(t, resealed)
		require.Equal(t, foreign, secretRows(t, db)[0])

		third := swap(t, db, "a third text of more than thirty-two characters", newestKey)
		resealed, err = db.Reencrypt(t.Context(), third)
		require.ErrorIs(t, err, ErrSealed)
		require.Equal(t, 7, resealed)
	})
}

// While one node has the new key in front already, another one has it behind the former one: both read what either
// writes, also while it is sealed anew, and what somebody changes then is not undone.
func TestTwoNodesChangeTheKey(t *testing.T) {
	t.Parallel()
	const n = 30
	address := storetest.Postgres(t)
	ahead, first := openSealing(t, address, newestKey, formerKey)
	behind, second := openSealing(t, address, formerKey, newestKey)
	putSecrets(t, behind, tenantNames(n)...)
	done := make(chan error, 3)
	for db, v := range map[*DB]*vault.Vault{ahead: first, behind: second} {
		go func() {
			_, err := db.Reencrypt(t.Context(), v)
			done <- err
		}()
	}
	go func() {
		for _, name := range tenantNames(n) {
			row := model.Row{Version: 2, CreatedAt: secretsNoon} // of a tenant that got an integration
			if err := behind.Write(t.Context(), func(tx *Tx) error {
				next := model.Tenant{Row: row, Name: name, Title: "changed", Secrets: []model.Secret{model.Secret(name + "-hunter2")},
					ApplyUpstream: secretUpstream(name)}
				return tx.UpsertTenant(&next, secretsNoon)
			}); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for range 3 {
		require.NoError(t, <-done)
	}
	for _, db := range []*DB{ahead, behind} {
		requireSecrets(t, db, n)
	}
	all, err := ahead.ListTenants(t.Context())
	require.NoError(t, err)
	for _, one := range all {
		require.Equal(t, "changed", one.Title)
	}
	// The one that was behind comes to the front; then the former key is not needed.
	v := swap(t, behind, newestKey, formerKey)
	_, err = behind.Reencrypt(t.Context(), v)
	require.NoError(t, err)
	swap(t, ahead, newestKey)
	requireSecrets(t, ahead, n)
}
