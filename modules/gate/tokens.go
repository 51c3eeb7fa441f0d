package gate

import (
	"cmp"
	"crypto"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/session"
	"github.com/hiregate/hiregate/internal/vault"
)

// tokenLife is how long an application may believe a token.
const tokenLife = 5 * time.Minute

// Tokens sign who a visitor is, so that an application can check that the gate says so.
type Tokens struct {
	audience string // empty: the origin of the application
	signer   jose.Signer
	keys     []byte // the public ones, as JSON
}

// NewTokens makes Tokens whose keys follow from those of a vault: all nodes have them, and that of a former key stays
// public for as long as the key is configured.
func NewTokens(sealing *vault.Vault, audience string) (*Tokens, error) {
	seeds, err := sealing.Seeds("hiregate tokens of gates")
	if err != nil {
		return nil, err
	}
	t := &Tokens{audience: audience}
	var public jose.JSONWebKeySet
	for n, seed := range seeds {
		key := jose.JSONWebKey{Key: ed25519.NewKeyFromSeed(seed), Algorithm: string(jose.EdDSA), Use: "sig"}
		sum, err := key.Thumbprint(crypto.SHA256)
		if err != nil {
			return nil, err
		}
		key.KeyID = base64.RawURLEncoding.EncodeToString(sum)
		if public.Keys = append(public.Keys, key.Public()); n > 0 {
			continue
		}
		if t.signer, err = jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: key},
			new(jose.SignerOptions).WithType("JWT")); err != nil {
			return nil, err
		}
	}
	t.keys, err = json.Marshal(public)
	return t, err
}

// token returns a signed token of a visitor for the application.
func (v *visitor) token(s *session.Session) (string, error) {
	t, now := v.gate.Tokens, v.gate.Gateway.Now()
	claims := map[string]any{"iss": v.origin + v.mount + v.gate.Prefix, "aud": cmp.Or(t.audience, v.origin), "sub": s.Subject, "provider": s.Issuer,
		"iat": now.Unix(), "exp": now.Add(tokenLife).Unix(), "groups": append([]string{}, s.Groups...)}
	if s.Email != "" {
		claims["email"], claims["email_verified"] = s.Email, true
	}
	if s.Name != "" {
		claims["name"] = s.Name
	}
	raw, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signed, err := t.signer.Sign(raw)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

// keys shows the keys with which an application checks tokens.
func (v *visitor) keys() {
	if v.gate.Tokens == nil {
		problem.New(http.StatusNotFound, "the gate signs no tokens here: add jwt to its configuration").Write(v.w)
		return
	}
	v.w.Header().Set("Content-Type", "application/jwk-set+json")
	v.w.Header().Set("Cache-Control", "max-age=300")
	_, _ = v.w.Write(v.gate.Tokens.keys)
}
