package e2e

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

// These tests sign in with other people's clients of OpenID Connect, at a hiregate dev. What they check, they check by
// themselves: nothing of ours is in them.

// provider is a hiregate dev that people sign in at.
type provider struct {
	*system // its management alone
	issuer  string
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	ports := newDevPorts(t)
	dev(t, t.TempDir(), ports, "--no-partner").line(devReady)
	return &provider{&system{t: t, admin: ports.admin}, ports.url("/signin")}
}

// addClient makes an application with the algorithm of its ID tokens, and gives its secret.
func (p *provider) addClient(id, algorithm string, redirectURIs, logoutURIs []string) (secret string) {
	p.t.Helper()
	var made struct{ Secret string }
	raw := p.post201("/oauth-clients", map[string]any{
		"id": id, "name": id, "algorithm": algorithm, "redirectUris": redirectURIs, "postLogoutRedirectUris": logoutURIs,
	})
	require.NoError(p.t, json.Unmarshal(raw, &made))
	require.NotEmpty(p.t, made.Secret)
	return made.Secret
}

// github.com/coreos/go-oidc and golang.org/x/oauth2: discovery, code with PKCE and nonce, ID token in both algorithms,
// userinfo, refresh; a code that comes twice ends what it gave.
func TestClientGoOIDC(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	for _, algorithm := range []string{oidc.RS256, oidc.ES256} {
		t.Run(algorithm, func(t *testing.T) {
			const callback = "http://localhost:1/callback?from=hiregate"
			id := "go." + algorithm
			secret := p.addClient(id, algorithm, []string{callback}, nil)
			ctx := t.Context()
			discovered, err := oidc.NewProvider(ctx, p.issuer)
			require.NoError(t, err)
			config := oauth2.Config{ClientID: id, ClientSecret: secret, Endpoint: discovered.Endpoint(), RedirectURL: callback,
				Scopes: []string{oidc.ScopeOpenID, "profile", "email", oidc.ScopeOfflineAccess}}
			verifier, nonce := oauth2.GenerateVerifier(), "n-0S6_WzA2Mj"
			const state = "af0ifjsldkj &=+%20é"
			began := time.Now().Add(-time.Minute)
			back := p.codeFor(config.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)))
			require.Equal(t, "hiregate", back.Get("from"))
			require.Equal(t, state, back.Get("state"))
			require.Equal(t, p.issuer, back.Get("iss"))

			token, err := config.Exchange(ctx, back.Get("code"), oauth2.VerifierOption(verifier))
			require.NoError(t, err)
			require.Equal(t, "Bearer", token.Type())
			require.WithinDuration(t, time.Now().Add(time.Hour), token.Expiry, time.Minute)
			raw, ok := token.Extra("id_token").(string)
			require.True(t, ok)
			verified, err := discovered.VerifierContext(ctx, &oidc.Config{ClientID: id,
				SupportedSigningAlgs: []string{algorithm}}).Verify(ctx, raw)
			require.NoError(t, err)
			require.NoError(t, verified.VerifyAccessToken(token.AccessToken))
			require.Equal(t, nonce, verified.Nonce)
			var claims struct {
				Name          string `json:"name"`
				GivenName     string `json:"given_name"`
				FamilyName    string `json:"family_name"`
				Email         string `json:"email"`
				EmailVerified bool   `json:"email_verified"`
				AuthTime      int64  `json:"auth_time"`
			}
			require.NoError(t, verified.Claims(&claims))
			require.Equal(t, "Ada Lovelace Ada Lovelace ada@example.com",
				claims.Name+" "+claims.GivenName+" "+claims.FamilyName+" "+claims.Email)
			require.True(t, claims.EmailVerified)
			require.Greater(t, claims.AuthTime, began.Unix())

			info, err := discovered.UserInfo(ctx, oauth2.StaticTokenSource(token))
			require.NoError(t, err)
			require.Equal(t, verified.Subject, info.Subject)
			require.Equal(t, "ada@example.com", info.Email)
			require.True(t, info.EmailVerified)

			expired := *token
			expired.Expiry = time.Now().Add(-time.Second)
			refreshed, err := config.TokenSource(ctx, &expired).Token()
			require.NoError(t, err)
			require.NotEqual(t, token.AccessToken, refreshed.AccessToken)
			require.NotEqual(t, token.RefreshToken, refreshed.RefreshToken, "refresh tokens are rotated")

			_, err = config.Exchange(ctx, back.Get("code"), oauth2.VerifierOption(verifier))
			refused, ok := err.(*oauth2.RetrieveError)
			require.True(t, ok, "%v", err)
			require.Equal(t, "invalid_grant", refused.ErrorCode)
			_, err = discovered.UserInfo(ctx, oauth2.StaticTokenSource(refreshed))
			require.ErrorContains(t, err, "401")

			wrong := config
			wrong.ClientSecret = "another"
			_, err = wrong.Exchange(ctx, "any")
			refused, ok = err.(*oauth2.RetrieveError)
			require.True(t, ok, "%v", err)
			require.Equal(t, "invalid_client", refused.ErrorCode)
		})
	}
}

// codeFor signs Ada in for an authorization request, and gives what the application is sent.
func (p *provider) codeFor(address string) url.Values {
	p.t.Helper()
	var back url.Values
	s := newSurfer(p.t)
	s.open(address)
	s.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		back = r.URL.Query()
		return http.ErrUseLastResponse
	}
	s.signIn()
	require.NotNil(p.t, back, s.text)
	require.Empty(p.t, back.Get("error"))
	return back
}

// openid-client of npm, in Node.
func TestClientOpenIDClient(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	const callback = "http://localhost:1/callback"
	script := filepath.Join("testdata", "openid-client", "sign-in.mjs")
	require.DirExists(t, filepath.Join(filepath.Dir(script), "node_modules"), "openid-client is missing: run make deps")
	for _, algorithm := range []string{oidc.RS256, oidc.ES256} {
		id := "npm-" + algorithm
		secret := p.addClient(id, algorithm, []string{callback}, nil)
		out, code := run(t, nil, "node", script, p.issuer, id, secret, callback)
		require.Zero(t, code, out)
		type person struct {
			Subject   string `json:"sub"`
			Name      string `json:"name"`
			GivenName string `json:"given_name"`
			Email     string `json:"email"`
			Verified  bool   `json:"email_verified"`
		}
		var came struct {
			Claims struct {
				person
				Issuer   string `json:"iss"`
				Audience string `json:"aud"`
				AuthTime int64  `json:"auth_time"`
			}
			UserInfo, RefreshedInfo   person
			AfterRevocation, Replayed string
			TokenType, EndSession     string
			ExpiresIn                 int
		}
		require.NoError(t, json.Unmarshal([]byte(out), &came), out)
		ada := person{came.Claims.Subject, "Ada Lovelace", "Ada", "ada@example.com", true}
		require.NotEmpty(t, ada.Subject)
		require.Equal(t, ada, came.Claims.person)
		require.Equal(t, ada, came.UserInfo)
		require.Equal(t, ada, came.RefreshedInfo)
		require.Equal(t, p.issuer, came.Claims.Issuer)
		require.Equal(t, id, came.Claims.Audience)
		require.NotZero(t, came.Claims.AuthTime)
		require.Equal(t, "invalid_grant", came.AfterRevocation)
		require.Equal(t, "invalid_grant", came.Replayed)
		require.Equal(t, "bearer", came.TokenType, "openid-client writes it in small letters")
		require.Equal(t, 3600, came.ExpiresIn)
		require.Contains(t, came.EndSession, p.issuer+"/oauth/logout?")
	}
}
