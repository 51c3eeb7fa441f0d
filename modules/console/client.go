package console

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hiregate/hiregate/internal/digest"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
)

const forClient = "hiregate client of the console at its own sign-in"

// OwnClient makes the console at an address a client of this gateway's own sign-in. Its secret comes from the key, so
// that all nodes have the same; another key makes it another client.
func OwnClient(p *oidcclient.Provider, keys *vault.Vault, address string) (err error) {
	if p.Secret, err = keys.Derive(forClient, address); err != nil {
		return err
	}
	p.ClientID = fmt.Sprintf("console-%.8x", digest.Of(p.Secret))
	return nil
}

// register makes the console known at this gateway's sign-in, and its secret good, unless they are. What people
// change of it stays; a client that they disabled is enabled with hiregate oauth-client set … --new-secret.
func (c *Console) register(ctx context.Context) error {
	db, id := c.Gateway.Runtime.Store(), c.Issuer.ClientID
	secret, now := identity.HashSecret(c.Issuer.Secret), c.Gateway.Now()
	known, err := db.Client(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil || !known.DisabledAt.IsZero():
		return err
	default:
		good, err := db.ListClientSecrets(ctx, id)
		if err != nil || slices.Contains(good, secret) {
			return err
		}
		return db.Write(ctx, func(tx *store.Tx) error { return tx.InsertClientSecret(id, secret, now) })
	}
	client := &identity.Client{ID: id, Name: "Console", RedirectURIs: []string{c.URL + callbackPath},
		LogoutURIs: []string{}, Algorithm: identity.RS256, RequirePKCE: true, CreatedAt: now}
	if err := client.Validate(); err != nil {
		return err
	}
	err = db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.InsertClient(client); err != nil {
			return err
		}
		if err := tx.InsertClientSecret(id, secret, now); err != nil {
			return err
		}
		return tx.InsertAudit(model.AuditEntry{At: now, Author: model.Author{Actor: "console"}, Action: "set",
			Object: "oauth-clients/" + id})
	})
	if errors.Is(err, store.ErrTaken) { // another node was faster
		return nil
	}
	return err
}
