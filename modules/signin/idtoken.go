package signin

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
)

// idToken returns a signed ID token (OpenID Connect Core section 2) for a grant. nonce is empty when it is refreshed.
func (p *Provider) idToken(k *key, g *identity.Grant, u *identity.User, scope, nonce, access string,
	now time.Time) (string, error) {
	claims := claimsAbout(u, scope, parseStoredClaims(g.Claims).IDToken)
	claims["iss"] = p.Issuer
	claims["aud"] = g.Client
	claims["iat"] = now.Unix()
	claims["exp"] = now.Add(identity.IDTokenLife).Unix()
	claims["auth_time"] = g.SignedInAt.Unix()
	if g.SID != "" {
		claims["sid"] = g.SID
	}
	if nonce != "" {
		claims["nonce"] = nonce
	}
	half := sha256.Sum256([]byte(access))
	claims["at_hash"] = base64.RawURLEncoding.EncodeToString(half[:len(half)/2])
	raw, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	return k.sign(raw, "JWT")
}

// verifyHint returns the user and the client of an ID token of ours. It may have expired (OpenID Connect RP-Initiated
// Logout section 2). It reports false for tokens that we did not sign.
func (p *Provider) verifyHint(ctx context.Context, token string) (user, client string, ok bool) {
	raw, ok := p.Ring.verify(ctx, token)
	if !ok {
		return "", "", false
	}
	var claims struct{ Iss, Sub, Aud string }
	if json.Unmarshal(raw, &claims) != nil || claims.Iss != p.Issuer {
		return "", "", false
	}
	return claims.Sub, claims.Aud, true
}
