package signin_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
)

// OpenID Connect Core section 2: sub is there, and has 255 bytes at most. Section 3.1.3.7: the token is for us.
func TestWhoseTokenUpstream(t *testing.T) {
	t.Parallel()
	j := newTeller(t)
	try := func(told map[string]any) *httptest.ResponseRecorder {
		j.told = told
		u := j.browser()
		return j.back(u, j.leave(u, base()), params{"code": "c"})
	}
	for name, told := range map[string]map[string]any{
		"no sub":       {"sub": nil},
		"an empty one": {"sub": ""},
		"a long one":   {"sub": strings.Repeat("s", 256)},
		"another azp":  {"azp": "another"},
		"a wrong azp":  {"azp": []string{"hiregate"}},
		"audiences":    {"aud": []string{"hiregate", "another"}},
		"both":         {"aud": []string{"hiregate", "another"}, "azp": "another"},
	} {
		t.Run(name, func(t *testing.T) { requireError(t, try(told), base(), "server_error") })
	}
	_, err := j.Runtime.Store().UserByUpstreamAccount(t.Context(), j.server.URL, "")
	require.ErrorIs(t, err, store.ErrNotFound)
	for name, told := range map[string]map[string]any{
		"azp": {"azp": "hiregate"}, "one audience": {"aud": []string{"hiregate"}},
		"both": {"aud": []string{"hiregate", "another"}, "azp": "hiregate"},
	} {
		t.Run(name, func(t *testing.T) { require.NotEmpty(t, back(t, try(told), callback).Get("code")) })
	}
	j.Write(t, func(tx *store.Tx) error {
		return tx.InsertUpstreamAccount(j.server.URL, strings.Repeat("s", 255), "user-bob", j.Now())
	})
	require.NotEmpty(t, back(t, try(map[string]any{"sub": strings.Repeat("s", 255)}), callback).Get("code"))
}

// A time may have a fraction (RFC 7519 section 2), and what is optional and malformed is as good as none.
func TestMalformedClaimsUpstream(t *testing.T) {
	t.Parallel()
	j := newTeller(t)
	at := j.Now().Add(-time.Minute).Unix()
	for name, c := range map[string]struct {
		told map[string]any
		want int64
	}{
		"fraction": {map[string]any{"auth_time": float64(at) + 0.75}, at},
		"text":     {map[string]any{"auth_time": "yesterday"}, j.Now().Unix()},
		"past":     {map[string]any{"auth_time": -1}, j.Now().Unix()},
		"far":      {map[string]any{"auth_time": 1e300}, j.Now().Unix()},
		"names": {map[string]any{"name": 7, "given_name": []string{"Ada"}, "family_name": map[string]any{}},
			j.Now().Unix()},
	} {
		t.Run(name, func(t *testing.T) {
			j.told = c.told
			u := j.browser()
			code := back(t, j.back(u, j.leave(u, base()), params{"code": "c"}), callback).Get("code")
			require.Equal(t, float64(c.want), j.claims(requireTokens(t, j.exchange("app", code)).IDToken)["auth_time"])
		})
	}
	j.told = map[string]any{"sub": "up-eve", "email": []string{"eve@example.com"}}
	u := j.browser()
	requirePage(t, j.back(u, j.leave(u, base()), params{"code": "c"}), http.StatusForbidden,
		"We don’t know your account yet")
}

// An address that only looks like somebody's is nobody's, and makes no user where theirs is taken.
func TestLookAlikesUpstream(t *testing.T) {
	t.Parallel()
	j := newTeller(t)
	j.Write(t, func(tx *store.Tx) error {
		for _, email := range []string{"ceo@strasse.example", "steve@example.com", "kim@example.com", "Zoe@MÜNCHEN.example"} {
			if err := tx.InsertUser(&identity.User{ID: "user-" + email, Email: email, EmailVerified: true,
				CreatedAt: j.Now()}); err != nil {
				return err
			}
		}
		return nil
	})
	come := func(email string) (*browser, *httptest.ResponseRecorder) {
		j.told = map[string]any{"sub": fmt.Sprintf("up-%.15s", email), "email": email}
		u := j.browser()
		return u, j.back(u, j.leave(u, base()), params{"code": "c"})
	}
	for _, email := range []string{"ceo@straße.example", "ceo@xn--strae-oqa.example", "ſteve@example.com",
		"\u212Aim@example.com", " ada@example.com", "ada@example.com\n", "Ada <ada@example.com>",
		strings.Repeat("a", 255) + "@example.com"} {
		u, w := come(email)
		requirePage(t, w, http.StatusForbidden, "We don’t know your account yet")
		require.Empty(t, u.cookies)
		_, err := j.Runtime.Store().UserByUpstreamAccount(t.Context(), j.server.URL, fmt.Sprintf("up-%.15s", email))
		require.ErrorIs(t, err, store.ErrNotFound, email)
	}
	for _, email := range []string{"zoe@münchen.example", "zoe@xn--mnchen-3ya.example"} {
		j.Write(t, func(tx *store.Tx) error {
			_, err := tx.DeleteUpstreamAccounts("user-Zoe@MÜNCHEN.example", j.Now())
			return err
		})
		_, w := come(email)
		code := back(t, w, callback).Get("code")
		require.Equal(t, "user-Zoe@MÜNCHEN.example", j.claims(requireTokens(t, j.exchange("app", code)).IDToken)["sub"])
	}
}

// The address alone decides whether somebody may come in; what a name can't have is left out of it.
func TestNamesUpstream(t *testing.T) {
	t.Parallel()
	j := newTeller(t)
	j.told = map[string]any{"sub": "up-eve", "email": "eve@example.com", "name": strings.Repeat("é", 300),
		"given_name": "Eve\n", "family_name": "\x00"}
	u := j.browser()
	require.NotEmpty(t, back(t, j.back(u, j.leave(u, base()), params{"code": "c"}), callback).Get("code"))
	eve, err := j.Runtime.Store().UserByEmail(t.Context(), "eve@example.com")
	require.NoError(t, err)
	require.Equal(t, []string{strings.Repeat("é", 255), "Eve", ""}, []string{eve.Name, eve.GivenName, eve.FamilyName})
}

// OpenID Connect Core section 5.4: an e-mail address may be at UserInfo alone.
func TestUserinfoUpstream(t *testing.T) {
	t.Parallel()
	j := newTeller(t)
	j.tells = map[string]any{"userinfo_endpoint": j.server.URL + "/userinfo"}
	asked := 0
	try := func(status int, body string, told map[string]any) *httptest.ResponseRecorder {
		j.told = map[string]any{"sub": "up-eve", "email": nil, "name": "Eve"}
		maps.Copy(j.told, told)
		j.info = func(w http.ResponseWriter, r *http.Request) {
			asked++
			if r.Method != http.MethodGet || r.Header.Get("Authorization") != "Bearer a" {
				t.Errorf("%s %s", r.Method, r.Header)
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
		u := j.browser()
		return j.back(u, j.leave(u, base()), params{"code": "c"})
	}
	const eve = `{"sub":"up-eve","email":"eve@example.com","email_verified":true,"given_name":"Eve","picture":{}}`
	for name, w := range map[string]*httptest.ResponseRecorder{
		"of somebody else": try(http.StatusOK, `{"sub":"up-ada","email":"ada@example.com","email_verified":true}`, nil),
		"of nobody":        try(http.StatusOK, `{"email":"ada@example.com","email_verified":true}`, nil),
		"no JSON":          try(http.StatusOK, `eve@example.com`, nil),
		"refused":          try(http.StatusForbidden, eve, nil),
	} {
		t.Run(name, func(t *testing.T) { requireError(t, w, base(), "server_error") })
	}
	requirePage(t, try(http.StatusOK, `{"sub":"up-eve","email":"ada@example.com"}`,
		map[string]any{"email_verified": true}), http.StatusForbidden, "We don’t know your account yet")
	require.Equal(t, 5, asked)
	require.NotEmpty(t, back(t, try(http.StatusOK, eve, nil), callback).Get("code"))
	u, err := j.Runtime.Store().UserByEmail(t.Context(), "eve@example.com")
	require.NoError(t, err)
	require.Equal(t, []string{"Eve", "Eve"}, []string{u.Name, u.GivenName})
	require.Equal(t, 6, asked)
	require.NotEmpty(t, back(t, try(http.StatusForbidden, "", nil), callback).Get("code"), "who is known needs no address")
	require.NotEmpty(t, back(t, try(http.StatusForbidden, "",
		map[string]any{"sub": "up-ada", "email": "ada@example.com"}), callback).Get("code"), "the ID token tells it")
	require.Equal(t, 6, asked)
	for _, entry := range j.Logged.All() {
		require.NotContains(t, fmt.Sprint(entry.Message, entry.ContextMap()), "eve@example.com")
	}
}

// Of two first sign-ins at the same time, none is a stranger's.
func TestFirstSignInsUpstream(t *testing.T) {
	t.Parallel()
	for _, email := range []string{"ada@example.com", "eve@example.com"} {
		t.Run(email, func(t *testing.T) {
			t.Parallel()
			j := newTeller(t)
			come := j.askingUserinfo(email)
			answer, first := j.info, new(httptest.ResponseRecorder)
			j.info = func(w http.ResponseWriter, r *http.Request) {
				j.info = answer
				first = come() // begins after the one that asks here, and ends before it
				answer(w, r)
			}
			second := come()
			subject := func(w *httptest.ResponseRecorder) any {
				return j.claims(requireTokens(t, j.exchange("app", back(t, w, callback).Get("code"))).IDToken)["sub"]
			}
			require.Equal(t, subject(first), subject(second))
		})
	}
	j := newTeller(t)
	come := j.askingUserinfo("ada@example.com")
	answer := j.info
	j.info = func(w http.ResponseWriter, r *http.Request) {
		err := j.Runtime.Store().Write(r.Context(), func(tx *store.Tx) error {
			return tx.InsertUpstreamAccount(j.server.URL, "up-another", "user-ada", j.Now())
		})
		if err != nil {
			t.Error(err)
		}
		answer(w, r)
	}
	requirePage(t, come(), http.StatusForbidden, "We don’t know your account yet") // theirs is another account
}

// askingUserinfo makes it tell e-mail addresses at UserInfo alone, and gives what somebody comes with.
func (j *teller) askingUserinfo(email string) (come func() *httptest.ResponseRecorder) {
	j.tells = map[string]any{"userinfo_endpoint": j.server.URL + "/userinfo"}
	j.told = map[string]any{"sub": "up-1", "email": nil}
	j.info = func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"sub":"up-1","email":%q,"email_verified":true}`, email)
	}
	return func() *httptest.ResponseRecorder {
		u := j.browser()
		return j.back(u, j.leave(u, base()), params{"code": "c"})
	}
}
