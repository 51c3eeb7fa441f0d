package signin

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/store"
)

// errUnknownAccount means that an upstream account belongs to no user here.
var errUnknownAccount = errors.New("the account belongs to no user here")

// userOfAccount returns the user of an upstream account. Once an account is joined, only issuer and subject count.
// Errors: errUnknownAccount, oidcclient.ErrUserinfo.
func (p *Provider) userOfAccount(ctx context.Context, up *Upstream, account *oidcclient.Account) (*identity.User, error) {
	u, err := p.joinedUser(ctx, up, account)
	if errors.Is(err, store.ErrNotFound) {
		u, err = p.join(ctx, up, account)
	}
	if errors.Is(err, store.ErrTaken) { // in another tab, or by another user
		u, err = p.joinedUser(ctx, up, account)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, errUnknownAccount
	case err != nil:
		return nil, err
	}
	return p.updated(ctx, up, u, account)
}

// joinedUser returns the user that an upstream account is joined to. Errors: store.ErrNotFound: none; errUnknownAccount:
// the user is disabled, or has an address of another upstream by now.
func (p *Provider) joinedUser(ctx context.Context, up *Upstream, account *oidcclient.Account) (*identity.User, error) {
	u, err := p.db().UserByUpstreamAccount(ctx, up.Issuer, account.Subject)
	if err != nil {
		return nil, err
	}
	if theirs := p.upstreamOf(u.Email); !u.DisabledAt.IsZero() || theirs != nil && theirs != up {
		return nil, errUnknownAccount
	}
	return u, nil
}

// updated gives a user the names and groups that they have upstream now, and returns the user as stored. The address
// stays: roles at the console rest on it.
func (p *Provider) updated(ctx context.Context, up *Upstream, u *identity.User, account *oidcclient.Account) (*identity.User, error) {
	now := *u
	now.Name, now.GivenName, now.FamilyName = cmp.Or(identity.Tidy(account.Name), u.Name),
		cmp.Or(identity.Tidy(account.GivenName), u.GivenName), cmp.Or(identity.Tidy(account.FamilyName), u.FamilyName)
	if now.Validate() != nil {
		now = *u
	}
	now.UpstreamGroups = nil
	if up.WantsGroups {
		now.UpstreamGroups = identity.UpstreamGroups(up.ID, account.Groups)
	}
	if now.Name == u.Name && now.GivenName == u.GivenName && now.FamilyName == u.FamilyName &&
		slices.Equal(now.UpstreamGroups, u.UpstreamGroups) {
		return u, nil
	}
	return &now, p.db().Write(ctx, func(tx *store.Tx) error { return tx.UpdateUserFromUpstream(&now) })
}

// join joins a new upstream account to the user with the same e-mail address, if it is verified on both sides; if there
// is none, it inserts a user, unless provisioning is off. Errors: errUnknownAccount, oidcclient.ErrUserinfo; store.ErrTaken: it was joined meanwhile,
// or the user has another account.
func (p *Provider) join(ctx context.Context, up *Upstream, account *oidcclient.Account) (*identity.User, error) {
	if err := up.Complete(ctx, account); err != nil {
		return nil, err
	}
	made := &identity.User{ID: uuid.NewString(), Email: account.Email, EmailVerified: true,
		Name: identity.Tidy(account.Name), GivenName: identity.Tidy(account.GivenName),
		FamilyName: identity.Tidy(account.FamilyName), CreatedAt: p.now()}
	allowed := len(up.Domains) == 0 || identity.InDomains(account.Email, up.Domains)
	if !account.EmailVerified || !allowed || made.Validate() != nil {
		return nil, errUnknownAccount
	}
	u, err := p.db().UserByEmail(ctx, account.Email)
	if errors.Is(err, store.ErrNotFound) && !up.KnownOnly {
		u, err = made, nil
	}
	switch {
	case err != nil:
		return nil, err
	case !u.EmailVerified || !u.DisabledAt.IsZero() || !identity.SameAddress(u.Email, account.Email):
		return nil, errUnknownAccount
	}
	linked, err := p.db().ListUpstreamAccounts(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	for _, other := range linked { // only an administrator moves people from one upstream to another
		if slices.ContainsFunc(p.Upstreams, func(one *Upstream) bool { return one != up && one.Issuer == other.Issuer }) {
			return nil, errUnknownAccount
		}
	}
	err = p.db().Write(ctx, func(tx *store.Tx) error {
		if u == made {
			if err := tx.InsertUser(u); err != nil {
				return err
			}
		}
		return tx.InsertUpstreamAccount(up.Issuer, account.Subject, u.ID, p.now())
	})
	return u, err
}
