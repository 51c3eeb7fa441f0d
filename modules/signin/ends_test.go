package signin_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/signin"
)

func (b *fixture) refreshed(refresh string) *httptest.ResponseRecorder {
	return b.post(tokenPath, "app", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}})
}

// requireEnded refuses a refresh token, and the access token beside it.
func (b *fixture) requireEnded(had tokens) {
	b.t.Helper()
	requireFault(b.t, b.refreshed(had.RefreshToken), http.StatusBadRequest, "invalid_grant")
	b.requireRevoked(had.AccessToken)
}

// However often an application refreshes, what it was granted ends a while after the sign-in, not after the last use; so
// does the session, and what another application gets late in it.
func TestSessionsAndGrantsEnd(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.SessionEnd, b.GrantEnd = 2*time.Hour, 5*time.Hour
	b.Provider = signin.New(*b.Provider)
	u := b.browser()
	had := requireTokens(t, b.exchange("app", u.enter(base()).Get("code")))
	for range 2 {
		b.Clock.Advance(50 * time.Minute)
		had = requireTokens(t, b.refreshed(had.RefreshToken))
	}
	late := requireTokens(t, b.exchange("app", back(t, u.authorize(base()), callback).Get("code")))
	b.Clock.Advance(20 * time.Minute)
	requirePage(t, u.authorize(base()), http.StatusOK, `id="password"`)
	b.Clock.Advance(2*time.Hour + 30*time.Minute)
	for _, one := range []*tokens{&had, &late} {
		w := b.refreshed(one.RefreshToken)
		require.Equal(t, http.StatusOK, w.Code, "%s", w.Body)
		*one = tokens{}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), one))
		require.Equal(t, 1800, one.ExpiresIn, "the access token ends with the grant")
	}
	b.requireGood(had.AccessToken)
	b.Clock.Advance(30 * time.Minute)
	b.requireEnded(had)
	b.requireEnded(late)
}

// Who signed in at a company whose provider gives no refresh token is not signed in here for longer than half a day: it
// can't be asked whether they are still there.
func TestUpstreamSessionsEnd(t *testing.T) {
	t.Parallel()
	j := newTeller(t)
	j.SessionEnd = 7 * 24 * time.Hour
	j.Provider = signin.New(*j.Provider)
	u := j.browser()
	had := requireTokens(t, j.exchange("app", back(t, j.back(u, j.leave(u, base()), params{"code": "c"}), callback).Get("code")))
	j.Clock.Advance(identity.UnconfirmedLife - time.Hour)
	had = requireTokens(t, j.refreshed(had.RefreshToken))
	require.NotEmpty(t, back(t, u.authorize(base()), callback).Get("code"))
	require.Len(t, j.asked, 1, "it was asked without a refresh token")
	require.Zero(t, j.Logged.FilterMessageSnippet("the upstream does not say").Len())
	j.Clock.Advance(time.Hour)
	j.requireEnded(had)
	requirePage(t, u.authorize(base()), http.StatusOK, `id="password"`)
}

// An administrator ends what somebody is signed in to; they may sign in again.
func TestAdministratorsEndSessions(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.browser()
	had := requireTokens(t, b.exchange("app", u.enter(base()).Get("code")))
	b.Write(t, func(tx *store.Tx) error { _, err := tx.EndSessions("user-ada", b.Now()); return err })
	b.requireEnded(had)
	requirePage(t, u.authorize(base()), http.StatusOK, `id="password"`)
	require.NotEmpty(t, u.enter(base()).Get("code"))
}
