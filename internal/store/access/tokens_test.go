package access_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

func TestTokensRotate(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		people(t, db)
		rotate := func(from, to, issuer, client string, at time.Time) *identity.Grant {
			var g *identity.Grant
			write(t, db, func(tx *store.Tx) (err error) {
				g, err = tx.RotateRefreshToken(identity.HashSecret("refresh "+from), issuer, client, tokens(to, at), at)
				return err
			})
			return withoutSID(t, g)
		}
		issue(t, db, "code")
		require.NotNil(t, exchange(t, db, "code", "a", noon, asIs))
		require.Nil(t, rotate("a", "x", issuer, "other", noon))
		require.Nil(t, rotate("a", "x", "https://other.example.com", "app", noon))
		require.Nil(t, rotate("nobody", "x", issuer, "app", noon))
		require.Nil(t, rotate("a", "x", issuer, "app", noon.Add(identity.RefreshLife)))
		require.True(t, good(t, db, "a", noon))
		require.Equal(t, grant(), rotate("a", "b", issuer, "app", noon))
		require.True(t, good(t, db, "b", noon))
		require.Nil(t, rotate("a", "x", issuer, "other", noon))
		require.Nil(t, rotate("a", "x", "https://other.example.com", "app", noon))
		require.True(t, good(t, db, "b", noon), "another client revoked what a token was changed for that it has")

		// The grant is kept as long as its tokens live, so that the code's second use is still seen.
		late := noon.Add(20 * 24 * time.Hour)
		require.NotNil(t, rotate("b", "c", issuer, "app", late))
		issue(t, db, "another")
		require.Nil(t, rotate("a", "d", issuer, "app", late), "a refresh token was used twice")
		require.False(t, good(t, db, "c", late))
		require.Nil(t, rotate("c", "e", issuer, "app", late))
	})
}

// A client that refreshes for several requests at once sends the former token again: within the grace period it is
// accepted each time, from that client alone.
func TestFormerRefreshTokenWorksForAWhile(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		people(t, db)
		begin := func(name string) {
			issue(t, db, name)
			require.NotNil(t, exchange(t, db, name, name, noon, asIs))
		}
		rotate := func(from, to, client string, at time.Time) (g *identity.Grant) {
			write(t, db, func(tx *store.Tx) (err error) {
				g, err = tx.RotateRefreshToken(identity.HashSecret("refresh "+from), issuer, client, tokens(to, at), at)
				return err
			})
			return withoutSID(t, g)
		}
		soon, over := noon.Add(identity.RefreshGrace-time.Second), noon.Add(identity.RefreshGrace)

		begin("a")
		require.NotNil(t, rotate("a", "a1", "app", noon))
		require.Nil(t, rotate("a", "x", "other", soon))
		require.Equal(t, grant(), rotate("a", "a2", "app", soon))
		require.NotNil(t, rotate("a1", "a3", "app", soon))
		require.NotNil(t, rotate("a2", "a4", "app", soon))
		require.True(t, good(t, db, "a3", soon))
		names := []string{"a", "a1", "a2", "a3", "a4"}
		for n := range 8 {
			names = append(names, fmt.Sprintf("a more %d", n))
			require.Equal(t, grant(), rotate("a", names[len(names)-1], "app", soon))
		}
		for _, name := range names[1:] {
			require.True(t, good(t, db, name, soon), name)
		}
		require.Nil(t, rotate("a", "x", "app", over), "the repeats prolonged the grace period")
		for _, name := range names {
			require.False(t, good(t, db, name, over), name)
		}

		begin("b")
		require.NotNil(t, rotate("b", "b1", "app", noon))
		require.Nil(t, rotate("b", "x", "app", over), "it was accepted after the grace period")
		require.False(t, good(t, db, "b1", over))

		begin("c")
		write(t, db, func(tx *store.Tx) error {
			_, err := tx.RevokeToken(identity.HashSecret("refresh c"), issuer, "app", noon)
			return err
		})
		require.Nil(t, rotate("c", "x", "app", noon), "a revoked token has no grace period")
	})
}

func TestTokensAreRevoked(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		people(t, db)
		revoke := func(token, client string) (found bool) {
			write(t, db, func(tx *store.Tx) (err error) {
				found, err = tx.RevokeToken(identity.HashSecret(token), issuer, client, noon)
				return err
			})
			return found
		}
		issue(t, db, "one")
		issue(t, db, "two")
		exchange(t, db, "one", "a", noon, asIs)
		exchange(t, db, "two", "b", noon, asIs)
		require.False(t, revoke("access a", "other"))
		write(t, db, func(tx *store.Tx) error {
			found, err := tx.RevokeToken(identity.HashSecret("access a"), "https://other.example.com", "app", noon)
			if found {
				err = errors.New("it was revoked at another issuer")
			}
			return err
		})
		require.False(t, revoke("nothing", "app"))
		require.True(t, good(t, db, "a", noon))
		require.True(t, revoke("access a", "app"))
		require.False(t, good(t, db, "a", noon))
		require.True(t, good(t, db, "b", noon))
		require.True(t, revoke("access b", "app"))
		for _, access := range []string{"access a", "access b"} { // one that is over is no refresh token that comes twice
			write(t, db, func(tx *store.Tx) error {
				g, err := tx.RotateRefreshToken(identity.HashSecret(access), issuer, "app", tokens("x", noon), noon)
				if g != nil {
					err = errors.New("an access token passes as a refresh token")
				}
				return err
			})
		}
		write(t, db, func(tx *store.Tx) error {
			g, err := tx.RotateRefreshToken(identity.HashSecret("refresh b"), issuer, "app", tokens("b2", noon), noon)
			if g == nil {
				err = errors.New("an access token that is over ended its grant")
			}
			return err
		})
		require.True(t, good(t, db, "b2", noon))
		write(t, db, func(tx *store.Tx) error {
			g, err := tx.RotateRefreshToken(identity.HashSecret("access b2"), issuer, "app", tokens("x", noon), noon)
			if g != nil {
				err = errors.New("an access token passes as a refresh token")
			}
			return err
		})
		require.True(t, revoke("refresh b2", "app"))
		require.False(t, good(t, db, "b2", noon), "the access token outlives the refresh token that was revoked")
		require.True(t, revoke("refresh b", "app"))
		require.False(t, good(t, db, "b", noon), "the access token outlives the refresh token that was revoked")

		issue(t, db, "three")
		exchange(t, db, "three", "c", noon, asIs)
		require.True(t, good(t, db, "c", noon))
		write(t, db, func(tx *store.Tx) error {
			changed, err := tx.DisableClient("app", noon)
			require.True(t, changed)
			return err
		})
		require.False(t, good(t, db, "c", noon))
		write(t, db, func(tx *store.Tx) error {
			known, err := tx.EnableClient("app")
			require.True(t, known)
			return err
		})
		require.False(t, good(t, db, "c", noon), "what was granted before comes back")

		issue(t, db, "four")
		exchange(t, db, "four", "d", noon, asIs)
		issue(t, db, "five")
		write(t, db, func(tx *store.Tx) error {
			known, err := tx.ResetUser("ada", "$y", noon)
			require.True(t, known)
			return err
		})
		require.False(t, good(t, db, "d", noon), "a token outlives the password")
		require.Nil(t, exchange(t, db, "five", "e", noon, asIs), "a code outlives the password")
	})
}

// What nobody can use any more is removed; a code that was used stays as long as its tokens.
func TestGrantsAreSwept(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		people(t, db)
		issue(t, db, "used")
		issue(t, db, "unused")
		exchange(t, db, "used", "a", noon, asIs)
		after := func(d time.Duration, name string) { issueAt(t, db, name, noon.Add(d)) }
		known := func() bool { // whether a second use of the code is still told from an unknown one
			found := false
			write(t, db, func(tx *store.Tx) (err error) {
				found, err = tx.RevokeToken(identity.HashSecret("refresh a"), issuer, "app", noon)
				return err
			})
			return found
		}
		after(identity.RefreshLife-time.Second, "x")
		require.True(t, known())
		after(identity.RefreshLife, "y")
		require.False(t, known())
		after(identity.RefreshLife, "used") // its row is gone, or this would not be taken
	})
}

// An application that refreshes for years, while nobody signs in, leaves no tokens behind that are over.
func TestTokensAreSweptAsTheyRotate(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		people(t, db)
		const day = 24 * time.Hour
		issueTill(t, db, "code", noon, noon.Add(365*day))
		require.NotNil(t, exchange(t, db, "code", "0", noon, asIs))
		for n := range 3 {
			at := noon.Add(time.Duration(n+1) * 20 * day)
			write(t, db, func(tx *store.Tx) error {
				g, err := tx.RotateRefreshToken(identity.HashSecret(fmt.Sprint("refresh ", n)), issuer, "app", tokens(fmt.Sprint(n+1), at), at)
				require.NotNil(t, g)
				return err
			})
		}
		known := func(token string) (found bool) {
			write(t, db, func(tx *store.Tx) (err error) {
				found, err = tx.RevokeToken(identity.HashSecret(token), issuer, "app", noon.Add(60*day))
				return err
			})
			return found
		}
		for _, over := range []string{"access 0", "refresh 0", "access 1", "refresh 1", "access 2"} {
			require.False(t, known(over), over)
		}
		require.True(t, known("refresh 2"), "its second use is still told from an unknown one")
		require.True(t, known("access 3"))
	})
}
