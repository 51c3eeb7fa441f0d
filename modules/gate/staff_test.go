package gate_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
)

// staff is the provider of a company, which says what the test wants about ada.
type staff struct {
	*fixture
	signer jose.Signer
	claims map[string]any // of the next ID token, beside the usual ones
	more   map[string]any // what UserInfo adds
	mu     sync.Mutex
	paths  []string // that were asked for
	// refresh answers with the next tokens, after the refresh token that came. Nil: there are none.
	refresh func(token string) (status int, content map[string]any)
	revoked []string // refresh tokens
}

func newStaff(t *testing.T) *staff {
	t.Helper()
	return newStaffOn(t, gatewaytest.New(t))
}

func newStaffOn(t *testing.T, on *gatewaytest.Fixture) *staff {
	t.Helper()
	s := &staff{fixture: newFixtureOn(t, on)}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	s.signer, err = jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	require.NoError(t, err)
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.paths = append(s.paths, r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		var content any
		switch r.URL.Path {
		case "/keys":
			content = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), Algorithm: "ES256", Use: "sig"}}}
		case "/token", "/base/openId/accessToken":
			told := map[string]any{"access_token": "a", "token_type": "Bearer"}
			if r.PostFormValue("grant_type") == "refresh_token" {
				status, more := s.refresh(r.PostFormValue("refresh_token"))
				w.WriteHeader(status)
				maps.Copy(told, more)
			} else {
				told["id_token"] = s.sign(s.claims)
				if s.refresh != nil {
					told["refresh_token"], told["expires_in"] = "first", 600
				}
			}
			content = told
		case "/revoke":
			id, secret, _ := r.BasicAuth()
			if id+" "+secret != "acme of-acme" {
				t.Error("who revokes?", id)
			}
			s.revoked = append(s.revoked, r.PostFormValue("token"))
		case "/userinfo":
			told := map[string]any{"sub": "ada"}
			maps.Copy(told, s.more)
			content = told
		default:
			content = map[string]any{"issuer": server.URL, "authorization_endpoint": server.URL + "/authorize",
				"token_endpoint": server.URL + "/token", "jwks_uri": server.URL + "/keys", "userinfo_endpoint": server.URL + "/userinfo", "revocation_endpoint": server.URL + "/revoke",
				"scopes_supported": []string{"openid", "groups"}, "id_token_signing_alg_values_supported": []string{"ES256"}}
		}
		if err := json.NewEncoder(w).Encode(content); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	s.Provider.Issuer, s.Provider.Client = server.URL, server.Client()
	return s
}

func (s *staff) sign(claims map[string]any) string {
	all := map[string]any{"iss": s.Provider.Issuer, "aud": "acme", "sub": "ada", "iat": s.Clock.Now().Unix(),
		"exp": s.Clock.Now().Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	raw, err := json.Marshal(all)
	require.NoError(s.t, err)
	signed, err := s.signer.Sign(raw)
	require.NoError(s.t, err)
	token, err := signed.CompactSerialize()
	require.NoError(s.t, err)
	return token
}

// come signs ada in, with claims, and returns where that ends and with what the provider was asked.
func (s *staff) come(u *browser, claims map[string]any) (w *httptest.ResponseRecorder, asked url.Values) {
	s.t.Helper()
	w = u.ask(http.MethodGet, here+"/", nil, page)
	to, err := url.Parse(w.Header().Get("Location"))
	require.NoError(s.t, err)
	s.claims = map[string]any{"nonce": to.Query().Get("nonce")}
	maps.Copy(s.claims, claims)
	_, w = u.open(here + "/oauth2/callback?code=c&state=" + to.Query().Get("state"))
	return w, to.Query()
}

// Groups come from the ID token, or else from UserInfo. A provider that leaves them out is no provider of none.
func TestGroups(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	s.Allow.Emails, s.Allow.Groups, s.Provider.WantsGroups = nil, []string{"staff"}, true
	w, asked := s.come(s.browser(), map[string]any{"groups": []string{"staff", "a,b"}})
	require.Equal(t, "the application", w.Body.String())
	require.Equal(t, "staff,a%2Cb", s.got.Header.Get("X-Auth-Request-Groups"))
	require.Equal(t, "openid profile email groups", asked.Get("scope"))
	s.more = map[string]any{"groups": []string{"staff"}}
	w, _ = s.come(s.browser(), nil)
	require.Equal(t, "the application", w.Body.String())
	for name, claims := range map[string]map[string]any{
		"by reference": {"_claim_names": map[string]string{"groups": "src1"},
			"_claim_sources": map[string]any{"src1": map[string]string{"endpoint": "https://graph.example.com/groups"}}},
		"by a flag": {"hasgroups": true},
	} {
		for _, wanted := range []bool{true, false} { // without a rule about them, the application would read that there are none
			s.Provider.WantsGroups = wanted
			u := s.browser()
			w, _ = s.come(u, claims)
			require.Contains(t, w.Body.String(), "doesn’t say your groups", name)
			require.False(t, u.in(), name)
		}
	}
	s.Provider.WantsGroups = true
	s.more = nil
	w, _ = s.come(s.browser(), nil)
	require.Equal(t, http.StatusForbidden, w.Code, "no group")
}

// An address has to be verified, and clocks may differ by less than a minute.
func TestWhatTheProviderSays(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	now := s.Clock.Now()
	good := map[string]any{"email": ada, "email_verified": true}
	for name, c := range map[string]struct {
		claims map[string]any
		want   int
	}{
		"as it should be": {nil, http.StatusOK},
		"not verified":    {map[string]any{"email_verified": false}, http.StatusForbidden},
		"two addresses":   {map[string]any{"email": "x@evil.example@acme.example"}, http.StatusForbidden},
		"over by 59 s":    {map[string]any{"exp": now.Add(-59 * time.Second).Unix()}, http.StatusOK},
		"over by 60 s":    {map[string]any{"exp": now.Add(-time.Minute).Unix()}, http.StatusBadGateway},
		"ahead by 59 s":   {map[string]any{"iat": now.Add(59 * time.Second).Unix()}, http.StatusOK},
		"ahead by 2 min":  {map[string]any{"iat": now.Add(2 * time.Minute).Unix()}, http.StatusBadGateway},
		"another nonce":   {map[string]any{"nonce": "n"}, http.StatusBadGateway},
		"another client":  {map[string]any{"aud": "other"}, http.StatusBadGateway},
		"another issuer":  {map[string]any{"iss": "https://other.example"}, http.StatusBadGateway},
	} {
		claims := maps.Clone(good)
		maps.Copy(claims, c.claims)
		w, _ := s.come(s.browser(), claims)
		require.Equal(t, c.want, w.Code, name)
	}
	s.Provider.TrustEmail = []string{"acme.example"}
	w, _ := s.come(s.browser(), map[string]any{"email": ada})
	require.Equal(t, http.StatusOK, w.Code)
}

// A provider that has the two paths of the contract, and no metadata, does as well.
func TestAProviderWithoutMetadata(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	s.Provider.Base, s.Provider.Keys = s.Provider.Issuer+"/base", s.Provider.Issuer+"/keys"
	w, asked := s.come(s.browser(), map[string]any{"email": ada, "email_verified": true})
	require.Equal(t, "the application", w.Body.String())
	require.Equal(t, here+"/oauth2/callback", asked.Get("redirect_uri"))
	require.Equal(t, []string{"/base/openId/accessToken", "/keys"}, s.paths)
}

// The provider ends one session, or all of a person. A session that is not known is none to end.
func TestBackChannelLogout(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	come := func(sid string) *browser {
		u := s.browser()
		w, _ := s.come(u, map[string]any{"email": ada, "email_verified": true, "sid": sid})
		require.Equal(t, http.StatusOK, w.Code)
		return u
	}
	desk, phone, tablet := come("desk"), come("phone"), come("tablet")
	send := func(jti string, more map[string]any) int {
		claims := map[string]any{"jti": jti, "events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}}
		maps.Copy(claims, more)
		w := s.browser().ask(http.MethodPost, here+"/oauth2/backchannel_logout", url.Values{"logout_token": {s.sign(claims)}},
			func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") })
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		return w.Code
	}
	require.Equal(t, http.StatusOK, send("1", map[string]any{"sid": "desk"}))
	require.Equal(t, []bool{false, true, true}, []bool{desk.in(), phone.in(), tablet.in()})
	require.Equal(t, http.StatusBadRequest, send("1", map[string]any{"sid": "phone"}), "used before")
	require.Equal(t, http.StatusOK, send("2", map[string]any{"sub": "somebody", "sid": "else"}))
	require.Equal(t, http.StatusBadRequest, send("3", map[string]any{"events": nil}))
	require.True(t, phone.in())
	require.Equal(t, http.StatusOK, send("4", nil))
	require.Equal(t, []bool{false, false}, []bool{phone.in(), tablet.in()})
}
