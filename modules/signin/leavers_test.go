package signin_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/signin"
)

// leavers is a joint whose provider counts how often it is asked for a refresh, and can be away.
type leavers struct {
	*joint
	refreshes atomic.Int64
	away      atomic.Bool
}

func newLeavers(t *testing.T) *leavers {
	t.Helper()
	l := &leavers{joint: newJoint(t)}
	l.company.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == tokenPath {
			if l.away.Load() {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			if err := r.ParseForm(); err != nil {
				t.Error(err)
			}
			if r.PostForm.Get("grant_type") == "refresh_token" {
				l.refreshes.Add(1)
			}
		}
		l.up.Provider.ServeHTTP(w, r)
	})
	return l
}

// in signs ada in at the company, for an application.
func (l *leavers) in() (*browser, tokens) {
	l.t.Helper()
	u := l.browser()
	code := back(l.t, u.ask(http.MethodGet, l.there(l.leave(u, base()), "ada@example.com"), nil), callback).Get("code")
	return u, requireTokens(l.t, l.exchange("app", code))
}

func (l *leavers) advance(d time.Duration) {
	l.Clock.Advance(d)
	l.up.Clock.Advance(d)
}

func (l *leavers) requireIn(u *browser) {
	l.t.Helper()
	require.NotEmpty(l.t, back(l.t, u.authorize(base()), callback).Get("code"))
}

func (l *leavers) requireOut(u *browser) {
	l.t.Helper()
	requirePage(l.t, u.authorize(base()), http.StatusOK, `id="password"`)
}

// Whoever is dismissed at their company is out of our sessions and tokens within an hour of use: whichever is used first.
func TestLeavers(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(*leavers, *browser, tokens){
		"browser":  func(l *leavers, u *browser, _ tokens) { l.requireOut(u) },
		"refresh":  func(l *leavers, _ *browser, had tokens) { l.requireEnded(had) },
		"userinfo": func(l *leavers, _ *browser, had tokens) { l.requireRevoked(had.AccessToken) },
	} {
		l := newLeavers(t)
		u, had := l.in()
		l.advance(50 * time.Minute)
		had = requireTokens(t, l.refreshed(had.RefreshToken))
		require.Zero(t, l.refreshes.Load(), "they signed in less than an hour ago")
		l.up.Write(t, func(tx *store.Tx) error { _, err := tx.DisableUser("user-ada", l.up.Now()); return err })
		l.requireGood(had.AccessToken)
		l.advance(10 * time.Minute)
		use(l, u, had)
		l.requireOut(u)
		l.requireEnded(had)
		require.EqualValues(t, 1, l.refreshes.Load(), name)
	}
}

// Who is still there is asked for each hour, with the refresh token of the last time; so they stay for as long as the
// configuration says.
func TestStayers(t *testing.T) {
	t.Parallel()
	l := newLeavers(t)
	u, had := l.in()
	for n := range 11 {
		l.advance(time.Hour + time.Minute)
		had = requireTokens(t, l.refreshed(had.RefreshToken))
		l.requireIn(u)
		require.EqualValues(t, n+1, l.refreshes.Load())
	}
	l.advance(time.Hour)
	l.requireOut(u) // session_end
	l.advance(20 * 24 * time.Hour)
	requireTokens(t, l.refreshed(had.RefreshToken))
}

// A provider that does not answer ends nothing for half a day, and is asked once a minute.
func TestUpstreamIsSilent(t *testing.T) {
	t.Parallel()
	l := newLeavers(t)
	l.SessionEnd = 7 * 24 * time.Hour
	l.Provider = signin.New(*l.Provider)
	u, had := l.in()
	l.advance(time.Hour)
	l.away.Store(true)
	for range 3 {
		l.requireIn(u)
		had = requireTokens(t, l.refreshed(had.RefreshToken))
	}
	l.away.Store(false)
	l.requireIn(u)
	require.Zero(t, l.refreshes.Load(), "it is asked again a minute later")
	l.advance(time.Minute)
	l.requireIn(u)
	require.EqualValues(t, 1, l.refreshes.Load())
	l.away.Store(true)
	l.advance(identity.UnconfirmedLife - time.Second)
	l.requireIn(u)
	l.advance(time.Second)
	l.requireOut(u)
	l.advance(time.Minute)
	l.requireEnded(had)
}

// Forty requests at once, on two nodes, ask the provider once.
func TestUpstreamIsAskedOnce(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		l := newLeavers(t)
		u, had := l.in()
		l.advance(time.Hour - time.Minute)
		had = requireTokens(t, l.refreshed(had.RefreshToken))
		l.advance(time.Minute)
		if gone {
			l.up.Write(t, func(tx *store.Tx) error { _, err := tx.DisableUser("user-ada", l.up.Now()); return err })
		}
		nodes := []*signin.Provider{l.Provider, signin.New(*l.Provider)}
		var all sync.WaitGroup
		var in atomic.Int64
		for n := range 40 {
			all.Go(func() {
				r := httptest.NewRequest(http.MethodGet, "/oauth/userinfo", nil)
				r.Header.Set("Authorization", "Bearer "+had.AccessToken)
				if n%2 == 0 {
					r = httptest.NewRequest(http.MethodGet, "/oauth/authorize?"+base().values().Encode(), nil)
					for name, value := range u.cookies {
						r.AddCookie(&http.Cookie{Name: name, Value: value})
					}
				}
				w := httptest.NewRecorder()
				nodes[n/20].ServeHTTP(w, r)
				if w.Code == http.StatusOK && n%2 == 1 || w.Code == http.StatusFound || w.Code == http.StatusSeeOther {
					in.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, l.refreshes.Load())
		require.EqualValues(t, map[bool]int{false: 40, true: 0}[gone], in.Load())
	}
}

// The upstream says that a session has ended there: it ends here, with what was granted in it. A token is good once.
func TestUpstreamLogout(t *testing.T) {
	t.Parallel()
	j := newTeller(t)
	in := func(sid any) (*browser, tokens) {
		j.told = map[string]any{"sid": sid}
		u := j.browser()
		code := back(t, j.back(u, j.leave(u, base()), params{"code": "c"}), callback).Get("code")
		return u, requireTokens(t, j.exchange("app", code))
	}
	jti := 0
	logout := func(status int, claims map[string]any) {
		t.Helper()
		jti++
		all := map[string]any{"iss": j.server.URL, "aud": "hiregate", "iat": j.Now().Unix(), "exp": j.Now().Add(time.Minute).Unix(),
			"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}}
		for name, value := range claims {
			all[name] = value
		}
		all["jti"] = "t-" + string(rune('a'+jti))
		for _, want := range []int{status, http.StatusBadRequest} { // a token is good once
			w := j.post("/oauth/upstream/logout", "", url.Values{"logout_token": {j.sign(all)}})
			require.Equal(t, want, w.Code, "%s", w.Body)
			require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		}
	}
	requireIn := func(u *browser) {
		t.Helper()
		require.NotEmpty(t, back(t, u.authorize(base()), callback).Get("code"))
	}
	one, ones := in("s-1")
	two, twos := in("s-2")
	logout(http.StatusOK, map[string]any{"sid": "s-1"})
	requirePage(t, one.authorize(base()), http.StatusOK, `id="password"`)
	j.requireEnded(ones)
	requireIn(two)
	logout(http.StatusOK, map[string]any{"sub": "up-ada", "sid": "s-3"})
	requireIn(two)
	logout(http.StatusOK, map[string]any{"sub": "up-eve"})
	requireIn(two)
	logout(http.StatusBadRequest, map[string]any{"sub": "up-ada", "nonce": "n"})
	logout(http.StatusBadRequest, map[string]any{"sub": "up-ada", "aud": "another"})
	requireIn(two)
	three, _ := in(nil)
	logout(http.StatusOK, map[string]any{"sub": "up-ada"})
	for _, u := range []*browser{two, three} {
		requirePage(t, u.authorize(base()), http.StatusOK, `id="password"`)
	}
	j.requireEnded(twos)
	var log []string
	entries, _, err := j.Runtime.Store().ListSigninEntries(t.Context(), 0, 100)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Event == "sign-out" {
			log = append(log, e.Result+" "+e.UserID)
		}
	}
	require.Equal(t, []string{"upstream_logout user-ada", "upstream_logout user-ada", "upstream_logout user-ada"}, log)
	raw, err := json.Marshal(entries)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "ada@example.com")
}
