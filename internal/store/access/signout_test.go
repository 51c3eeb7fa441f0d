package access_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// Who was signed out everywhere is not signed in again by what they showed before, and gets no code by a session of
// before.
func TestNothingBeginsBehindASignOut(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		people(t, db)
		const company = "https://login.example.com"
		for name, signOut := range map[string]func(*store.Tx) (bool, error){
			"reset":   func(tx *store.Tx) (bool, error) { return tx.ResetUser("ada", "another "+t.Name(), noon) },
			"totp":    func(tx *store.Tx) (bool, error) { return tx.RequireTOTP("ada", true, noon) },
			"disable": func(tx *store.Tx) (bool, error) { return tx.DisableUser("ada", noon) },
			"unlink":  func(tx *store.Tx) (bool, error) { return tx.DeleteUpstreamAccounts("ada", noon) },
		} {
			write(t, db, func(tx *store.Tx) error {
				_, err := tx.ResetUser("ada", "first "+name, noon)
				return errors.Join(err, second(tx.RequireTOTP("ada", false, noon)), tx.InsertUpstreamAccount(company, "1 "+name, "ada", noon))
			})
			before := user(t, db, "ada")
			s := &identity.Session{Hash: identity.HashSecret(name), Issuer: issuer, UserID: "ada", SignedInAt: noon, Till: noon.Add(time.Hour)}
			if name == "unlink" {
				s.Upstream = &identity.UpstreamSession{Hash: s.Hash, Site: issuer, Issuer: company, Subject: "1 " + name, UserID: "ada", AskedAt: noon, Till: noon}
			}
			write(t, db, func(tx *store.Tx) error { return tx.InsertSession(identity.Hash{}, s, before) })
			write(t, db, func(tx *store.Tx) error { return second(signOut(tx)) })
			err := db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertSession(identity.Hash{}, s, before) })
			require.ErrorIs(t, err, store.ErrNotFound, name)
			err = db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertCode(identity.HashSecret("code "+name), s.Hash, grant()) })
			require.ErrorIs(t, err, store.ErrNotFound, name)
			write(t, db, func(tx *store.Tx) error { return second(tx.DeleteUpstreamAccounts("ada", noon)) })
			if name != "unlink" {
				continue
			}
			write(t, db, func(tx *store.Tx) error {
				grace := &identity.User{ID: "grace", Email: "grace@example.com", Password: "$y", CreatedAt: noon}
				return errors.Join(tx.InsertUser(grace), tx.InsertUpstreamAccount(company, s.Upstream.Subject, "grace", noon), tx.InsertUpstreamAccount("https://login.example.org", s.Upstream.Subject, "ada", noon))
			})
			err = db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertSession(identity.Hash{}, s, before) })
			require.ErrorIs(t, err, store.ErrNotFound, "it is somebody else's by now, and theirs is another company's")
			write(t, db, func(tx *store.Tx) error { return second(tx.DeleteUpstreamAccounts("ada", noon)) })
		}
		write(t, db, func(tx *store.Tx) error { return second(tx.ResetUser("ada", "last", noon)) })
		write(t, db, func(tx *store.Tx) error { return second(tx.RequireTOTP("ada", true, noon)) })
		waits := user(t, db, "ada")
		err := db.Write(t.Context(), func(tx *store.Tx) error {
			return tx.InsertSession(identity.Hash{}, &identity.Session{Hash: identity.HashSecret("waits"), Issuer: issuer, UserID: "ada", SignedInAt: noon, Till: noon.Add(time.Hour)}, waits)
		})
		require.ErrorIs(t, err, store.ErrNotFound, "their second factor is not set up, or was forgotten since")
	})
}

// A database that fails has not said that there is no such user: nobody is told to sign in anew, or that their account
// is unknown.
func TestFaultsAreNoStrangers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hiregate.db")
	db, err := store.Open(t.Context(), "sqlite://"+path, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	people(t, db)
	ada := user(t, db, "ada")
	beside, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	defer beside.Close()
	_, err = beside.Exec(`ALTER TABLE users RENAME TO others`)
	require.NoError(t, err)
	s := &identity.Session{Hash: identity.HashSecret("s"), Issuer: issuer, UserID: "ada", SignedInAt: noon, Till: noon.Add(time.Hour)}
	for name, fn := range map[string]func(*store.Tx) error{
		"session": func(tx *store.Tx) error { return tx.InsertSession(identity.Hash{}, s, ada) },
		"code":    func(tx *store.Tx) error { return tx.InsertCode(identity.HashSecret("c"), s.Hash, grant()) },
		"upstream": func(tx *store.Tx) error {
			return tx.InsertUpstreamAccount("https://login.example.com", "1", "ada", noon)
		},
	} {
		err := db.Write(t.Context(), fn)
		require.ErrorIs(t, err, store.ErrUnavailable, name)
		require.NotErrorIs(t, err, store.ErrNotFound, name)
	}
}

// second is the error of two results.
func second(_ bool, err error) error { return err }
