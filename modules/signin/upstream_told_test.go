package signin_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/modules/signin"
)

// teller is a provider, and in the place of people's company's one that tells what the test likes.
type teller struct {
	*fixture
	server *httptest.Server
	nonce  string // of the sign-in that is exchanged next
	// claims of its ID tokens, with those that every token has; nil: without
	told   map[string]any
	status int                                      // of its token endpoint
	tells  map[string]any                           // members of its metadata, beside those that all have
	asked  []*http.Request                          // at its token endpoint, with their forms
	info   func(http.ResponseWriter, *http.Request) // its UserInfo
	sign   func(claims map[string]any) string
}

func newTeller(t *testing.T) *teller {
	t.Helper()
	j := &teller{fixture: newFixture(t), status: http.StatusOK}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	require.NoError(t, err)
	j.sign = func(claims map[string]any) string {
		raw, err := json.Marshal(claims)
		if err != nil {
			t.Error(err)
			return ""
		}
		signed, err := signer.Sign(raw)
		if err != nil {
			t.Error(err)
			return ""
		}
		token, err := signed.CompactSerialize()
		if err != nil {
			t.Error(err)
		}
		return token
	}
	routes := http.NewServeMux()
	answer := func(path string, content func() any) {
		routes.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if path == "/token" {
				if err := r.ParseForm(); err != nil {
					t.Error(err)
				}
				j.asked = append(j.asked, r)
				w.WriteHeader(j.status)
			}
			if err := json.NewEncoder(w).Encode(content()); err != nil {
				t.Error(err)
			}
		})
	}
	answer("/.well-known/openid-configuration", func() any {
		all := map[string]any{"issuer": j.server.URL, "authorization_endpoint": j.server.URL + "/authorize",
			"token_endpoint": j.server.URL + "/token",
			"jwks_uri":       j.server.URL + "/keys", "id_token_signing_alg_values_supported": []string{"ES256"}}
		maps.Copy(all, j.tells)
		return all
	})
	answer("/keys", func() any {
		return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), Algorithm: "ES256", Use: "sig"}}}
	})
	answer("/token", func() any {
		claims := map[string]any{"iss": j.server.URL, "sub": "up-ada", "aud": "hiregate",
			"exp": j.Now().Add(time.Hour).Unix(), "nonce": j.nonce, "email": "ada@example.com", "email_verified": true}
		maps.Copy(claims, j.told)
		maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
		return map[string]string{"access_token": "a", "token_type": "Bearer", "id_token": j.sign(claims)}
	})
	routes.HandleFunc("/userinfo", func(w http.ResponseWriter, r *http.Request) { j.info(w, r) })
	j.server = httptest.NewServer(routes)
	t.Cleanup(j.server.Close)
	j.Provider.Upstreams = []*signin.Upstream{{Provider: &oidcclient.Provider{Name: "Initech Staff", Issuer: j.server.URL, ClientID: "hiregate", Secret: "s",
		Client: j.server.Client(), Now: j.Now}}}
	j.Provider = signin.New(*j.Provider)
	return j
}

// leave sends somebody there, and gives what they are sent with.
func (j *teller) leave(u *browser, p params) url.Values {
	j.t.Helper()
	w := u.submit(u.authorize(p), upstreamForm, url.Values{})
	require.Equal(j.t, http.StatusSeeOther, w.Code, "%s", w.Body)
	to, err := url.Parse(w.Header().Get("Location"))
	require.NoError(j.t, err)
	return to.Query()
}

// back takes somebody back who was sent there with some parameters; more is what the answer has beside state, or in
// its place.
func (j *teller) back(u *browser, sent url.Values, more params) *httptest.ResponseRecorder {
	j.t.Helper()
	j.nonce = sent.Get("nonce")
	return u.ask(http.MethodGet,
		"/oauth/upstream/callback?"+params{"state": sent.Get("state")}.with(more).values().Encode(), nil)
}

// "prompt=login, max_age | sign in again; auth_time must be newer": upstream as well.
func TestWhenSomebodySignedInUpstream(t *testing.T) {
	t.Parallel()
	j := newTeller(t)
	const away = 5 * time.Minute // is how long they are there
	for name, c := range map[string]struct {
		asked params
		told  any           // auth_time, after they left; nil: none
		want  time.Duration // ours, after they left
		stale bool
	}{
		"none":                      {nil, nil, away, false},
		"long ago":                  {nil, -24 * time.Hour, -24 * time.Hour, false},
		"later than now":            {nil, time.Hour, away, false},
		"login, none":               {params{"prompt": "login"}, nil, 0, true},
		"login, before":             {params{"prompt": "login"}, -11 * time.Second, 0, true},
		"login, clocks":             {params{"prompt": "login"}, -9 * time.Second, -9 * time.Second, false},
		"login, since":              {params{"prompt": "login"}, time.Minute, time.Minute, false},
		"login and max_age, before": {params{"prompt": "login", "max_age": "3600"}, -time.Minute, 0, true},
		"max_age, none":             {params{"max_age": "3600"}, nil, 0, true},
		"max_age, too old":          {params{"max_age": "3600"}, away - time.Hour - 11*time.Second, 0, true},
		"max_age, clocks": {params{"max_age": "3600"}, away - time.Hour - 9*time.Second,
			away - time.Hour - 9*time.Second, false},
		"max_age, since":    {params{"max_age": "0"}, time.Minute, time.Minute, false},
		"max_age 0, before": {params{"max_age": "0"}, -11 * time.Second, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			u, p := j.browser(), base().with(c.asked)
			left := j.Now()
			sent := j.leave(u, p)
			j.Clock.Advance(away)
			j.told = map[string]any{"auth_time": nil}
			if after, ok := c.told.(time.Duration); ok {
				j.told["auth_time"] = left.Add(after).Unix()
			}
			w := j.back(u, sent, params{"code": "c"})
			if c.stale {
				requireError(t, w, p, "login_required")
				return
			}
			claims := j.claims(requireTokens(t, j.exchange("app", back(t, w, callback).Get("code"))).IDToken)
			require.Equal(t, float64(left.Add(c.want).Unix()), claims["auth_time"])
		})
	}
}

func TestErrorsOfUpstream(t *testing.T) {
	t.Parallel()
	j := newTeller(t)
	try := func(more params) *httptest.ResponseRecorder {
		u := j.browser()
		return j.back(u, j.leave(u, base()), more)
	}
	for told, want := range map[string]string{
		"login_required": "login_required", "interaction_required": "interaction_required",
		"consent_required":           "consent_required",
		"account_selection_required": "account_selection_required", "access_denied": "access_denied",
		"temporarily_unavailable": "temporarily_unavailable",
		"server_error":            "server_error", "invalid_request": "server_error", "unauthorized_client": "server_error",
		"ada@example.com did it": "server_error",
	} {
		requireError(t, try(params{"error": told, "error_description": "ada@example.com is unknown"}), base(), want)
		requireError(t, try(params{"error": told, "code": "c", "iss": "https://evil.example"}), base(), "server_error")
	}
	requireError(t, try(nil), base(), "server_error")
	for name, spoil := range map[string]func(){
		"token endpoint": func() { j.status = http.StatusBadRequest },
		"ID token":       func() { j.told = map[string]any{"aud": "another"} },
		"its time":       func() { j.told = map[string]any{"exp": j.Now().Add(-time.Minute).Unix()} },
		"its nonce":      func() { j.told = map[string]any{"nonce": 7} },
	} {
		j.told, j.status = nil, http.StatusOK
		spoil()
		requireError(t, try(params{"code": "secret-code"}), base(), "server_error")
		require.NotZero(t, j.Logged.FilterMessage("sign-in at the upstream failed").Len(), name)
	}
	var logged []string
	for _, entry := range j.Logged.All() {
		logged = append(logged, fmt.Sprint(entry.Message, entry.ContextMap()))
	}
	all := strings.Join(logged, "\n")
	require.Contains(t, all, "the upstream answered with the error unauthorized_client")
	require.NotContains(t, all, "ada@example.com")
	require.NotContains(t, all, "secret-code")
	require.Equal(t, 9+10+1+4, j.Logged.FilterMessage("sign-in at the upstream failed").Len(),
		"each is logged, but for that somebody cancels")
}

// Some providers write email_verified as a string.
func TestVerifiedAsText(t *testing.T) {
	t.Parallel()
	j := newTeller(t)
	try := func(verified any) *httptest.ResponseRecorder {
		j.told = map[string]any{"email_verified": verified}
		u := j.browser()
		return j.back(u, j.leave(u, base()), params{"code": "c"})
	}
	for _, verified := range []any{false, "false", "", "yes", 1, nil, []bool{true}} {
		requirePage(t, try(verified), http.StatusForbidden, "We don’t know your account yet")
	}
	require.NotEmpty(t, back(t, try("true"), callback).Get("code"))
}
