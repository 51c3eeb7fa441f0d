package signin_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// posted reads the answer in the form of a page, which leads to a redirect URI.
func posted(t *testing.T, w *httptest.ResponseRecorder, to string) url.Values {
	t.Helper()
	requirePage(t, w, http.StatusOK, "<button autofocus>Continue</button>")
	form := strings.SplitN(w.Body.String(), "<form", 2)[1]
	require.Equal(t, to, html.UnescapeString(formAction.FindStringSubmatch(form)[1]))
	answer := url.Values{}
	for _, field := range hiddenField.FindAllStringSubmatch(form, -1) {
		answer.Add(field[1], html.UnescapeString(field[2]))
	}
	require.Equal(t, []string{issuer}, answer["iss"])
	return answer
}

// OAuth 2.0 Form Post Response Mode, section 2: the answer, also an error, comes as a form that no script has to submit.
func TestFormPost(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	const to = callback + "?keep=%20this&x"
	asked := base().with(params{"response_mode": "form_post", "redirect_uri": to, "state": `a b&c="<%/+ö`})
	u := b.browser()
	page := u.authorize(asked)
	answered := u.signIn(page, "ada@example.com", right)
	got := posted(t, answered, to)
	require.Equal(t, asked["state"], got.Get("state"))
	require.Len(t, got, 3)
	policy := answered.Header().Get("Content-Security-Policy")
	require.Contains(t, policy, "; form-action 'self' https:;")
	require.Contains(t, policy, "; script-src 'sha256-")
	require.NotContains(t, page.Header().Get("Content-Security-Policy"), "script-src")
	requireTokens(t, b.post(tokenPath, "app", url.Values{"grant_type": {"authorization_code"}, "code": {got.Get("code")},
		"redirect_uri": {to}}))

	got = posted(t, u.authorize(asked), to) // there is a session
	require.NotEmpty(t, got.Get("code"))
	stranger := b.browser()
	for name, c := range map[string]struct {
		more params
		code string
	}{
		"no session": {params{"prompt": "none"}, "login_required"},
		"no scope":   {params{"scope": ""}, "invalid_scope"},
		"no kind":    {params{"response_type": ""}, "invalid_request"},
	} {
		got := posted(t, stranger.authorize(asked.with(c.more)), to)
		require.Equal(t, c.code, got.Get("error"), name)
		require.Equal(t, asked["state"], got.Get("state"), name)
	}
	// A browser would change these in a form.
	for _, state := range []string{"a\nb", "\xff", "\x00"} {
		p := asked.with(params{"state": state})
		requireError(t, stranger.authorize(p), p, "invalid_request")
	}
}
