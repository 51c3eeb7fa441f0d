package access_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/access"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

const issuer = "https://gate.example.com/signin"

// people adds the user ada and the client app.
func people(t *testing.T, db *store.DB) {
	t.Helper()
	write(t, db, func(tx *store.Tx) error {
		if err := tx.InsertUser(&identity.User{ID: "ada", Email: "Ada@example.com", EmailVerified: true, Name: "Ada Lovelace", GivenName: "Ada", FamilyName: "Lovelace", Password: "$x", CreatedAt: noon}); err != nil {
			return err
		}
		for _, id := range []string{"app", "other"} {
			if err := tx.InsertClient(&identity.Client{ID: id, Name: "App", RedirectURIs: []string{"https://app.example.com/cb"}, Algorithm: identity.RS256, Consent: true, CreatedAt: noon}); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestUserIsFoundByEmail(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		people(t, db)
		byEmail, err := db.UserByEmail(t.Context(), "aDA@EXAMPLE.com")
		require.NoError(t, err)
		want := &identity.User{ID: "ada", Email: "Ada@example.com", EmailVerified: true, Name: "Ada Lovelace", GivenName: "Ada", FamilyName: "Lovelace", Password: "$x", CreatedAt: noon}
		require.Equal(t, want, byEmail)
		_, err = db.UserByEmail(t.Context(), "bob@example.com")
		require.ErrorIs(t, err, store.ErrNotFound)
		err = db.Write(t.Context(), func(tx *store.Tx) error {
			return tx.InsertUser(&identity.User{ID: "ada2", Email: "ada@example.COM", CreatedAt: noon})
		})
		require.ErrorIs(t, err, store.ErrTaken)
	})
}

func TestClients(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		people(t, db)
		c, err := db.Client(t.Context(), "app")
		require.NoError(t, err)
		require.ErrorIs(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertClient(c) }), store.ErrTaken)

		secrets := func() []identity.Hash {
			all, err := db.ListClientSecrets(t.Context(), "app")
			require.NoError(t, err)
			return all
		}
		add := func(text string, after time.Duration) error {
			return db.Write(t.Context(), func(tx *store.Tx) error {
				return tx.InsertClientSecret("app", identity.HashSecret(text), noon.Add(after))
			})
		}
		require.Empty(t, secrets())
		require.NoError(t, add("one", 0))
		require.NoError(t, add("two", time.Second))
		require.ErrorIs(t, add("three", 2*time.Second), access.ErrTooMany)
		require.Equal(t, []identity.Hash{identity.HashSecret("one"), identity.HashSecret("two")}, secrets())
		write(t, db, func(tx *store.Tx) error { return tx.DeleteOlderClientSecrets("app") })
		require.Equal(t, []identity.Hash{identity.HashSecret("two")}, secrets())
		require.NoError(t, add("three", 2*time.Second))
		// The newest is the one that was made last, whatever the clocks say.
		write(t, db, func(tx *store.Tx) error { return tx.DeleteOlderClientSecrets("app") })
		require.NoError(t, add("four", -time.Hour))
		require.Equal(t, []identity.Hash{identity.HashSecret("three"), identity.HashSecret("four")}, secrets())
		write(t, db, func(tx *store.Tx) error { return tx.DeleteOlderClientSecrets("app") })
		require.Equal(t, []identity.Hash{identity.HashSecret("four")}, secrets())

		c.Name, c.LogoutURIs, c.Algorithm, c.SecretPost, c.RequirePKCE, c.Consent = "Other", []string{"https://app.example.com/"}, identity.ES256, true, true, false
		write(t, db, func(tx *store.Tx) error {
			known, err := tx.UpdateClient(c)
			require.True(t, known)
			return err
		})
		got, err := db.Client(t.Context(), "app")
		require.NoError(t, err)
		require.Equal(t, c, got)
	})
}

func TestSessions(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		people(t, db)
		one, two := identity.HashSecret("one"), identity.HashSecret("two")
		begin := func(hash, before identity.Hash, at time.Time) {
			ada := user(t, db, "ada")
			write(t, db, func(tx *store.Tx) error {
				return tx.InsertSession(before, &identity.Session{Hash: hash, Issuer: issuer, UserID: "ada", SignedInAt: at, Till: at.Add(time.Hour)}, ada)
			})
		}
		there := func(hash identity.Hash, issuer string, at time.Time) bool {
			s, err := db.Session(t.Context(), issuer, hash, at)
			if err != nil {
				require.ErrorIs(t, err, store.ErrNotFound)
				return false
			}
			require.Equal(t, "ada", s.UserID)
			return true
		}
		begin(one, identity.Hash{}, noon)
		require.True(t, there(one, issuer, noon.Add(time.Hour-time.Microsecond)))
		require.False(t, there(one, issuer, noon.Add(time.Hour)))
		require.False(t, there(one, "https://other.example.com", noon), "it is good at another issuer")
		begin(two, one, noon)
		require.False(t, there(one, issuer, noon), "the session before is still good")
		require.True(t, there(two, issuer, noon))
		write(t, db, func(tx *store.Tx) error { return tx.DeleteSession(two, noon) })
		require.False(t, there(two, issuer, noon))

		begin(one, identity.Hash{}, noon)
		begin(identity.HashSecret("three"), identity.Hash{}, noon)
		require.True(t, there(one, issuer, noon), "a session of another browser ended")
		write(t, db, func(tx *store.Tx) error {
			changed, err := tx.DisableUser("ada", noon)
			require.True(t, changed)
			return err
		})
		require.False(t, there(one, issuer, noon), "a disabled user is signed in")

		_, err := db.ConsentedScope(t.Context(), "ada", "app")
		require.ErrorIs(t, err, store.ErrNotFound)
		for _, scope := range []string{"openid", "openid email"} {
			write(t, db, func(tx *store.Tx) error { return tx.UpsertConsent("ada", "app", scope, noon) })
			got, err := db.ConsentedScope(t.Context(), "ada", "app")
			require.NoError(t, err)
			require.Equal(t, scope, got)
		}
		_, err = db.ConsentedScope(t.Context(), "ada", "other")
		require.ErrorIs(t, err, store.ErrNotFound, "what one client was let have another one has")
	})
}

func user(t *testing.T, db *store.DB, id string) *identity.User {
	t.Helper()
	u, err := db.User(t.Context(), id)
	require.NoError(t, err)
	return u
}

// withoutSID returns a grant that was read, but for what its session is known by, which is random.
func withoutSID(t *testing.T, g *identity.Grant) *identity.Grant {
	t.Helper()
	if g != nil {
		require.NotEmpty(t, g.SID)
		g.SID = ""
	}
	return g
}

func grant() *identity.Grant {
	return &identity.Grant{Issuer: issuer, Client: "app", UserID: "ada", RedirectURI: "https://app.example.com/cb", Scope: "openid email", Claims: `{"userinfo":["name"]}`,
		Nonce: "n", Challenge: "c", SignedInAt: noon.Add(-time.Minute), IssuedAt: noon, EndsAt: noon.Add(identity.GrantLife)}
}

func issue(t *testing.T, db *store.DB, code string) {
	t.Helper()
	issueAt(t, db, code, noon)
}

func issueAt(t *testing.T, db *store.DB, code string, at time.Time) {
	t.Helper()
	issueTill(t, db, code, at, time.Time{})
}

func issueTill(t *testing.T, db *store.DB, code string, at, till time.Time) {
	t.Helper()
	g := grant()
	g.IssuedAt = at
	s := &identity.Session{Hash: identity.HashSecret("session of " + code), Issuer: issuer, UserID: g.UserID, SignedInAt: g.SignedInAt, Till: at.Add(time.Hour), GrantsTill: till}
	u := user(t, db, g.UserID)
	write(t, db, func(tx *store.Tx) error { return tx.InsertSession(s.Hash, s, u) })
	write(t, db, func(tx *store.Tx) error { return tx.InsertCode(identity.HashSecret(code), s.Hash, g) })
}

func tokens(name string, at time.Time) []identity.Token {
	return []identity.Token{
		{Hash: identity.HashSecret("access " + name), Kind: identity.Access, Till: at.Add(identity.AccessLife)},
		{Hash: identity.HashSecret("refresh " + name), Kind: identity.Refresh, Till: at.Add(identity.RefreshLife)},
	}
}

func exchange(t *testing.T, db *store.DB, code, name string, at time.Time, change func(*access.Exchange)) *identity.Grant {
	t.Helper()
	x := &access.Exchange{Code: identity.HashSecret(code), Issuer: issuer, Client: "app", RedirectURI: "https://app.example.com/cb", Challenge: "c", Tokens: tokens(name, at)}
	change(x)
	var g *identity.Grant
	write(t, db, func(tx *store.Tx) (err error) {
		g, err = tx.ExchangeCode(x, at)
		return err
	})
	return g
}

func asIs(*access.Exchange) {}

func good(t *testing.T, db *store.DB, name string, at time.Time) bool {
	t.Helper()
	_, err := db.AccessToken(t.Context(), issuer, identity.HashSecret("access "+name), at)
	if err != nil {
		require.ErrorIs(t, err, store.ErrNotFound)
	}
	return err == nil
}

func TestCodeIsExchanged(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		people(t, db)
		issue(t, db, "code")
		for name, spoil := range map[string]func(*access.Exchange){
			"code":        func(x *access.Exchange) { x.Code = identity.HashSecret("other") },
			"issuer":      func(x *access.Exchange) { x.Issuer = "https://other.example.com" },
			"client":      func(x *access.Exchange) { x.Client = "other" },
			"redirect":    func(x *access.Exchange) { x.RedirectURI += "/" },
			"verifier":    func(x *access.Exchange) { x.Challenge = "d" },
			"no verifier": func(x *access.Exchange) { x.Challenge = "" },
		} {
			require.Nil(t, exchange(t, db, "code", "x", noon, spoil), name)
		}
		require.Nil(t, exchange(t, db, "code", "x", noon.Add(identity.CodeLife), asIs))
		at := noon.Add(identity.CodeLife - time.Microsecond)
		require.Equal(t, grant(), withoutSID(t, exchange(t, db, "code", "a", at, asIs)))
		g, err := db.AccessToken(t.Context(), issuer, identity.HashSecret("access a"), at)
		require.NoError(t, err)
		require.Equal(t, grant(), withoutSID(t, g))
		require.True(t, good(t, db, "a", at.Add(identity.AccessLife-time.Microsecond)))
		require.False(t, good(t, db, "a", at.Add(identity.AccessLife)))
		_, err = db.AccessToken(t.Context(), "https://other.example.com", identity.HashSecret("access a"), at)
		require.ErrorIs(t, err, store.ErrNotFound)
		_, err = db.AccessToken(t.Context(), issuer, identity.HashSecret("refresh a"), at)
		require.ErrorIs(t, err, store.ErrNotFound, "a refresh token passes as an access token")

		require.Nil(t, exchange(t, db, "code", "b", at, func(x *access.Exchange) { x.Client = "other" }))
		require.Nil(t, exchange(t, db, "code", "b", at, func(x *access.Exchange) { x.Issuer = "https://other.example.com" }))
		require.True(t, good(t, db, "a", at), "another client revoked what was issued for a code that it has")
		require.Nil(t, exchange(t, db, "code", "b", at, asIs))
		require.False(t, good(t, db, "a", at), "what was issued for a code that came twice is good")
		require.False(t, good(t, db, "b", at))
	})
}

// Of many who exchange one code at the same time, from two nodes where the database allows that, one wins.
func TestOneWinner(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		var nodes []*store.DB
		for range 2 {
			db, err := store.Open(t.Context(), address, store.Options{})
			if err != nil && len(nodes) == 1 { // SQLite is one process's
				break
			}
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			nodes = append(nodes, db)
		}
		people(t, nodes[0])
		for round := range 5 {
			code := fmt.Sprint("code", round)
			issue(t, nodes[0], code)
			won := make(chan string, 40)
			var wg sync.WaitGroup
			for n := range 40 {
				wg.Go(func() {
					name := fmt.Sprint(round, ".", n)
					if exchange(t, nodes[n%len(nodes)], code, name, noon, asIs) != nil {
						won <- name
					}
				})
			}
			wg.Wait()
			require.Len(t, won, 1)
			require.Nil(t, exchange(t, nodes[0], code, "replay", noon, asIs))
			require.False(t, good(t, nodes[0], <-won, noon))
		}
	})
}

func TestKeysAndLog(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		k := &identity.Key{Algorithm: identity.RS256, Generation: 1, ID: "k1", Sealed: []byte{0, 1, 255}, SignsFrom: noon, CreatedAt: noon}
		for _, want := range []bool{true, false} {
			write(t, db, func(tx *store.Tx) error {
				added, err := tx.InsertKey(k)
				require.Equal(t, want, added)
				return err
			})
		}
		next := *k
		next.Generation, next.ID = 2, "k0"
		other := *k
		other.Algorithm, other.ID = identity.ES256, "k9"
		for _, one := range []*identity.Key{&next, &other} {
			write(t, db, func(tx *store.Tx) error { _, err := tx.InsertKey(one); return err })
		}
		all, err := db.ListKeys(t.Context())
		require.NoError(t, err)
		require.Equal(t, []*identity.Key{&other, k, &next}, all)
		write(t, db, func(tx *store.Tx) error { return tx.DeleteKeys(identity.RS256, 2) })
		all, err = db.ListKeys(t.Context())
		require.NoError(t, err)
		require.Equal(t, []*identity.Key{&other, &next}, all)

		for n := range 3 {
			write(t, db, func(tx *store.Tx) error {
				return tx.InsertSigninEntry(&identity.Entry{At: noon.Add(time.Duration(n) * 45 * 24 * time.Hour), Event: "sign-in", Result: "success", Issuer: issuer, Client: "app", UserID: fmt.Sprint(n), Address: "192.0.2.1"})
			})
		}
		page, before, err := db.ListSigninEntries(t.Context(), 0, 1)
		require.NoError(t, err)
		require.Equal(t, &identity.Entry{ID: page[0].ID, At: noon.Add(90 * 24 * time.Hour), Event: "sign-in", Result: "success", Issuer: issuer, Client: "app", UserID: "2", Address: "192.0.2.1"}, page[0])
		page, before, err = db.ListSigninEntries(t.Context(), before, 10)
		require.NoError(t, err)
		require.Zero(t, before)
		require.Len(t, page, 1, "what is older than 90 days is still there")
		require.Equal(t, "1", page[0].UserID)
	})
}
