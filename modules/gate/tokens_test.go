package gate_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/vault"
	"github.com/hiregate/hiregate/modules/gate"
)

// With jwt, an application gets a signed token of its visitor, for itself and for five minutes. A client's own never arrives.
func TestTokens(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	forge := func(r *http.Request) {
		page(r)
		r.Header["X-Auth-Request-Jwt"], r.Header["x_auth_request_JWT"] = []string{"forged"}, []string{"forged"}
	}
	u := b.browser()
	u.enter(here+"/", ada)
	u.ask(http.MethodGet, here+"/", nil, forge)
	require.Empty(t, b.got.Header.Values("X-Auth-Request-JWT"))
	require.Equal(t, http.StatusNotFound, u.ask(http.MethodGet, here+"/oauth2/keys", nil).Code)

	const former = "the text of thirty-two characters and more before it"
	ring, err := vault.New("a text of more than thirty-two characters", former)
	require.NoError(t, err)
	b.Tokens, err = gate.NewTokens(ring, "")
	require.NoError(t, err)
	var keys jose.JSONWebKeySet
	w := b.browser().ask(http.MethodGet, here+"/oauth2/keys", nil)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &keys), w.Body)
	require.Len(t, keys.Keys, 2)
	require.NotContains(t, w.Body.String(), `"d"`)
	verified := func(token string) (claims map[string]any) {
		t.Helper()
		signed, err := jose.ParseSigned(token, []jose.SignatureAlgorithm{jose.EdDSA})
		require.NoError(t, err, token)
		of := keys.Key(signed.Signatures[0].Header.KeyID)
		require.Len(t, of, 1)
		raw, err := signed.Verify(of[0])
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(raw, &claims))
		return claims
	}
	now := b.Clock.Now()
	want := map[string]any{"iss": here + "/oauth2", "aud": here, "sub": "user-ada", "provider": b.issuer, "email": ada, "email_verified": true,
		"name": "Zoë, user-ada", "groups": []any{}, "iat": float64(now.Unix()), "exp": float64(now.Add(5 * time.Minute).Unix())}
	u.ask(http.MethodGet, here+"/", nil, forge)
	require.Len(t, b.got.Header.Values("X-Auth-Request-JWT"), 1)
	require.NotContains(t, b.got.Header, "x_auth_request_JWT")
	require.Equal(t, want, verified(b.got.Header.Get("X-Auth-Request-JWT")))
	u.ask(http.MethodGet, here+"/healthz", nil, forge)
	require.Empty(t, b.got.Header.Values("X-Auth-Request-JWT"))
	want["aud"] = "payroll"
	old, err := vault.New(former)
	require.NoError(t, err)
	b.Tokens, err = gate.NewTokens(old, "payroll")
	require.NoError(t, err)
	w = u.ask(http.MethodGet, here+"/oauth2/auth", nil, forge)
	require.Equal(t, http.StatusAccepted, w.Code)
	require.Equal(t, want, verified(w.Header().Get("X-Auth-Request-JWT")), "the former key's is among those that are public")
}
