package oidcclient_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/oidcclient"
)

// announcer is a provider that says who signed out.
type announcer struct {
	*oidcclient.Provider
	t         *testing.T
	now       func() time.Time
	keysAsked atomic.Int64
	key       *ecdsa.PrivateKey
}

func newAnnouncer(t *testing.T) *announcer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	a := &announcer{t: t, now: gatewaytest.New(t).Clock.Now, key: key}
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var content any = map[string]any{"issuer": server.URL, "jwks_uri": server.URL + "/keys",
			"authorization_endpoint": server.URL + "/authorize", "end_session_endpoint": server.URL + "/end?realm=staff",
			"id_token_signing_alg_values_supported": []string{"ES256"}}
		if r.URL.Path == "/keys" {
			a.keysAsked.Add(1)
			content = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}}
		}
		if err := json.NewEncoder(w).Encode(content); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	a.Provider = &oidcclient.Provider{Issuer: server.URL, ClientID: "console", Client: server.Client(), Now: a.now}
	return a
}

// token signs a logout token; changes has members in place of its own, nil for those that it is to lack.
func (a *announcer) token(key *ecdsa.PrivateKey, changes map[string]any) string {
	a.t.Helper()
	claims := map[string]any{"iss": a.Issuer, "aud": "console", "iat": a.now().Unix(),
		"exp": a.now().Add(2 * time.Minute).Unix(), "jti": "j", "sub": "ada", "sid": "s",
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	raw, err := json.Marshal(claims)
	require.NoError(a.t, err)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
	require.NoError(a.t, err)
	signed, err := signer.Sign(raw)
	require.NoError(a.t, err)
	token, err := signed.CompactSerialize()
	require.NoError(a.t, err)
	return token
}

// A logout token has what OpenID Connect Back-Channel Logout 1.0 section 2.4 says, and nothing else counts as one.
func TestLogoutTokens(t *testing.T) {
	t.Parallel()
	a := newAnnouncer(t)
	read := func(token string) (*oidcclient.Logout, error) { return a.ReadLogout(t.Context(), token) }
	l, err := read(a.token(a.key, nil))
	require.NoError(t, err)
	require.Equal(t, []string{"j", "ada", "s"}, []string{l.ID, l.Subject, l.SID})
	require.WithinDuration(t, a.now(), l.At, time.Second)
	for _, good := range []map[string]any{{"sid": nil}, {"sub": nil}, {"aud": []string{"other", "console"}},
		{"iat": a.now().Add(-9 * time.Minute).Unix()}} {
		_, err := read(a.token(a.key, good))
		require.NoError(t, err, "%v", good)
	}
	event := func(value any) map[string]any {
		return map[string]any{"http://schemas.openid.net/event/backchannel-logout": value}
	}
	for name, bad := range map[string]map[string]any{
		"another issuer":     {"iss": "https://other.example.com"},
		"no issuer":          {"iss": nil},
		"another client":     {"aud": "other"},
		"no client":          {"aud": nil},
		"no time":            {"iat": nil},
		"an old one":         {"iat": a.now().Add(-11 * time.Minute).Unix()},
		"a time to come":     {"iat": a.now().Add(2 * time.Minute).Unix()},
		"over":               {"exp": a.now().Add(-time.Minute).Unix()},
		"without end":        {"exp": nil},
		"no id":              {"jti": nil},
		"nobody":             {"sub": nil, "sid": nil},
		"a long sub":         {"sub": strings.Repeat("x", 256)},
		"a sid with a zero":  {"sid": "\x00"},
		"an ID token":        {"events": nil, "nonce": "n"},
		"a nonce":            {"nonce": ""},
		"no event":           {"events": nil},
		"another event":      {"events": map[string]any{"http://schemas.openid.net/event/other": map[string]any{}}},
		"events of no shape": {"events": "logout"},
		"a text as event":    {"events": event("x")},
	} {
		_, err := read(a.token(a.key, bad))
		require.ErrorIs(t, err, oidcclient.ErrLogoutToken, name)
	}
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	good := a.token(a.key, nil)
	parts := strings.Split(good, ".")
	none := "eyJhbGciOiJub25lIn0." + parts[1] + "."
	for _, token := range []string{"", "x", "a.b.c", none, parts[0] + "." + parts[1] + ".", a.token(stranger, nil)} {
		_, err := read(token)
		require.ErrorIs(t, err, oidcclient.ErrLogoutToken, token)
	}
}

// Tokens of strangers, with keys that the provider does not have, lead to few requests there.
func TestKeysAreNotReadForEachStranger(t *testing.T) {
	t.Parallel()
	a := newAnnouncer(t)
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	forged := a.token(stranger, nil)
	began := time.Now()
	for range 100 {
		_, err := a.ReadLogout(t.Context(), forged)
		require.ErrorIs(t, err, oidcclient.ErrLogoutToken)
	}
	require.LessOrEqual(t, a.keysAsked.Load(), int64(6+time.Since(began)/time.Second))
	_, err = a.ReadLogout(t.Context(), a.token(a.key, nil))
	require.NoError(t, err, "what was read serves others")
}

// People are led to where they sign out, if there is such an address.
func TestEndSessionURL(t *testing.T) {
	t.Parallel()
	a := newAnnouncer(t)
	found, err := a.Discover(t.Context())
	require.NoError(t, err)
	require.Equal(t, a.Issuer+"/end?client_id=console&id_token_hint=a.b.c&realm=staff", found.EndSessionURL("a.b.c"))
	require.Equal(t, a.Issuer+"/end?client_id=console&realm=staff", found.EndSessionURL(""))
	for _, address := range []string{"", "javascript:alert(1)", "/end", "https://"} {
		m := *found
		m.EndSession = address
		require.Empty(t, m.EndSessionURL("a.b.c"), fmt.Sprintf("%q", address))
	}
}
