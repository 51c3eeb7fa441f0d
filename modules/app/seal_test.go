package app_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/database"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
)

const (
	firstSeal = "a-text-of-more-than-thirty-two-characters"
	nextSeal  = "another-text-of-more-than-thirty-two-characters"
)

// sealing are settings with the option seal_key and these texts; without any, without it.
func (s *site) sealing(texts ...string) settings {
	c := s.with("acme")
	for n, text := range texts {
		if n == 0 {
			c.options = "seal_key"
		}
		c.options += " " + text
	}
	return c
}

// store puts a tenant with an integration into a database that is not open. Its secret is that of send.
func (s *site) store(name string) {
	s.t.Helper()
	db, err := store.Open(s.t.Context(), "sqlite://"+s.path("hiregate.db"), store.Options{})
	require.NoError(s.t, err)
	require.NoError(s.t, db.Write(s.t.Context(), func(tx *store.Tx) error {
		if err := tx.UpsertTenant(&model.Tenant{Name: name, Secrets: []model.Secret{model.Secret(name + "-secret")}},
			time.Now()); err != nil {
			return err
		}
		return tx.UpsertIntegration(&model.Integration{Tenant: name, Name: "hris", URL: "https://hr.example/in",
			Secret: "hunter2", Options: model.Options{Documents: model.Rehost}}, time.Now())
	}))
	require.NoError(s.t, db.Close())
}

// opens reports whether all stored secrets open with these texts.
func (s *site) opens(texts ...string) bool {
	s.t.Helper()
	v := new(vault.Vault)
	if len(texts) > 0 {
		var err error
		v, err = vault.New(texts...)
		require.NoError(s.t, err)
	}
	err := gateway.Current().Runtime.Store().CheckSecrets(context.Background(), v)
	if err != nil {
		require.ErrorIs(s.t, err, store.ErrSealed)
	}
	return err == nil
}

func (s *site) sealed(text string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.opens(text) && !s.opens() }, 10*time.Second, 10*time.Millisecond,
		"the secrets are not sealed")
}

// A key is added, changed and removed, which fails, by reloads and by restarts. Senders of exports notice nothing.
func TestSealKeyComesAndChanges(t *testing.T) {
	s := newSite(t)
	s.store("initech")
	s.load(s.sealing())
	s.accepted("initech", "u-plain")
	require.True(t, s.opens())

	s.load(s.sealing(firstSeal))
	s.sealed(firstSeal)
	s.accepted("initech", "u-added")

	const otherSeal = "a-third-text-of-more-than-thirty-two-characters"
	removed := func() {
		t.Helper()
		for range 4 { // apps start in no order
			require.ErrorContains(t, s.tryToLoad(s.sealing()), "tenant initech: it was sealed in the database with a key "+
				"that is not configured: add that key to the block hiregate, `seal_key")
			require.ErrorContains(t, s.tryToLoad(s.sealing(otherSeal)), "where there is another one, behind it")
		}
	}
	removed()
	s.accepted("initech", "u-not-removed")
	require.True(t, s.opens(firstSeal))

	s.load(s.sealing(nextSeal, firstSeal))
	s.sealed(nextSeal)
	s.accepted("initech", "u-changed")
	s.load(s.sealing(nextSeal))
	s.accepted("initech", "u-former-removed")

	require.NoError(t, caddy.Stop())
	removed()
	require.Nil(t, gateway.Current())
	s.load(s.sealing(nextSeal))
	s.accepted("initech", "u-restarted")
	require.NoError(t, caddy.Stop())
	require.Len(t, s.stored(s.with()), 6)
	raw, err := os.ReadFile(s.path("hiregate.db"))
	require.NoError(t, err)
	require.NotContains(t, string(raw), nextSeal)
}

// A configuration with a new key that fails as it starts has sealed nothing: the one that goes on, and the next start,
// could not open it.
func TestConfigurationThatFailsSealsNothing(t *testing.T) {
	s := newSite(t)
	s.store("initech")
	s.load(s.sealing())
	s.take("127.0.0.2")
	failing := s.sealing(firstSeal)
	failing.bind = "shared/127.0.0.1 shared/127.0.0.2"
	for range 4 {
		require.ErrorContains(t, s.tryToLoad(failing), "address already in use")
	}
	require.Never(t, func() bool { return !s.opens() }, 1500*time.Millisecond, 50*time.Millisecond)
	s.accepted("initech", "u-first")
	require.NoError(t, caddy.Stop())
	s.load(s.sealing())
	s.accepted("initech", "u-restarted")
}

// sealsExports reports whether what exports hold is sealed, and that all of it can be read.
func (s *site) sealsExports() bool {
	s.t.Helper()
	db := gateway.Current().Runtime.Store()
	all, _, err := db.ListExports(s.t.Context(), store.ExportFilter{})
	require.NoError(s.t, err)
	for _, e := range all {
		require.NoError(s.t, db.LoadBody(s.t.Context(), e))
		require.Contains(s.t, string(e.Body), e.Key)
	}
	return db.Sealing()
}

// What exports hold is sealed from the first one on, or from the reload that brings the key; that key is needed from
// then on.
func TestSealKeySealsWhatExportsHold(t *testing.T) {
	s := newSite(t)
	s.load(s.sealing(firstSeal))
	s.accepted("acme", "u-first")
	require.True(t, s.sealsExports())
	refused := func(texts ...string) {
		t.Helper()
		require.ErrorContains(t, s.tryToLoad(s.sealing(texts...)),
			"of exports: it was sealed in the database with a key that is not configured: add that key to the "+
				"block hiregate, `seal_key")
	}
	refused()
	refused(nextSeal)
	s.accepted("acme", "u-not-removed")
	require.True(t, s.sealsExports())
	s.load(s.sealing(nextSeal, firstSeal))
	s.accepted("acme", "u-changed")
	s.sealed(nextSeal)
	require.NoError(t, caddy.Stop())
	refused()
	refused(firstSeal)
	s.load(s.sealing(nextSeal))
	s.accepted("acme", "u-restarted")
	require.True(t, s.sealsExports())

	other := s.sealing()
	other.database = s.path("other.db")
	s.load(other)
	s.accepted("acme", "u-plain")
	require.False(t, s.sealsExports())
	added := s.sealing(firstSeal)
	added.database = other.database
	s.load(added)
	require.Eventually(t, s.sealsExports, 10*time.Second, 10*time.Millisecond,
		"nothing is sealed after a reload that brings the key")
	s.accepted("acme", "u-added")
	require.True(t, s.sealsExports())
}

// Candidates from before there was a key are sealed after the reload that brings it, and found by their e-mail address.
func TestSealKeySealsWhatIsHeldOfPeople(t *testing.T) {
	s := newSite(t)
	s.load(s.sealing())
	zoe := &model.Candidate{Row: model.Row{Tenant: "acme"}, ID: "c-1", Email: []string{"zoe@example.org"}}
	require.NoError(t, gateway.Current().Runtime.Store().Write(t.Context(), func(tx *store.Tx) error {
		return tx.UpsertCandidate(zoe, time.Now())
	}))
	plain := func() (plain int) {
		require.NoError(t, database.Peek(t.Context(), "sqlite://"+s.path("hiregate.db"), func(r database.Row) error {
			return r.Scan(&plain)
		}, `SELECT count(*) FROM candidates WHERE instr(data, 'zoe@') > 0 AND email LIKE 'zoe@%'`))
		return plain
	}
	require.Equal(t, 1, plain())
	s.load(s.sealing(firstSeal))
	require.Eventually(t, func() bool { return plain() == 0 }, time.Minute, 10*time.Millisecond,
		"nothing is sealed after a reload that brings the key")
	s.load(s.sealing(nextSeal, firstSeal))
	s.sealed(nextSeal)
	require.NoError(t, caddy.Stop())
	s.load(s.sealing(nextSeal))
	found, _, err := gateway.Current().Runtime.Store().ListCandidates(t.Context(), "acme", store.CandidateFilter{Email: "Zoe@example.org"}, store.Page{})
	require.NoError(t, err)
	require.Equal(t, []*model.Candidate{zoe}, found)
}
