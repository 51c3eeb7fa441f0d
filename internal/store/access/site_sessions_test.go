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

// With a session at a gate ends what our own sign-in granted to that gate, and to no other application.
func TestGrantsEndWithTheSessionAtAGate(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		people(t, db)
		ada := user(t, db, "ada")
		signIn := &identity.Session{Hash: identity.HashSecret("sign-in"), Issuer: issuer, UserID: "ada", SignedInAt: noon,
			Till: noon.Add(time.Hour)}
		write(t, db, func(tx *store.Tx) error { return tx.InsertSession(identity.Hash{}, signIn, ada) })
		write(t, db, func(tx *store.Tx) error {
			return tx.InsertClient(&identity.Client{ID: "pp", Name: "Another", Algorithm: identity.RS256, CreatedAt: noon,
				RedirectURIs: []string{}, LogoutURIs: []string{}})
		})
		for name, end := range map[string]func(tx *store.Tx, hash identity.Hash) (int64, error){
			"one": func(tx *store.Tx, hash identity.Hash) (int64, error) { return tx.EndSiteSession(hash, noon) },
			"all": func(tx *store.Tx, _ identity.Hash) (int64, error) {
				return tx.EndSiteSessions(access.SessionsOf{Site: "https://app.example.com/oauth2", Issuer: issuer, Subject: "ada"}, noon)
			},
		} {
			granted := func(client string) bool {
				g := grant()
				g.Client = client
				code := identity.HashSecret(client + " of " + name)
				write(t, db, func(tx *store.Tx) error { return tx.InsertCode(code, signIn.Hash, g) })
				s := consoleSession(name, noon)
				s.Console, s.SignIn = identity.GateAddress("https://app.example.com/oauth2", issuer, "app"), signIn.Hash
				write(t, db, func(tx *store.Tx) error { return tx.InsertConsoleSession(s.Hash, s) })
				var ended int64
				write(t, db, func(tx *store.Tx) (err error) { ended, err = end(tx, s.Hash); return err })
				require.EqualValues(t, 1, ended, name)
				exchanged := new(identity.Grant)
				write(t, db, func(tx *store.Tx) (err error) {
					exchanged, err = tx.ExchangeCode(&access.Exchange{Code: code, Issuer: issuer, Client: client, RedirectURI: g.RedirectURI,
						Challenge: g.Challenge}, noon)
					return err
				})
				return exchanged != nil
			}
			require.False(t, granted("app"), name)
			require.True(t, granted("pp"), name)
		}
	})
}
