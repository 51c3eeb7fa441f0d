package access_test

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/access"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

func TestOneTimePasswords(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		people(t, db)
		tried := func(fn func(*store.Tx) (bool, error)) (done bool) {
			write(t, db, func(tx *store.Tx) (err error) { done, err = fn(tx); return err })
			return done
		}
		require := require.New(t)
		setUp := func(step int64) bool {
			return tried(func(tx *store.Tx) (bool, error) { return tx.InsertTOTP("ada", []byte{1}, step) })
		}
		use := func(step int64) bool {
			before := user(t, db, "ada").TOTP
			return tried(func(tx *store.Tx) (bool, error) { return tx.ConsumeTOTP("ada", before, []byte{2}, step) })
		}
		required := func(on bool) bool {
			return tried(func(tx *store.Tx) (bool, error) { return tx.RequireTOTP("ada", on, noon) })
		}
		require.False(setUp(10), "a factor was set up that nobody asked for")
		require.False(use(10))
		hash, ada := identity.HashSecret("one"), user(t, db, "ada")
		write(t, db, func(tx *store.Tx) error {
			return tx.InsertSession(identity.Hash{}, &identity.Session{Hash: hash, Issuer: issuer, UserID: "ada", SignedInAt: noon, Till: noon.Add(identity.SessionLife)}, ada)
		})
		require.True(required(true))
		_, err := db.Session(t.Context(), issuer, hash, noon)
		require.ErrorIs(err, store.ErrNotFound, "a session without the second factor goes on")
		require.True(setUp(10))
		require.False(setUp(11), "a factor was set up in the place of another")
		require.False(use(10), "a password was used twice")
		require.True(use(11))
		require.False(use(9))
		u, err := db.User(t.Context(), "ada")
		require.NoError(err)
		require.Equal([]any{true, []byte{2}, int64(11)}, []any{u.TOTPRequired, u.TOTP, u.TOTPStep})

		var won atomic.Int64
		var trying sync.WaitGroup
		for range 20 {
			trying.Go(func() {
				if use(12) {
					won.Add(1)
				}
			})
		}
		trying.Wait()
		require.Equal(int64(1), won.Load())

		require.True(required(true))
		require.False(use(13), "a factor that was reset is good")
		require.True(setUp(5))
		require.False(tried(func(tx *store.Tx) (bool, error) { return tx.ConsumeTOTP("ada", []byte{2}, []byte{2}, 14) }), "the former factor took the place of the one that was set up since")
		require.Equal([]byte{1}, user(t, db, "ada").TOTP)
		require.True(required(false))
		require.False(setUp(6))
		require.False(tried(func(tx *store.Tx) (bool, error) { return tx.RequireTOTP("nobody", true, noon) }))

		// By themselves they set one up, another one, and remove it, unless an administrator requires it.
		ada = user(t, db, "ada")
		replace := func() bool {
			return tried(func(tx *store.Tx) (bool, error) { return tx.ReplaceTOTP(ada, []byte{3}, 20) })
		}
		remove := func() bool { return tried(func(tx *store.Tx) (bool, error) { return tx.RemoveOwnTOTP(ada) }) }
		own := func() []any {
			u := user(t, db, "ada")
			return []any{u.TOTPRequired, u.TOTPOwn, u.TOTP != nil}
		}
		for range 2 {
			require.True(replace())
			require.Equal([]any{true, true, true}, own())
		}
		reset := func(tx *store.Tx) (bool, error) { return tx.ResetTOTP("ada") }
		require.True(tried(reset))
		require.False(tried(reset))
		require.Equal([]any{true, true, false}, own())
		require.True(remove())
		require.Equal([]any{false, false, false}, own())
		require.False(remove())
		require.True(required(true))
		require.True(setUp(7))
		require.True(replace())
		require.Equal([]any{true, false, true}, own())
		require.False(remove())
		ada.Password = "another"
		require.False(replace())
	})
}

func TestAccountsElsewhere(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		people(t, db)
		const company = "https://login.example.com"
		join := func(issuer, subject, user string) error {
			return db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertUpstreamAccount(issuer, subject, user, noon) })
		}
		write(t, db, func(tx *store.Tx) error {
			return tx.InsertUser(&identity.User{ID: "bob", Email: "bob@example.com", CreatedAt: noon})
		})
		_, err := db.UserByUpstreamAccount(t.Context(), company, "1")
		require.ErrorIs(t, err, store.ErrNotFound)
		require.NoError(t, join(company, "1", "ada"))
		u, err := db.UserByUpstreamAccount(t.Context(), company, "1")
		require.NoError(t, err)
		require.Equal(t, "ada", u.ID)
		_, err = db.UserByUpstreamAccount(t.Context(), company+"/", "1")
		require.ErrorIs(t, err, store.ErrNotFound, "an account of another provider")
		require.ErrorIs(t, join(company, "1", "bob"), store.ErrTaken)
		require.ErrorIs(t, join(company, "2", "ada"), store.ErrTaken)
		require.NoError(t, join(company+"/", "1", "ada"))
		require.ErrorIs(t, join(company, "3", "nobody"), store.ErrNotFound)

		var won atomic.Int64
		var trying sync.WaitGroup
		for n := range 10 {
			trying.Go(func() {
				if join(company, fmt.Sprint("many", n), "bob") == nil {
					won.Add(1)
				}
			})
		}
		trying.Wait()
		require.Equal(t, int64(1), won.Load(), "somebody has two accounts of one provider")

		accounts, err := db.ListUpstreamAccounts(t.Context(), "ada")
		require.NoError(t, err)
		require.Equal(t, []*identity.UpstreamAccount{{Issuer: company, Subject: "1", JoinedAt: noon}, {Issuer: company + "/", Subject: "1", JoinedAt: noon}}, accounts)
		hash, ada := identity.HashSecret("one"), user(t, db, "ada")
		write(t, db, func(tx *store.Tx) error {
			return tx.InsertSession(identity.Hash{}, &identity.Session{Hash: hash, Issuer: issuer, UserID: "ada", SignedInAt: noon, Till: noon.Add(identity.SessionLife)}, ada)
		})
		unjoin := func(user string) (done bool) {
			write(t, db, func(tx *store.Tx) (err error) { done, err = tx.DeleteUpstreamAccounts(user, noon); return err })
			return done
		}
		require.True(t, unjoin("ada"))
		require.False(t, unjoin("nobody"))
		accounts, err = db.ListUpstreamAccounts(t.Context(), "ada")
		require.NoError(t, err)
		require.Empty(t, accounts)
		_, err = db.Session(t.Context(), issuer, hash, noon)
		require.ErrorIs(t, err, store.ErrNotFound, "what was signed in to with the account goes on")
		accounts, err = db.ListUpstreamAccounts(t.Context(), "bob")
		require.NoError(t, err)
		require.Len(t, accounts, 1, "somebody else's account is gone")
		require.NoError(t, join(company, "2", "ada"), "the account that they have there now is not joined")
	})
}

// A visit ends once, in its time; those that nobody came back from are swept.
func TestVisitsElsewhere(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		begin := func(name string, at time.Time) error {
			return db.Write(t.Context(), func(tx *store.Tx) error {
				_, err := tx.InsertVisit(&access.Visit{Hash: identity.HashSecret(name), Request: []byte("\x00 of " + name), Network: "192.0.2.1", At: at, Till: at.Add(time.Minute)})
				return err
			})
		}
		end := func(name string, at time.Time) (request []byte) {
			write(t, db, func(tx *store.Tx) (err error) {
				request, err = tx.DeleteVisit(identity.HashSecret(name), at)
				return err
			})
			return request
		}
		require.NoError(t, begin("one", noon))
		require.NoError(t, begin("two", noon))
		require.Nil(t, end("nobody's", noon))
		require.Nil(t, end("one", noon.Add(time.Minute)), "a visit that is over goes on")
		require.Equal(t, []byte("\x00 of one"), end("one", noon.Add(time.Minute-time.Microsecond)))
		require.Nil(t, end("one", noon), "a visit ended twice")

		require.Error(t, begin("two", noon.Add(time.Minute-time.Microsecond)))
		require.NoError(t, begin("three", noon.Add(time.Minute)))
		require.NoError(t, begin("two", noon), "its row is not gone")

		var won atomic.Int64
		var trying sync.WaitGroup
		for range 10 {
			trying.Go(func() {
				if end("three", noon) != nil {
					won.Add(1)
				}
			})
		}
		trying.Wait()
		require.Equal(t, int64(1), won.Load())
	})
}

// Nobody fills the database with visits: so many wait for a network, and so many for all.
func TestVisitsAreBounded(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, err := store.Open(t.Context(), address, store.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		begin := func(network string, n int, at time.Time) (full time.Time) {
			for from := 0; from < n; from += 50 { // in turns that a busy server gets through
				write(t, db, func(tx *store.Tx) error {
					for k := from; k < min(n, from+50); k++ {
						v := &access.Visit{Hash: identity.HashSecret(fmt.Sprint(network, at, k)), Request: []byte("r"), Network: network, At: at, Till: at.Add(15 * time.Minute)}
						var err error
						if full, err = tx.InsertVisit(v); err != nil {
							return err
						}
					}
					return nil
				})
			}
			return full
		}
		back := func(network string, k int, at time.Time) (request []byte) {
			write(t, db, func(tx *store.Tx) (err error) {
				request, err = tx.DeleteVisit(identity.HashSecret(fmt.Sprint(network, at, k)), at.Add(time.Minute))
				return err
			})
			return request
		}
		require.Zero(t, begin("first", 1, noon.Add(-time.Second)))
		require.Zero(t, begin("one", 500, noon))
		require.Equal(t, noon.Add(15*time.Minute), begin("one", 1, noon.Add(time.Second)))
		require.Nil(t, back("one", 0, noon.Add(time.Second)), "it is kept all the same")
		require.Zero(t, begin("another", 1, noon.Add(time.Second)))
		require.NotNil(t, back("one", 7, noon))
		require.Zero(t, begin("one", 1, noon.Add(2*time.Second)), "who came back left room")
		require.Equal(t, noon.Add(15*time.Minute), begin("one", 1, noon.Add(3*time.Second)), "the first of them ends then")

		crowd(t, address, noon.Add(4*time.Second+15*time.Minute))
		require.Zero(t, begin("crowd 9", 1, noon.Add(4*time.Second)))
		require.Nil(t, back("first", 0, noon.Add(-time.Second)), "the oldest of all gives way")
		require.NotNil(t, back("another", 0, noon.Add(time.Second)))
		require.NotNil(t, back("one", 0, noon.Add(2*time.Second)))
		require.Zero(t, begin("one", 400, noon.Add(16*time.Minute)), "those that are over count")
	})
}

// crowd writes 4499 visits of nine networks as InsertVisit does, which takes minutes to be asked for each of them.
func crowd(t *testing.T, address string, till time.Time) {
	t.Helper()
	driver, source := "pgx", address
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		driver, source = "sqlite", "file:"+path
	}
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	defer db.Close()
	tx, err := db.Begin()
	require.NoError(t, err)
	defer tx.Rollback()
	for n := range 4499 {
		hash := identity.HashSecret(fmt.Sprint("crowd", n))
		_, err := tx.Exec(`INSERT INTO upstream_visits (hash, request, network, till) VALUES ($1, $2, $3, $4)`,
			hash[:], []byte("r"), fmt.Sprint("crowd ", n/500), till.UnixMicro())
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit())
}
