package signin

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/store"
)

// errStranger means that an upstream account belongs to no user here.
var errStranger = errors.New("the account belongs to no user here")

// joined returns the user of an upstream account: by issuer and subject alone, once it is joined. Errors: errStranger,
// oidcclient.ErrUserinfo.
func (p *Provider) joined(ctx context.Context, them *oidcclient.Account) (*identity.User, error) {
	u, err := p.known(ctx, them)
	if errors.Is(err, store.ErrNotFound) {
		u, err = p.join(ctx, them)
	}
	if errors.Is(err, store.ErrTaken) { // in another tab, or by another user
		u, err = p.known(ctx, them)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, errStranger
	}
	return u, err
}

// known returns the user that an upstream account is joined to. Errors: store.ErrNotFound: none; errStranger: the user
// is disabled.
func (p *Provider) known(ctx context.Context, them *oidcclient.Account) (*identity.User, error) {
	u, err := p.db().UserByUpstreamAccount(ctx, p.Upstream.Issuer, them.Subject)
	if err == nil && !u.DisabledAt.IsZero() {
		return nil, errStranger
	}
	return u, err
}

// join joins a new upstream account to the user with the same e-mail address, if it is verified on both sides; if there
// is none, it inserts a user. Errors: errStranger, oidcclient.ErrUserinfo; store.ErrTaken: it was joined meanwhile, or the
// user has another account.
func (p *Provider) join(ctx context.Context, them *oidcclient.Account) (*identity.User, error) {
	if err := p.Upstream.Complete(ctx, them); err != nil {
		return nil, err
	}
	made := &identity.User{ID: uuid.NewString(), Email: them.Email, EmailVerified: true, Name: identity.Tidy(them.Name),
		GivenName: identity.Tidy(them.GivenName), FamilyName: identity.Tidy(them.FamilyName), CreatedAt: p.now()}
	if !them.EmailVerified || made.Validate() != nil {
		return nil, errStranger
	}
	u, err := p.db().UserByEmail(ctx, them.Email)
	if errors.Is(err, store.ErrNotFound) {
		u, err = made, nil
	}
	switch {
	case err != nil:
		return nil, err
	case !u.EmailVerified || !u.DisabledAt.IsZero() || !identity.SameAddress(u.Email, them.Email):
		return nil, errStranger
	}
	err = p.db().Write(ctx, func(tx *store.Tx) error {
		if u == made {
			if err := tx.InsertUser(u); err != nil {
				return err
			}
		}
		return tx.InsertUpstreamAccount(p.Upstream.Issuer, them.Subject, u.ID, p.now())
	})
	return u, err
}
