package signin_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// The secret goes as the metadata says, and the code goes once, whatever is answered.
func TestSecretGoesUpstream(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		methods any
		inBody  bool
	}{
		"nothing is told": {nil, false},
		"basic":           {[]string{"client_secret_basic"}, false},
		"both":            {[]string{"client_secret_post", "client_secret_basic"}, false},
		"post":            {[]string{"private_key_jwt", "client_secret_post"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newTeller(t)
			if c.methods != nil {
				j.tells = map[string]any{"token_endpoint_auth_methods_supported": c.methods}
			}
			for _, j.status = range []int{http.StatusOK, http.StatusUnauthorized} {
				j.asked = nil
				u := j.browser()
				j.back(u, j.leave(u, base()), params{"code": "c"})
				require.Len(t, j.asked, 1)
				_, secret, basic := j.asked[0].BasicAuth()
				secret, err := url.QueryUnescape(secret)
				require.NoError(t, err)
				got := map[bool]string{true: j.asked[0].PostForm.Get("client_secret"), false: secret}
				require.Equal(t, map[bool]string{c.inBody: "s", !c.inBody: ""}, got)
				require.Equal(t, !c.inBody, basic)
			}
		})
	}
}
