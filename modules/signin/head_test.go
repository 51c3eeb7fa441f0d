package signin_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// A HEAD, as previews and checkers of links send it, issues no code, ends no session and no sign-in that is under way, and
// is in no list of refusals.
func TestAHeadDoesNothing(t *testing.T) {
	t.Parallel()
	j := newJoint(t)
	u := j.browser()
	hint := requireTokens(t, j.exchange("app", u.enter(base()).Get("code"))).IDToken
	head := func(path string) {
		t.Helper()
		w := u.ask(http.MethodHead, path, nil)
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		require.Empty(t, w.Header().Get("Location"))
		require.Empty(t, w.Result().Cookies())
		require.Zero(t, w.Body.Len())
	}
	head("/oauth/authorize?" + base().values().Encode())
	head("/oauth/authorize?client_id=nobody")
	head("/oauth/logout?id_token_hint=" + hint)
	require.NotEmpty(t, back(t, u.authorize(base()), callback).Get("code"), "the session goes on")
	refusals, err := j.Runtime.Store().ListRefusals(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, refusals)

	u = j.browser()
	came := j.there(j.leave(u, base()), "ada@example.com")
	head(came)
	require.NotEmpty(t, back(t, u.ask(http.MethodGet, came, nil), callback).Get("code"))
}
