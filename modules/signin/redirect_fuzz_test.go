package signin_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// No redirect URI leads anywhere but to one that is registered, byte for byte, whatever comes behind it; on every way
// that ends with a redirect: an error, a code, and after signing out.
func FuzzRedirectURI(f *testing.F) {
	for _, seed := range []string{
		callback, callback + "?keep=%20this&x", "http://localhost:8090/callback", "", callback + "/", callback + "#x",
		callback + "\r\nLocation: https://evil.example/", "//evil.example/callback",
		"https://app.example.com@evil.example/callback", "https://app.example.com\\@evil.example/callback",
		"https://evil.example/?" + callback, "javascript:alert(1)//" + callback,
		"https://app.example.com/callback%0d%0aX:y", "https://app.example.com/callback%2e", " " + callback,
		callback + "\x00", "https://аpp.example.com/callback", "HTTPS://app.example.com/callback",
		"https://app.example.com/callback?keep=%20this&x&redirect_uri=https://evil.example",
		"https://app.example.com/callback?keep= this&x", "https://app.example.com/bye", "http://127.0.0.1:8090/callback",
	} {
		f.Add(seed, "")
		f.Add(seed, "none")
		f.Add(callback, seed)
	}
	registered := []string{callback, callback + "?keep=%20this&x", "http://localhost:8090/callback"}
	const bye = "https://app.example.com/bye"
	b := newFixture(f)
	signedIn := b.browser()
	signedIn.enter(base())
	f.Fuzz(func(t *testing.T, uri, other string) {
		b.t = t
		leads := func(location string, to []string) bool {
			return slices.ContainsFunc(to, func(good string) bool {
				separator := "?"
				if strings.Contains(good, "?") {
					separator = "&"
				}
				rest, ok := strings.CutPrefix(location, good+separator)
				if !ok {
					return false
				}
				_, err := url.ParseQuery(rest)
				return err == nil && !strings.ContainsAny(rest, "\r\n# ")
			})
		}
		for _, u := range []*browser{b.browser(), signedIn} {
			v := base().values()
			v.Set("redirect_uri", uri)
			v.Set("state", other)
			v.Set("prompt", "none") // never a page: a code, or an error
			w := u.ask(http.MethodGet, "/oauth/authorize?"+v.Encode(), nil)
			location := w.Header().Get("Location")
			if !slices.Contains(registered, uri) {
				require.Equal(t, http.StatusBadRequest, w.Code, "%q", uri)
				require.Empty(t, location)
				continue
			}
			require.Equal(t, http.StatusFound, w.Code)
			require.True(t, leads(location, []string{uri}), "%q leads to %q", uri, location)

			// A second one beside it changes nothing.
			v.Add("redirect_uri", other)
			require.Equal(t, http.StatusBadRequest, u.ask(http.MethodGet, "/oauth/authorize?"+v.Encode(), nil).Code)
		}
		w := b.browser().ask(http.MethodGet, "/oauth/logout?"+url.Values{"client_id": {"app"},
			"post_logout_redirect_uri": {uri}, "state": {other}}.Encode(), nil)
		if location := w.Header().Get("Location"); location != "" {
			require.True(t, uri == bye && (location == bye || leads(location, []string{bye})), "%q leads to %q", uri, location)
		}
		w = b.browser().ask(http.MethodPost, "/oauth/sign-out",
			url.Values{"client_id": {"app"}, "to": {uri}, "state": {other}})
		if location := w.Header().Get("Location"); location != "" {
			require.True(t, uri == bye && (location == bye || leads(location, []string{bye})), "%q leads to %q", uri, location)
		}
	})
}
