package signin

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/access"
)

// token exchanges a code or a refresh token for tokens (OpenID Connect Core sections 3.1.3 and 12). The client is
// authenticated before anything is consumed.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	sent, c, err := p.readClientRequest(w, r)
	if err == nil {
		switch sent.Get("grant_type") {
		case "authorization_code":
			err = p.exchange(w, r, c, sent)
		case "refresh_token":
			err = p.refresh(w, r, c, sent)
		case "":
			err = invalid("grant_type is missing")
		default:
			err = badRequest("unsupported_grant_type", "grant_type must be authorization_code or refresh_token")
		}
	}
	p.finish(w, r, c, sent.Get("grant_type"), err)
}

// finish answers an error, and counts the result.
func (p *Provider) finish(w http.ResponseWriter, r *http.Request, c *identity.Client, grant string, err error) {
	client := ""
	if c != nil {
		client = c.ID
	}
	refused, ok := errors.AsType[*problem.Problem](err)
	switch {
	case ok:
		metrics.Token(client, grant, refused.Code)
		if c != nil {
			p.note(r, p.entry(r, "token", refused.Code, client, ""))
		}
		refuseClient(w, refused)
	case err != nil:
		metrics.Token(client, grant, "unavailable")
		p.storeAway(w, r, err)
	default:
		metrics.Token(client, grant, "success")
	}
}

var verifier = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)

func (p *Provider) exchange(w http.ResponseWriter, r *http.Request, c *identity.Client, sent url.Values) error {
	if sent.Get("code") == "" || sent.Get("redirect_uri") == "" {
		return invalid("code and redirect_uri must be there")
	}
	made := ""
	switch v := sent.Get("code_verifier"); {
	case verifier.MatchString(v):
		sum := sha256.Sum256([]byte(v))
		made = base64.RawURLEncoding.EncodeToString(sum[:])
	case v != "":
		made = "-" // matches no challenge; the repeated use of a code is still detected
	}
	// All that can fail comes before the code is consumed.
	k, err := p.Ring.current(r.Context(), c.Algorithm)
	if err != nil {
		return err
	}
	now := p.now()
	issued := newTokens("", now)
	x := &access.Exchange{Code: identity.HashSecret(sent.Get("code")), Issuer: p.Issuer, Client: c.ID,
		RedirectURI: sent.Get("redirect_uri"), Challenge: made, Tokens: issued.kept}
	e := p.entry(r, "token", "success", c.ID, "")
	var g *identity.Grant
	var u *identity.User
	err = p.db().WriteOrdered(r.Context(), "grant "+hex.EncodeToString(x.Code[:]), func(tx *store.Tx) (err error) {
		if g, err = tx.ExchangeCode(x, now); err != nil || g == nil {
			return err
		}
		// In this transaction: the client would repeat a code whose answer failed, and so revoke what was issued for it.
		if u, err = tx.User(g.UserID); err != nil {
			return err
		}
		if !c.Admits(u) {
			return errGrant
		}
		e.UserID = g.UserID
		return tx.InsertSigninEntry(e)
	})
	if err != nil {
		return err
	}
	if g == nil {
		return errGrant
	}
	return p.answer(w, k, g, u, issued, g.Scope, g.Nonce, now)
}

// refresh exchanges a refresh token. The scope in the request may be smaller than what was granted, not larger (RFC
// 6749 section 6). Unlike in an authorization request, unknown scopes are refused as well.
func (p *Provider) refresh(w http.ResponseWriter, r *http.Request, c *identity.Client, sent url.Values) error {
	if sent.Get("refresh_token") == "" {
		return invalid("refresh_token must be there")
	}
	hash := identity.HashSecret(sent.Get("refresh_token"))
	found, err := p.db().UpstreamSessionOfToken(r.Context(), hash)
	if _, err := p.confirmed(r, found, err); err != nil { // what has ended is revoked by now
		return err
	}
	scope := knownScope(sent.Get("scope"))
	tooFew := strings.TrimSpace(sent.Get("scope")) != "" && !covers(scope, "openid")
	k, err := p.Ring.current(r.Context(), c.Algorithm)
	if err != nil {
		return err
	}
	now := p.now()
	issued := newTokens(scope, now)
	e := p.entry(r, "refresh", "success", c.ID, "")
	var g *identity.Grant
	var u *identity.User
	err = p.db().WriteOrdered(r.Context(), "grant "+hex.EncodeToString(hash[:]), func(tx *store.Tx) (err error) {
		if g, err = tx.RotateRefreshToken(hash, p.Issuer, c.ID, issued.kept, now); err != nil || g == nil {
			return err
		}
		if tooFew || !covers(g.Scope, sent.Get("scope")) { // checked after Rotate, which detects a token's second use
			return errScope // and nothing is rotated
		}
		if u, err = tx.User(g.UserID); err != nil {
			return err
		}
		if !c.Admits(u) { // not any more
			return errGrant
		}
		e.UserID = g.UserID
		return tx.InsertSigninEntry(e)
	})
	if err != nil {
		return err
	}
	if g == nil {
		return errGrant
	}
	return p.answer(w, k, g, u, issued, cmp.Or(scope, g.Scope), "", now)
}

// issuedTokens holds new tokens, and the form in which they are stored.
type issuedTokens struct {
	access, refresh string
	kept            []identity.Token
}

// newTokens returns an access token of a scope, and a refresh token for the whole grant.
func newTokens(scope string, now time.Time) issuedTokens {
	access, accessHash := identity.NewSecret()
	refresh, refreshHash := identity.NewSecret()
	return issuedTokens{access, refresh, []identity.Token{
		{Hash: accessHash, Kind: identity.Access, Scope: scope, Till: now.Add(identity.AccessLife)},
		{Hash: refreshHash, Kind: identity.Refresh, Till: now.Add(identity.RefreshLife)},
	}}
}

// answer writes the token response of the contract (part A).
func (p *Provider) answer(w http.ResponseWriter, k *key, g *identity.Grant, u *identity.User, issued issuedTokens,
	scope, nonce string, now time.Time) error {
	token, err := p.idToken(k, g, u, scope, nonce, issued.access, now)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"token_type":    "Bearer",
		"expires_in":    int(min(identity.AccessLife, g.EndsAt.Sub(now)) / time.Second),
		"id_token":      token,
		"access_token":  issued.access,
		"refresh_token": issued.refresh,
		"scope":         scope,
	})
	return nil
}

// revoke ends a token (RFC 7009). A token of another client stays valid, and the answer is the same.
func (p *Provider) revoke(w http.ResponseWriter, r *http.Request) {
	sent, c, err := p.readClientRequest(w, r)
	if err == nil && sent.Get("token") == "" {
		err = invalid("token must be there")
	}
	if err == nil {
		e := p.entry(r, "revoke", "success", c.ID, "")
		err = p.db().Write(r.Context(), func(tx *store.Tx) error {
			known, err := tx.RevokeToken(identity.HashSecret(sent.Get("token")), p.Issuer, c.ID, p.now())
			if err != nil || !known {
				return err
			}
			return tx.InsertSigninEntry(e)
		})
	}
	if err == nil {
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusOK)
	}
	p.finish(w, r, c, "revoke", err)
}
