package oidcclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/hiregate/hiregate/internal/bearer"
)

// ErrRefused means that the provider accepts a refresh token no longer (invalid_grant): what it was issued for has ended
// there. Any other error says nothing about that.
var ErrRefused = errors.New("the provider refuses the refresh token")

// ErrNoRefreshing means that the provider refreshes nothing for this client.
var ErrNoRefreshing = errors.New("the provider does not refresh what it issued to this client")

// AskToRefresh returns the parameters of an authorization request that ask for a refresh token, at providers that give
// none without (OpenID Connect Core section 11).
func (m *Metadata) AskToRefresh() []oauth2.AuthCodeOption {
	if !slices.Contains(m.Scopes, oidc.ScopeOfflineAccess) {
		return nil
	}
	scopes := append(m.config("").Scopes, oidc.ScopeOfflineAccess)
	return []oauth2.AuthCodeOption{oauth2.SetAuthURLParam("scope", strings.Join(scopes, " "))}
}

// Refresh exchanges the refresh token of a subject. The account has the refresh token to use next, and what an ID token
// says, if there is one (OpenID Connect Core section 12.2). Errors: ErrRefused, ErrNoRefreshing, ErrTooManyGroups.
func (p *Provider) Refresh(ctx context.Context, token, subject string) (*Account, error) {
	found, err := p.Discover(ctx)
	if err != nil {
		return nil, err
	}
	ctx = oidc.ClientContext(ctx, bearer.Client(p.client()))
	issued, err := found.config("").TokenSource(ctx, &oauth2.Token{RefreshToken: token}).Token()
	if err != nil {
		refused, ok := errors.AsType[*oauth2.RetrieveError](err) // its text contains the provider's body
		switch {
		case ok && refused.ErrorCode == "invalid_grant":
			return nil, ErrRefused
		case ok && (refused.ErrorCode == "unsupported_grant_type" || refused.ErrorCode == "unauthorized_client"):
			return nil, ErrNoRefreshing
		case ok && refused.Response != nil:
			return nil, fmt.Errorf("refreshing at the provider: it was answered %d", refused.Response.StatusCode)
		}
		return nil, advised(fmt.Errorf("refreshing at the provider: %w", err))
	}
	if err := bearer.Check(issued); err != nil {
		return nil, fmt.Errorf("refreshing at the provider: %w", err)
	}
	account := &Account{Subject: subject}
	account.hold(issued)
	raw, _ := issued.Extra("id_token").(string)
	if raw == "" {
		return account, nil
	}
	verified, err := found.Verifier(&oidc.Config{ClientID: p.ClientID, Now: p.late}).Verify(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("the provider's refreshed ID token: %w", err)
	}
	var c claims
	switch {
	case verified.Subject != subject:
		return nil, errors.New("the provider's refreshed ID token is of another user")
	case verified.Claims(&c) != nil:
		return nil, errors.New("the provider's refreshed ID token can't be read")
	}
	p.describe(account, c)
	account.SID, account.AuthTime, account.IDToken = c.text("sid"), c.seconds("auth_time"), raw
	return account, p.checkGroups(c)
}

// Revoke ends a refresh token at the provider (RFC 7009), if that has an address for it.
func (p *Provider) Revoke(ctx context.Context, token string) error {
	found, err := p.Discover(ctx)
	if err != nil || found.Revocation == "" {
		return err
	}
	form := url.Values{"token": {token}, "token_type_hint": {"refresh_token"}}
	if found.authStyle() == oauth2.AuthStyleInParams {
		form.Set("client_id", p.ClientID)
		form.Set("client_secret", p.Secret)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, found.Revocation, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("revoking at the provider: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if found.authStyle() == oauth2.AuthStyleInHeader { // RFC 6749 section 2.3.1
		r.SetBasicAuth(url.QueryEscape(p.ClientID), url.QueryEscape(p.Secret))
	}
	answer, err := p.client().Do(r)
	if err != nil {
		return advised(fmt.Errorf("revoking at the provider: %w", err))
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("revoking at the provider: it was answered %d", answer.StatusCode)
	}
	return nil
}
