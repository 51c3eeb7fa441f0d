package access_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/access"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// Of those who want to ask the provider about a session one may, until it has the answer.
func TestUpstreamSessions(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		people(t, db)
		const company = "https://login.example.com"
		write(t, db, func(tx *store.Tx) error { return tx.InsertUpstreamAccount(company, "1", "ada", noon) })
		begin := func(name, sid string, refresh []byte) identity.Hash {
			hash, u := identity.HashSecret(name), user(t, db, "ada")
			s := &identity.Session{Hash: hash, Issuer: issuer, UserID: "ada", SignedInAt: noon, Till: noon.Add(time.Hour),
				Upstream: &identity.UpstreamSession{Hash: hash, Site: issuer, Issuer: company, Subject: "1", SID: sid, UserID: "ada",
					Refresh: refresh, AskedAt: noon, Till: noon.Add(time.Hour)}}
			write(t, db, func(tx *store.Tx) error { return tx.InsertSession(identity.Hash{}, s, u) })
			write(t, db, func(tx *store.Tx) error { return tx.InsertCode(identity.HashSecret("code "+name), hash, grant()) })
			require.NotNil(t, exchange(t, db, "code "+name, name, noon, asIs))
			return hash
		}
		read := func(hash identity.Hash) *identity.UpstreamSession {
			s, err := db.UpstreamSession(t.Context(), hash)
			require.NoError(t, err)
			return s
		}
		lock := func(s *identity.UpstreamSession, at time.Time) (ours bool) {
			write(t, db, func(tx *store.Tx) (err error) {
				ours, err = tx.LockUpstreamSession(s, at, at.Add(time.Minute))
				return err
			})
			return ours
		}
		one := begin("a", "s-1", []byte("sealed"))
		first := read(one)
		require.Equal(t, []byte("sealed"), first.Refresh)
		require.Equal(t, []string{issuer, company, "1", "s-1", "ada"}, []string{first.Site, first.Issuer, first.Subject, first.SID, first.UserID})
		ofToken, err := db.UpstreamSessionOfToken(t.Context(), identity.HashSecret("access a"))
		require.NoError(t, err)
		require.Equal(t, first, ofToken)
		require.True(t, lock(first, noon))
		require.False(t, lock(first, noon), "another one asks")
		require.True(t, lock(first, noon.Add(time.Minute)), "who asked has died")
		write(t, db, func(tx *store.Tx) error { return tx.PauseUpstreamSession(one, noon.Add(time.Hour)) })
		require.False(t, lock(first, noon.Add(59*time.Minute)))
		require.Equal(t, noon.Add(time.Hour), read(one).PausedTill)
		require.True(t, lock(first, noon.Add(time.Hour)))
		write(t, db, func(tx *store.Tx) error { return tx.ConfirmUpstreamSession(one, []byte("next"), noon.Add(time.Hour)) })
		require.False(t, lock(first, noon.Add(2*time.Hour)), "it was asked since")
		require.Equal(t, []byte("next"), read(one).Refresh)

		two, three := begin("b", "s-2", nil), begin("c", "", nil)
		require.Empty(t, read(two).Refresh)
		logout := func(jti, site, subject, sid string) (users []string) {
			write(t, db, func(tx *store.Tx) (err error) {
				users, err = tx.EndUpstreamSessions(access.Logout{Console: site, Issuer: company, Subject: subject, SID: sid,
					Token: identity.HashSecret(jti), Till: noon.Add(time.Hour)}, noon)
				return err
			})
			return users
		}
		require.Empty(t, logout("1", "https://other.example.com", "1", ""), "of another site")
		require.Empty(t, logout("2", issuer, "2", ""))
		require.Equal(t, []string{"ada"}, logout("3", issuer, "", "s-2"))
		require.False(t, good(t, db, "b", noon))
		_, err = db.UpstreamSession(t.Context(), two)
		require.ErrorIs(t, err, store.ErrNotFound)
		require.Equal(t, []string{"ada"}, logout("4", issuer, "1", "s-9"), "a session of no sid ends with any of its subject's")
		_, err = db.Session(t.Context(), issuer, three, noon)
		require.ErrorIs(t, err, store.ErrNotFound)
		require.True(t, good(t, db, "a", noon))
		err = db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.EndUpstreamSessions(access.Logout{Console: issuer, Issuer: company, Subject: "1",
				Token: identity.HashSecret("4"), Till: noon}, noon)
			return err
		})
		require.ErrorIs(t, err, store.ErrTaken)
		write(t, db, func(tx *store.Tx) error { return second(tx.EndSessions("ada", noon)) })
		require.False(t, good(t, db, "a", noon))
		_, err = db.UpstreamSession(t.Context(), one)
		require.ErrorIs(t, err, store.ErrNotFound)
	})
}
