package console

import (
	"context"
	"errors"
	"fmt"

	"github.com/hiregate/hiregate/internal/digest"
	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/relying"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
)

const forClient = "hiregate client of the console at its own sign-in"

// OwnClient makes the console at an address a client of this gateway's own sign-in. Its secret comes from the key, so
// that all nodes have the same; another key makes it another client.
func OwnClient(p *relying.Provider, keys *vault.Vault, address string) (err error) {
	if p.Secret, err = keys.Derive(forClient, address); err != nil {
		return err
	}
	p.ClientID = fmt.Sprintf("console-%.8x", digest.Of(p.Secret))
	return nil
}

// register makes the console known at this gateway's sign-in, unless it is. What people change of it stays.
func (c *Console) register(ctx context.Context) error {
	db := c.Gateway.Runtime.Store()
	if _, err := db.Client(ctx, c.Issuer.ClientID); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	now := c.Gateway.Now()
	client := &identity.Client{ID: c.Issuer.ClientID, Name: "Console", RedirectURIs: []string{c.URL + callbackPath},
		LogoutURIs: []string{}, Algorithm: identity.RS256, RequirePKCE: true, CreatedAt: now}
	if err := client.Validate(); err != nil {
		return err
	}
	err := db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.InsertClient(client); err != nil {
			return err
		}
		if err := tx.InsertClientSecret(client.ID, identity.HashSecret(c.Issuer.Secret), now); err != nil {
			return err
		}
		return tx.InsertAudit(hiring.AuditEntry{At: now, Actor: "console", Action: "set",
			Object: "oauth-clients/" + client.ID})
	})
	if errors.Is(err, store.ErrTaken) { // another node was faster
		return nil
	}
	return err
}
