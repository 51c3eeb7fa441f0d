package access_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/access"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

const console = "https://gate.example.com/console"

func consoleSession(name string, at time.Time) *identity.ConsoleSession {
	return &identity.ConsoleSession{Hash: identity.HashSecret(name), Console: console, Issuer: issuer, Subject: "ada",
		SID: "sid of " + name, Person: []byte("sealed"), CreatedAt: at, UsedAt: at, Till: at.Add(time.Hour)}
}

// lasts reports whether a session of the console has not ended.
func lasts(t *testing.T, db *store.DB, name string, at time.Time) bool {
	t.Helper()
	_, err := db.ConsoleSession(t.Context(), console, identity.HashSecret(name), at)
	if err != nil {
		require.ErrorIs(t, err, store.ErrNotFound)
	}
	return err == nil
}

// A session of our own sign-in ends with the session there, and shows the address that its user has now.
func TestConsoleSessionsEndWithTheirSignIn(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		people(t, db)
		for name, end := range map[string]func(*store.Tx, *identity.Session) error{
			"out":     func(tx *store.Tx, s *identity.Session) error { return tx.DeleteSession(s.Hash, noon) },
			"reset":   func(tx *store.Tx, _ *identity.Session) error { return second(tx.ResetUser("ada", "new", noon)) },
			"totp":    func(tx *store.Tx, _ *identity.Session) error { return second(tx.RequireTOTP("ada", false, noon)) },
			"unlink":  func(tx *store.Tx, _ *identity.Session) error { return second(tx.DeleteUpstreamAccounts("ada", noon)) },
			"disable": func(tx *store.Tx, _ *identity.Session) error { return second(tx.DisableUser("ada", noon)) },
		} {
			write(t, db, func(tx *store.Tx) error { return second(tx.ResetUser("ada", "password", noon)) })
			ada := user(t, db, "ada")
			s := &identity.Session{Hash: identity.HashSecret("sign-in " + name), Issuer: issuer, UserID: "ada",
				SignedInAt: noon, Till: noon.Add(30 * time.Minute)}
			write(t, db, func(tx *store.Tx) error { return tx.InsertSession(identity.Hash{}, s, ada) })
			code := identity.HashSecret("code " + name)
			write(t, db, func(tx *store.Tx) error { return tx.InsertCode(code, s.Hash, grant()) })
			of, _, err := db.SignInOfCode(t.Context(), issuer, code)
			require.NoError(t, err)
			require.Equal(t, s.Hash, of)
			_, _, err = db.SignInOfCode(t.Context(), "https://other.example.com", code)
			require.ErrorIs(t, err, store.ErrNotFound)

			c := consoleSession(name, noon)
			c.SignIn = of
			write(t, db, func(tx *store.Tx) error { return tx.InsertConsoleSession(identity.Hash{}, c) })
			for _, verified := range []bool{true, false} {
				ada.EmailVerified = verified
				write(t, db, func(tx *store.Tx) error { return tx.UpdateUser(ada) })
				got, err := db.ConsoleSession(t.Context(), console, c.Hash, noon)
				require.NoError(t, err)
				if want := *c; verified {
					want.Email = ada.Email
					require.Equal(t, &want, got)
				} else {
					require.Equal(t, c, got)
				}
			}
			require.True(t, lasts(t, db, name, noon.Add(29*time.Minute)))
			require.False(t, lasts(t, db, name, noon.Add(30*time.Minute)), "the session at sign-in has ended")
			write(t, db, func(tx *store.Tx) error { return end(tx, s) })
			require.False(t, lasts(t, db, name, noon), name)
		}
		write(t, db, func(tx *store.Tx) error { return second(tx.EnableUser("ada")) })
		require.False(t, lasts(t, db, "disable", noon), "it comes back with its user")
	})
}

// A person has ten sessions at most, of which the oldest ends; what has ended is deleted.
func TestConsoleSessionsAreBounded(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		insert := func(s *identity.ConsoleSession, before string) {
			t.Helper()
			write(t, db, func(tx *store.Tx) error { return tx.InsertConsoleSession(identity.HashSecret(before), s) })
		}
		bob := consoleSession("bob", noon)
		bob.Subject = "bob"
		insert(bob, "")
		for n := range 12 {
			insert(consoleSession(fmt.Sprint(n), noon.Add(time.Duration(n)*time.Minute)), "")
		}
		at := noon.Add(12 * time.Minute)
		for n := range 12 {
			require.Equal(t, n > 1, lasts(t, db, fmt.Sprint(n), at), n)
		}
		require.True(t, lasts(t, db, "bob", at), "it is somebody else's")
		insert(consoleSession("after 5", at), "5")
		require.False(t, lasts(t, db, "5", at), "a browser has one")
		require.True(t, lasts(t, db, "2", at))
		_, err := db.ConsoleSession(t.Context(), "https://other.example.com/console", identity.HashSecret("2"), at)
		require.ErrorIs(t, err, store.ErrNotFound)
		require.False(t, lasts(t, db, "11", noon.Add(71*time.Minute)))
		var deleted int64
		write(t, db, func(tx *store.Tx) (err error) {
			deleted, err = tx.DeleteExpiredConsoleSessions(noon.Add(71*time.Minute), 500)
			return err
		})
		require.EqualValues(t, 10, deleted, "of 11 all but the last one")
	})
}

// A logout token ends what it names, and once.
func TestLogoutTokensEndConsoleSessions(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		for n, c := range []struct {
			l    access.Logout
			ends []string
		}{
			{access.Logout{Subject: "ada"}, []string{"one", "two", "without"}},
			{access.Logout{SID: "sid of one"}, []string{"one"}},
			{access.Logout{Subject: "ada", SID: "sid of one"}, []string{"one", "without"}},
			{access.Logout{Subject: "eve", SID: "sid of one"}, nil},
			{access.Logout{Subject: "eve"}, nil},
			{access.Logout{SID: "another"}, nil},
			{access.Logout{Subject: "ada", Issuer: "https://other.example.com"}, nil},
			{access.Logout{Subject: "ada", Console: "https://other.example.com/console"}, nil},
		} {
			names := []string{"one", "two", "without"}
			write(t, db, func(tx *store.Tx) error {
				for _, name := range names {
					s := consoleSession(name, noon)
					if name == "without" {
						s.SID = ""
					}
					if err := tx.InsertConsoleSession(s.Hash, s); err != nil {
						return err
					}
				}
				return nil
			})
			if c.l.Issuer == "" {
				c.l.Issuer = issuer
			}
			if c.l.Console == "" {
				c.l.Console = console
			}
			c.l.Token, c.l.Till = identity.HashSecret(fmt.Sprint(n)), noon.Add(time.Hour)
			var ended int64
			write(t, db, func(tx *store.Tx) (err error) { ended, err = tx.EndConsoleSessions(c.l); return err })
			require.EqualValues(t, len(c.ends), ended, "%+v", c.l)
			for _, name := range names {
				require.Equal(t, !slices.Contains(c.ends, name), lasts(t, db, name, noon), "%s %+v", name, c.l)
			}
			err := db.Write(t.Context(), func(tx *store.Tx) error { _, err := tx.EndConsoleSessions(c.l); return err })
			require.ErrorIs(t, err, store.ErrTaken, "it was used before")
		}
	})
}
