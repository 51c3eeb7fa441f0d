package relay

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/model"
)

// What is wrong with the address, the user or the password of a service is said, and which of them.
func TestExamine(t *testing.T) {
	t.Parallel()
	guard := egress.New(egress.Policy{Allow: []egress.Allowance{{Prefix: netip.MustParsePrefix("127.0.0.0/8")}}})
	t.Cleanup(guard.Close)
	for path, want := range map[string]string{"/right": "", "/wrong": "the service refuses the user name and the password",
		"/elsewhere": "no Apply API answers at the address of apply_upstream, but something that says 404",
		"/site":      "something that says 200", "/away": "503"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/right/v2/authentication":
				io.WriteString(w, `{"token":"t"}`)
			case path == "/wrong":
				w.WriteHeader(http.StatusUnauthorized)
			case path == "/site":
				io.WriteString(w, "<html>")
			case path == "/away":
				w.WriteHeader(http.StatusServiceUnavailable)
			default:
				http.NotFound(w, r)
			}
		}))
		u := &model.ApplyUpstream{URL: server.URL + path, User: "u", Password: "p"}
		err := Examine(t.Context(), guard, u)
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want, path)
		}
		server.Close()
		require.Error(t, Examine(t.Context(), guard, u), "nobody listens")
	}
}
