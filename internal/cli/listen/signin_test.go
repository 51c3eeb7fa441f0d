package listen

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// RFC 9207 section 2.4: iss is compared where it comes, and missed where the provider's metadata promises it.
func TestIssuerOfAnAnswer(t *testing.T) {
	t.Parallel()
	for _, promised := range []bool{true, false} {
		var provider *httptest.Server
		provider = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			json.NewEncoder(w).Encode(map[string]any{
				"issuer": provider.URL, "authorization_endpoint": provider.URL + "/authorize",
				"token_endpoint": provider.URL + "/token", "jwks_uri": provider.URL + "/jwks",
				"id_token_signing_alg_values_supported":          []string{"RS256"},
				"authorization_response_iss_parameter_supported": promised,
			})
		}))
		t.Cleanup(provider.Close)
		for iss, good := range map[string]bool{provider.URL: true, provider.URL + "/": false,
			"https://another.example.com": false, "": !promised} {
			require.Equal(t, good, accepted(t, provider.URL, iss), "%q, promised: %v", iss, promised)
		}
	}
}

// accepted tells whether the sample partner believes that an error is from the provider that it asked.
func accepted(t *testing.T, issuer, iss string) bool {
	t.Helper()
	s, err := newSignIn(issuer, "app", "secret", "http://localhost:8090")
	require.NoError(t, err)
	sent := httptest.NewRecorder()
	s.begin(sent, httptest.NewRequest(http.MethodGet, "http://localhost:8090/sign-in", nil))
	to, err := url.Parse(sent.Header().Get("Location"))
	require.NoError(t, err)
	q := url.Values{"state": {to.Query().Get("state")}, "error": {"access_denied"}}
	if iss != "" {
		q.Set("iss", iss)
	}
	r := httptest.NewRequest(http.MethodGet, "http://localhost:8090/callback?"+q.Encode(), nil)
	for _, c := range sent.Result().Cookies() {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	s.finish(w, r)
	switch w.Code {
	case http.StatusForbidden:
		return true
	case http.StatusBadRequest:
		require.Contains(t, w.Body.String(), "from another provider")
		return false
	}
	require.Fail(t, fmt.Sprint(w.Code, w.Body))
	return false
}
