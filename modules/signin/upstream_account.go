package signin

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/google/uuid"
	"golang.org/x/oauth2"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
)

// account is what an upstream reports about a user.
type account struct {
	Subject       string
	AuthTime      int64 // when they signed in there, in seconds since 1970; 0: unknown
	Email         string
	EmailVerified bool
	Name          string
	GivenName     string
	FamilyName    string

	access *oauth2.Token // for UserInfo
}

// claims are those of an ID token, or of UserInfo. A malformed optional claim counts as absent.
type claims map[string]json.RawMessage

func (c claims) text(name string) (s string) {
	if json.Unmarshal(c[name], &s) != nil {
		return ""
	}
	return s
}

// seconds reads a NumericDate, which may have a fraction (RFC 7519 section 2); 0: absent.
func (c claims) seconds(name string) int64 {
	var s float64
	if json.Unmarshal(c[name], &s) != nil || s < 0 || s > 1<<40 {
		return 0
	}
	return int64(s)
}

// yes reads a boolean. Some providers write email_verified as a string; anything but true and "true" is false.
func (c claims) yes(name string) bool {
	text := string(c[name])
	return text == `true` || text == `"true"`
}

// describe copies the claims that describe the user.
func (a *account) describe(c claims) {
	a.Email, a.EmailVerified = c.text("email"), c.yes("email_verified")
	a.Name, a.GivenName = cmp.Or(c.text("name"), a.Name), cmp.Or(c.text("given_name"), a.GivenName)
	a.FamilyName = cmp.Or(c.text("family_name"), a.FamilyName)
}

// told exchanges the upstream's code, and checks the answer.
func (p *Provider) told(r *http.Request, q url.Values, v *visit) (*account, error) {
	found, err := p.Upstream.discovered(r.Context())
	if err != nil {
		return nil, err
	}
	if iss := q.Get("iss"); iss != p.Upstream.Issuer && (iss != "" || found.TellsIssuer) { // RFC 9207 section 2.4
		return nil, errors.New("the answer is another issuer's, or does not tell whose it is (iss)")
	}
	if code := q.Get("error"); code != "" || q.Get("code") == "" {
		return nil, upstreamError(code)
	}
	ctx := oidc.ClientContext(r.Context(), p.Upstream.client())
	issued, err := p.Upstream.config(found, p.Issuer).Exchange(ctx, q.Get("code"), oauth2.VerifierOption(v.Verifier))
	if err != nil {
		var refused *oauth2.RetrieveError
		if errors.As(err, &refused) && refused.Response != nil { // its text contains the upstream's body
			return nil, fmt.Errorf("exchanging the upstream's code: it was answered %d", refused.Response.StatusCode)
		}
		return nil, fmt.Errorf("exchanging the upstream's code: %w", err)
	}
	raw, _ := issued.Extra("id_token").(string)
	token, err := found.Verifier(&oidc.Config{ClientID: p.Upstream.ClientID, Now: p.now}).Verify(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("the upstream's ID token: %w", err)
	}
	them, err := p.Upstream.account(token, v.Nonce)
	if err != nil {
		return nil, err
	}
	them.access = issued
	return them, nil
}

// account reads a verified ID token, and makes the checks that go-oidc leaves to us (OpenID Connect Core sections 2 and
// 3.1.3.7).
func (u *Upstream) account(token *oidc.IDToken, nonce string) (*account, error) {
	var c claims
	if err := token.Claims(&c); err != nil {
		return nil, errors.New("the upstream's ID token can't be read")
	}
	_, authorized := c["azp"]
	switch {
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(nonce)) == 0:
		return nil, errors.New("the upstream's ID token is of another sign-in")
	case authorized && c.text("azp") != u.ClientID:
		return nil, errors.New("the upstream's ID token was issued to another client (azp)")
	case !authorized && len(token.Audience) > 1:
		return nil, errors.New(
			"the upstream's ID token is for several clients, and does not tell to which it was issued (azp)")
	case token.Subject == "" || len(token.Subject) > maxSubject || strings.ContainsFunc(token.Subject, unicode.IsControl):
		return nil, errors.New("the upstream's ID token does not tell whose it is: sub is missing or malformed")
	}
	them := &account{Subject: token.Subject, AuthTime: c.seconds("auth_time")}
	them.describe(c)
	return them, nil
}

// maxSubject is the length of a sub, in bytes (OpenID Connect Core section 2).
const maxSubject = 255

// errUserinfo means that UserInfo did not answer as it should.
var errUserinfo = errors.New("asking the upstream's UserInfo")

// complete asks UserInfo about the user if the ID token has no e-mail address: some providers put it there alone
// (OpenID Connect Core section 5.4). Errors: errUserinfo.
func (u *Upstream) complete(ctx context.Context, them *account) error {
	found, err := u.discovered(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errUserinfo, err)
	}
	if them.Email != "" || found.UserInfoEndpoint() == "" {
		return nil
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, found.UserInfoEndpoint(), nil)
	if err != nil {
		return fmt.Errorf("%w: %w", errUserinfo, err)
	}
	them.access.SetAuthHeader(r)
	answer, err := u.client().Do(r)
	if err != nil {
		return fmt.Errorf("%w: %w", errUserinfo, err)
	}
	defer answer.Body.Close()
	var c claims
	switch {
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("%w: it was answered %d", errUserinfo, answer.StatusCode)
	case json.NewDecoder(answer.Body).Decode(&c) != nil:
		return fmt.Errorf("%w: the answer is not a JSON object", errUserinfo)
	case c.text("sub") != them.Subject: // section 5.3.2
		return fmt.Errorf("%w: it is about another user", errUserinfo)
	}
	them.describe(c)
	return nil
}

// errStranger means that an upstream account belongs to no user here.
var errStranger = errors.New("the account belongs to no user here")

// joined returns the user of an upstream account: by issuer and subject alone, once it is joined. Errors: errStranger,
// errUserinfo.
func (p *Provider) joined(ctx context.Context, them *account) (*identity.User, error) {
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
func (p *Provider) known(ctx context.Context, them *account) (*identity.User, error) {
	u, err := p.db().UserByUpstreamAccount(ctx, p.Upstream.Issuer, them.Subject)
	if err == nil && !u.DisabledAt.IsZero() {
		return nil, errStranger
	}
	return u, err
}

// join joins a new upstream account to the user with the same e-mail address, if it is verified on both sides; if there
// is none, it inserts a user. Errors: errStranger, errUserinfo; store.ErrTaken: it was joined meanwhile, or the user
// has another account.
func (p *Provider) join(ctx context.Context, them *account) (*identity.User, error) {
	if err := p.Upstream.complete(ctx, them); err != nil {
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
