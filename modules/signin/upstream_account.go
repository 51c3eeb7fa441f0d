package signin

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/store"
)

// errUnknownAccount means that an upstream account belongs to no user here.
var errUnknownAccount = errors.New("the account belongs to no user here")

// userOfAccount returns the user of an upstream account. Once an account is joined, only issuer and subject count.
// Errors: errUnknownAccount, oidcclient.ErrUserinfo.
func (p *Provider) userOfAccount(ctx context.Context, account *oidcclient.Account) (*identity.User, error) {
	u, err := p.joinedUser(ctx, account)
	if errors.Is(err, store.ErrNotFound) {
		u, err = p.join(ctx, account)
	}
	if errors.Is(err, store.ErrTaken) { // in another tab, or by another user
		u, err = p.joinedUser(ctx, account)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, errUnknownAccount
	}
	return u, err
}

// joinedUser returns the user that an upstream account is joined to. Errors: store.ErrNotFound: none; errUnknownAccount:
// the user is disabled.
func (p *Provider) joinedUser(ctx context.Context, account *oidcclient.Account) (*identity.User, error) {
	u, err := p.db().UserByUpstreamAccount(ctx, p.Upstream.Issuer, account.Subject)
	if err == nil && !u.DisabledAt.IsZero() {
		return nil, errUnknownAccount
	}
	return u, err
}

// join joins a new upstream account to the user with the same e-mail address, if it is verified on both sides; if there
// is none, it inserts a user. Errors: errUnknownAccount, oidcclient.ErrUserinfo; store.ErrTaken: it was joined meanwhile,
// or the user has another account.
func (p *Provider) join(ctx context.Context, account *oidcclient.Account) (*identity.User, error) {
	if err := p.Upstream.Complete(ctx, account); err != nil {
		return nil, err
	}
	made := &identity.User{ID: uuid.NewString(), Email: account.Email, EmailVerified: true,
		Name: identity.Tidy(account.Name), GivenName: identity.Tidy(account.GivenName),
		FamilyName: identity.Tidy(account.FamilyName), CreatedAt: p.now()}
	if !account.EmailVerified || made.Validate() != nil {
		return nil, errUnknownAccount
	}
	u, err := p.db().UserByEmail(ctx, account.Email)
	if errors.Is(err, store.ErrNotFound) {
		u, err = made, nil
	}
	switch {
	case err != nil:
		return nil, err
	case !u.EmailVerified || !u.DisabledAt.IsZero() || !identity.SameAddress(u.Email, account.Email):
		return nil, errUnknownAccount
	}
	err = p.db().Write(ctx, func(tx *store.Tx) error {
		if u == made {
			if err := tx.InsertUser(u); err != nil {
				return err
			}
		}
		return tx.InsertUpstreamAccount(p.Upstream.Issuer, account.Subject, u.ID, p.now())
	})
	return u, err
}
