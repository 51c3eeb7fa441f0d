package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

// People sign in at their company's provider, here another gateway, in a browser: the application that sent them
// learns of one person only, theirs here. Who signs in there with an address that is not verified is told what to do;
// they may go back as well.
func TestSigningInAtTheCompany(t *testing.T) {
	t.Parallel()
	company := newProvider(t)
	const landing, secret = "http://localhost:1/landing", "what-the-company-gave-to-the-gateway"
	s := newSystemWith(t, setup{routes: fmt.Sprintf(`handle_path /signin/* {
		signin {
			key "a text of more than thirty-two characters"
			upstream_oidc initech {
				issuer %s
				domains example.com
				name "Initech Staff"
				client_id hiregate
				client_secret %s
			}
		}
	}`, company.issuer, secret)})
	issuer := s.url("/signin")
	company.post201("/oauth-clients", map[string]any{"id": "hiregate", "name": "hiregate", "secret": secret,
		"algorithm": "ES256", "requirePkce": true,
		"redirectUris": []string{issuer + "/oauth/upstream/initech/callback"}})
	company.post201("/users", map[string]any{"email": "mallory@example.com", "name": "Mallory",
		"password": "correct horse"})

	here := &provider{s, issuer}
	app := oauth2.Config{ClientID: "payroll", ClientSecret: here.addClient("payroll", "RS256", []string{landing}, nil),
		RedirectURL: landing, Scopes: []string{oidc.ScopeOpenID, "email"}}
	discovered, err := oidc.NewProvider(t.Context(), issuer)
	require.NoError(t, err)
	app.Endpoint = discovered.Endpoint()

	c := startChromium(t, "--accept-lang=en")
	c.as(looks[0])
	begin := func() {
		c.open(app.AuthCodeURL("s-1", oidc.Nonce("n-1")))
		c.fits("sign-in-address")
		c.fill("#email", "ada@example.com\uE007")
		c.awaitText(issuer+"/oauth/sign-in", "Sign in at Initech Staff")
		c.fits("sign-in-at-company")
		c.click("form[action$=upstream] button[value=sign-in]")
		c.awaitText(company.issuer+"/oauth/authorize?", "hiregate")
	}
	begin()
	c.click("button[value=cancel]")
	require.Equal(t, "access_denied", c.landed(landing).Get("error"))

	begin()
	c.fill("#email", "ada@example.com")
	c.fill("#password", "correct horse\uE007")
	back := c.landed(landing)
	require.Equal(t, []string{"s-1", issuer}, []string{back.Get("state"), back.Get("iss")})
	token, err := app.Exchange(t.Context(), back.Get("code"))
	require.NoError(t, err)
	raw, _ := token.Extra("id_token").(string)
	verified, err := discovered.VerifierContext(t.Context(), &oidc.Config{ClientID: "payroll"}).Verify(t.Context(), raw)
	require.NoError(t, err)
	var claims struct {
		Email    string `json:"email"`
		Verified bool   `json:"email_verified"`
	}
	require.NoError(t, verified.Claims(&claims))
	require.Equal(t, "ada@example.com", claims.Email)
	require.True(t, claims.Verified)
	require.Equal(t, "n-1", verified.Nonce)
	status, users, err := s.manage(http.MethodGet, "/users", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(users), verified.Subject, "who was new has an account here")

	c.open(app.AuthCodeURL("s-2"))
	require.NotEmpty(t, c.landed(landing).Get("code"), "signed in here, nothing is asked")
	c.open(issuer + "/sessions")
	require.Equal(t, "You are signed in here alone", c.text("h1"))
	c.fits("sessions")
	c.open(issuer + "/password")
	require.Equal(t, "You have no password here", c.text("h1"))

	c = startChromium(t, "--accept-lang=en") // of somebody else
	c.as(looks[0])
	begin()
	c.fill("#email", "mallory@example.com")
	c.fill("#password", "correct horse\uE007")
	c.awaitText(issuer+"/oauth/upstream/initech/callback", "We don’t know your account yet")
	c.fits("upstream-stranger")
}

// landed waits until the browser is sent to an address where nobody answers, and gives the query.
func (c *chromium) landed(at string) (query url.Values) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		u, err := url.Parse(c.address())
		if err != nil || u.Scheme+"://"+u.Host+u.Path != at {
			return false
		}
		query = u.Query()
		return true
	}, patience, 20*time.Millisecond, "the browser is at %s", c.session)
	return query
}
