package signin_test

import (
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
)

// "refresh token 30 days, rotated"
func TestRefresh(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	refresh := func(client, token, scope string) *httptest.ResponseRecorder {
		v := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}}
		if scope != "" {
			v.Set("scope", scope)
		}
		return b.post(tokenPath, client, v)
	}
	first := b.flow(base().with(params{"scope": "openid email profile"}))
	requireFault(t, refresh("other", first.RefreshToken, ""), http.StatusBadRequest, "invalid_grant")
	requireFault(t, refresh("app", "x", ""), http.StatusBadRequest, "invalid_grant")
	requireFault(t, refresh("app", "", ""), http.StatusBadRequest, "invalid_request")
	requireFault(t, refresh("app", first.AccessToken, ""), http.StatusBadRequest, "invalid_grant")
	for _, wrong := range []string{"openid offline_access", "email", "nonsense", "openid nonsense",
		"openid openid2 email"} {
		requireFault(t, refresh("app", first.RefreshToken, wrong), http.StatusBadRequest, "invalid_scope")
	}
	b.Clock.Advance(30*24*time.Hour - 2*time.Hour) // later the grant is too short for an access token of an hour
	second := requireTokens(t, refresh("app", first.RefreshToken, "openid"))
	require.Equal(t, "openid", second.Scope)
	require.NotEqual(t, first.RefreshToken, second.RefreshToken)
	require.JSONEq(t, `{"sub":"user-ada"}`, b.userinfo(second.AccessToken).Body.String())
	before, after := b.claims(first.IDToken), b.claims(second.IDToken)
	require.NotContains(t, after, "email")
	require.NotContains(t, after, "nonce")
	for _, same := range []string{"iss", "sub", "aud", "auth_time"} { // OpenID Connect Core section 12.2
		require.Equal(t, before[same], after[same])
	}
	require.Equal(t, float64(b.Now().Unix()), after["iat"])
	third := requireTokens(t, refresh("app", second.RefreshToken, ""))
	require.Equal(t, "openid email profile", third.Scope, "what was granted shrinks for good")
	for asked, given := range map[string]string{" ": "openid email profile", "email email openid email": "email openid"} {
		third = requireTokens(t, refresh("app", third.RefreshToken, asked))
		require.Equal(t, given, third.Scope)
	}
	// One that comes again after its grace period was stolen from somebody, whatever it comes with.
	b.Clock.Advance(identity.RefreshGrace)
	requireFault(t, refresh("app", second.RefreshToken, "openid offline_access"), http.StatusBadRequest, "invalid_grant")
	b.requireRevoked(third.AccessToken)
	requireFault(t, refresh("app", third.RefreshToken, ""), http.StatusBadRequest, "invalid_grant")

	late := b.flow(base())
	b.Clock.Advance(30 * 24 * time.Hour)
	requireFault(t, refresh("app", late.RefreshToken, ""), http.StatusBadRequest, "invalid_grant")
}

// leaving is the context of a request whose client hangs up once something has happened.
type leaving struct {
	context.Context
	happened func() bool
}

func (l leaving) Done() <-chan struct{} {
	if !l.happened() {
		return l.Context.Done()
	}
	over := make(chan struct{})
	close(over)
	return over
}

func (l leaving) Err() error {
	if !l.happened() {
		return nil
	}
	return context.Canceled
}

// What can fail is done before a code or a refresh token is consumed: an application that had an error instead would
// send it again, and have all revoked.
func TestConsumedIsAnswered(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	// the store may hold a lock while it asks
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.Folder, "hiregate.db")+"?mode=ro")
	require.NoError(t, err)
	defer db.Close()
	hangUpAt := func(event string) func(*http.Request) {
		return func(r *http.Request) {
			*r = *r.WithContext(leaving{r.Context(), func() (happened bool) {
				return db.QueryRow(`SELECT COUNT(*) > 0 FROM signin_log WHERE event = $1`, event).Scan(&happened) == nil && happened
			}})
		}
	}
	code := b.browser().enter(base()).Get("code")
	issued := requireTokens(t, b.post(tokenPath, "app", exchanging(code), hangUpAt("token")))
	requireTokens(t, b.post(tokenPath, "app", url.Values{"grant_type": {"refresh_token"},
		"refresh_token": {issued.RefreshToken}}, hangUpAt("refresh")))
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	one, two := b.flow(base()), b.flow(base())
	ok := func(client, token string) {
		w := b.post("/oauth/revoke", client, url.Values{"token": {token}, "token_type_hint": {"access_token"}})
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		require.Empty(t, w.Body.String())
	}
	ok("app", "unknown")
	ok("other", one.AccessToken)
	b.requireGood(one.AccessToken)
	ok("app", one.AccessToken)
	b.requireRevoked(one.AccessToken)
	b.requireGood(two.AccessToken)
	ok("app", two.RefreshToken)
	b.requireRevoked(two.AccessToken)
	requireFault(t, b.post("/oauth/revoke", "", url.Values{"token": {"x"}}), http.StatusUnauthorized, "invalid_client")
	requireFault(t, b.post("/oauth/revoke", "app", url.Values{}), http.StatusBadRequest, "invalid_request")
}
