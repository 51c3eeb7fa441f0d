package store

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/internal/vault"
)

const (
	formerKey = "a text of more than thirty-two characters"
	newestKey = "another text of more than thirty-two characters"
)

var secretsNoon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func vaultOf(t *testing.T, texts ...string) *vault.Vault {
	t.Helper()
	if len(texts) == 0 {
		return new(vault.Vault)
	}
	v, err := vault.New(texts...)
	require.NoError(t, err)
	return v
}

// openSealing opens a database with a vault; without texts, with one that has no key.
func openSealing(t *testing.T, address string, texts ...string) (*DB, *vault.Vault) {
	t.Helper()
	shared, v := new(vault.Shared), vaultOf(t, texts...)
	shared.Add(v)
	db, err := Open(t.Context(), address, Options{Vaults: shared})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db, v
}

// swap has a database seal with other texts, as after a reload.
func swap(t *testing.T, db *DB, texts ...string) *vault.Vault {
	t.Helper()
	old, _ := db.vaults.Sole()
	next := vaultOf(t, texts...)
	db.vaults.Add(next)
	db.vaults.Remove(old)
	return next
}

func putSecrets(t *testing.T, db *DB, names ...string) {
	t.Helper()
	require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
		for _, name := range names {
			if err := tx.UpsertTenant(&model.Tenant{Name: name, Secrets: []model.Secret{model.Secret(name + "-hunter2")},
				ApplyUpstream: secretUpstream(name)}, secretsNoon); err != nil {
				return err
			}
			i := &model.Integration{Tenant: name, Name: "hris", URL: "https://hr.example/in/" + name,
				Secret:       model.Secret(name + "-hunter3"),
				FormerSecret: model.Secret(name + "-hunter4"), Options: model.Options{Documents: model.Rehost},
				Authentication: &model.Authentication{Bearer: name + "-hunter5"}}
			if err := tx.UpsertIntegration(i, secretsNoon); err != nil {
				return err
			}
		}
		return nil
	}))
}

// secretUpstream is the service of a tenant of putSecrets.
func secretUpstream(tenant string) *model.ApplyUpstream {
	return &model.ApplyUpstream{URL: "https://hr.example/apply", User: "partner", Password: model.Secret(tenant + "-hunter6"),
		Wait: time.Second, TryFor: time.Hour, Rate: model.DefaultUpstreamRate}
}

// requireSecrets reads all secrets, which are those of putSecrets.
func requireSecrets(t *testing.T, db *DB, tenants int) {
	t.Helper()
	all, err := db.ListTenants(t.Context())
	require.NoError(t, err)
	require.Len(t, all, tenants)
	for _, one := range all {
		require.Equal(t, []string{one.Name + "-hunter2"}, one.SigningKeys())
		require.Equal(t, secretUpstream(one.Name), one.ApplyUpstream)
		require.Len(t, one.Integrations, 1)
		require.Equal(t, one.Name+"-hunter3", one.Integrations[0].Secret.Reveal())
		require.Equal(t, one.Name+"-hunter4", one.Integrations[0].FormerSecret.Reveal())
		require.Equal(t, "https://hr.example/in/"+one.Name, one.Integrations[0].URL)
		require.Equal(t, &model.Authentication{Bearer: one.Name + "-hunter5"}, one.Integrations[0].Authentication)
	}
}

// secretRows are the secrets as they lie in the database.
func secretRows(t *testing.T, db *DB) (all []secretRow) {
	t.Helper()
	for _, table := range secretTables {
		require.NoError(t, db.eachSecrets(t.Context(), table, func(page []secretRow) error {
			all = append(all, page...)
			return nil
		}))
	}
	return all
}

// rowVersions are what ETags and other nodes go by.
func rowVersions(t *testing.T, db *DB) (all []string) {
	t.Helper()
	tenants, err := db.ListTenants(t.Context())
	require.NoError(t, err)
	for _, one := range tenants {
		all = append(all, fmt.Sprint(one.Name, one.Row, one.Integrations[0].Row))
	}
	version, err := db.DirectoryVersion(t.Context())
	require.NoError(t, err)
	return append(all, fmt.Sprint(version))
}

func TestSecretsAreSealed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, v := openSealing(t, address, formerKey)
		putSecrets(t, db, "acme", "globex")
		requireSecrets(t, db, 2)
		rows := secretRows(t, db)
		require.Len(t, rows, 12)
		for _, one := range rows {
			require.True(t, one.sealed())
			require.NotRegexp(t, "hunter|hr.example", string(one.kept))
		}
		require.NoError(t, db.CheckSecrets(t.Context(), v))
		require.NoError(t, db.CheckSecrets(t.Context(), vaultOf(t, newestKey, formerKey)))
		for _, wrong := range []*vault.Vault{vaultOf(t), vaultOf(t, newestKey)} {
			err := db.CheckSecrets(t.Context(), wrong)
			require.ErrorIs(t, err, ErrSealed)
			require.ErrorContains(t, err, "tenant acme")
			require.NotErrorIs(t, err, ErrUnavailable)
		}
		swap(t, db, newestKey)
		_, err := db.ListTenants(t.Context())
		require.ErrorIs(t, err, ErrSealed)
		require.NotErrorIs(t, err, ErrUnavailable, "somebody looks for a database that is away")
	})
}

// A row's secret is of no use in another one's place.
func TestSecretsAreBoundToTheirRow(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, v := openSealing(t, address, formerKey)
		for n, copying := range []string{
			`UPDATE tenants SET secrets = (SELECT t.secrets FROM tenants t WHERE t.name = 'a-0') WHERE name = 'b-0'`,
			`UPDATE integrations SET secret = (SELECT i.secret FROM integrations i WHERE i.tenant = 'a-1') WHERE tenant = 'b-1'`,
			`UPDATE integrations SET secret = (SELECT t.secrets FROM tenants t WHERE t.name = 'b-2') WHERE tenant = 'b-2'`,
			`UPDATE integrations SET url = (SELECT i.url FROM integrations i WHERE i.tenant = 'a-3') WHERE tenant = 'b-3'`,
			`UPDATE integrations SET url = secret WHERE tenant = 'b-4'`,
			`UPDATE integrations SET former_secret = secret WHERE tenant = 'b-5'`,
		} {
			one, other := fmt.Sprint("a-", n), fmt.Sprint("b-", n)
			putSecrets(t, db, one, other)
			requireSecrets(t, db, 2)
			require.NoError(t, db.Write(t.Context(), func(tx *Tx) error { _, err := tx.sql.Exec(copying); return err }))
			require.ErrorIs(t, db.CheckSecrets(t.Context(), v), ErrSealed)
			_, err := db.ListTenants(t.Context())
			require.ErrorIs(t, err, ErrSealed)
			require.ErrorContains(t, err, other)
			require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
				_, err1 := tx.sql.Exec(`DELETE FROM integrations`)
				_, err2 := tx.sql.Exec(`DELETE FROM tenants`)
				return errors.Join(err1, err2)
			}))
		}
	})
}

// A tenant may have more integrations than are sealed in one go.
func TestAllIntegrationsOfATenantAreSealed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		const n = secretsAtOnce + 10
		db, none := openSealing(t, address)
		putSecrets(t, db, "acme", "globex")
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
			for _, name := range tenantNames(n) {
				i := &model.Integration{Tenant: "acme", Name: name, URL: "https://hr.example/in", Secret: "hunter3", Options: model.Options{Documents: model.Rehost}}
				if err := tx.UpsertIntegration(i, secretsNoon); err != nil {
					return err
				}
			}
			return nil
		}))
		require.NoError(t, db.CheckSecrets(t.Context(), none))
		resealed, err := db.Reencrypt(t.Context(), swap(t, db, formerKey))
		require.NoError(t, err)
		require.Equal(t, 2*(n+2)+2+2+2+2, resealed)
	})
}

// docs/repair.md says how to go on where the key is lost.
func TestSecretsOfALostKeyCanBeRemoved(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/repair.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(guide), "\n## A key is lost\n")
	_, block, _ := strings.Cut(section, "\n```\n")
	block, _, found := strings.Cut(block, "```\n")
	require.True(t, found)
	storetest.Each(t, func(t *testing.T, address string) {
		db, _ := openSealing(t, address, formerKey)
		putSecrets(t, db, "acme", "globex")
		require.True(t, renew(t, db, secretsNoon))
		putPerson(t, db, personOf("ada", 0))
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
			return tx.UpsertSubscription(&model.EventSubscription{Row: model.Row{Tenant: "acme"}, ID: "mirror"}, secretsNoon)
		}))
		for statement := range strings.Lines(block) {
			if !db.Exclusive() && strings.HasPrefix(statement, "UPDATE tenants SET secrets") {
				statement = `UPDATE tenants SET secrets = '\x015b5d'`
				require.Contains(t, section, statement)
			}
			require.NoError(t, db.Write(t.Context(), func(tx *Tx) error { _, err := tx.sql.Exec(statement); return err }), statement)
		}
		for _, table := range []string{"candidates", "application_list", "search_words", "submissions", "submission_files", "upstreams",
			"event_subscriptions"} {
			n, err := rows.QueryOne(t.Context(), db.reads, rows.Value[int64], "SELECT COUNT(*) FROM "+table)
			require.NoError(t, err)
			require.Zero(t, n, table)
		}
		none := swap(t, db)
		require.NoError(t, db.CheckSecrets(t.Context(), none))
		all, err := db.ListTenants(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 2)
		require.Empty(t, all[0].Secrets)
	})
}
