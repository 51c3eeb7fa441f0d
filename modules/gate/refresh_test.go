package gate_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/access"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/modules/gate"
)

// A session is refreshed at its provider before the access token ends. It ends when the provider refuses that, and lasts an
// hour without an answer.
func TestSessionsAreRefreshed(t *testing.T) {
	t.Parallel()
	verified := map[string]any{"email": ada, "email_verified": true}
	for name, c := range map[string]struct {
		status int
		answer map[string]any
		// in is whether ada is in after the first question, while the access token is good; an hour after that; and an hour
		// and 10 minutes.
		in    [3]bool
		asked int // how often the provider is, until then
	}{
		"refused":       {http.StatusBadRequest, map[string]any{"error": "invalid_grant"}, [3]bool{}, 1},
		"another fault": {http.StatusBadRequest, map[string]any{"error": "invalid_client"}, [3]bool{true, true, false}, 3},
		"away":          {http.StatusServiceUnavailable, nil, [3]bool{true, true, false}, 3},
		"unsupported":   {http.StatusBadRequest, map[string]any{"error": "unsupported_grant_type"}, [3]bool{true, true, true}, 1},
		"refreshed":     {http.StatusOK, map[string]any{"refresh_token": "next", "expires_in": 7200}, [3]bool{true, true, true}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStaff(t)
			var used []string
			s.refresh = func(token string) (int, map[string]any) {
				used = append(used, token)
				return c.status, c.answer
			}
			u := s.browser()
			w, _ := s.come(u, verified)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			s.Clock.Advance(449 * time.Second)
			require.True(t, u.in())
			require.Empty(t, used, "it is not time")
			s.Clock.Advance(time.Second)
			require.Equal(t, c.in[0], u.in())
			require.Equal(t, c.in[0], u.in(), "it is not asked again at once")
			require.Equal(t, []string{"first"}, used)
			s.Clock.Advance(time.Hour)
			require.Equal(t, c.in[1], u.in())
			s.Clock.Advance(10 * time.Minute)
			require.Equal(t, c.in[2], u.in())
			require.Len(t, used, c.asked)
			if c.status == http.StatusOK {
				require.Equal(t, "next", used[1])
			}
			s.Clock.Advance(11 * time.Hour)
			require.False(t, u.in(), "its end")
		})
	}
}

// What the provider says of a person when it refreshes counts from then on.
func TestRefreshingDescribesThePersonAgain(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	s.Allow.Emails, s.Allow.Groups, s.Provider.WantsGroups = nil, []string{"staff"}, true
	next := map[string]any{}
	s.refresh = func(string) (int, map[string]any) {
		return http.StatusOK, map[string]any{"refresh_token": "next", "expires_in": 600, "id_token": s.sign(next)}
	}
	u := s.browser()
	w, _ := s.come(u, map[string]any{"groups": []string{"staff"}, "name": "Ada"})
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	next["groups"], next["name"] = []string{"staff", "board"}, "Ada L."
	s.Clock.Advance(10 * time.Minute)
	require.True(t, u.in())
	require.Equal(t, []string{"Ada%20L.", "staff,board"}, identityOf(s.got.Header)[2:])
	next["groups"], next["exp"] = []string{"board"}, s.Clock.Now().Add(10*time.Minute-59*time.Second).Unix() // its clock is late
	s.Clock.Advance(10 * time.Minute)
	require.Equal(t, http.StatusForbidden, u.ask(http.MethodGet, here+"/api", nil).Code)
	delete(next, "groups")
	delete(next, "exp")
	next["hasgroups"] = true
	s.Clock.Advance(10 * time.Minute)
	require.False(t, u.in(), "the groups are too many")
}

// A session at the sign-in of the same gateway is refreshed there as well: groups that somebody loses there count within the
// hour, and so does what else sign-in refuses.
func TestSessionsOfOurSignInAreRefreshed(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Allow.Emails, b.Allow.Groups, b.Provider.WantsGroups = nil, []string{"staff"}, true
	change := func(fn func(*store.Tx, *identity.User) error) {
		b.Write(t, func(tx *store.Tx) error {
			u, err := tx.User("user-ada")
			if err != nil {
				return err
			}
			return fn(tx, u)
		})
	}
	change(func(tx *store.Tx, u *identity.User) error {
		u.Groups = []string{"staff", "board"}
		return tx.UpdateUser(u)
	})
	u := b.browser()
	u.enter(here+"/", ada)
	require.Equal(t, "board,staff", b.got.Header.Get("X-Auth-Request-Groups"))
	change(func(tx *store.Tx, u *identity.User) error { u.Groups = []string{"staff"}; return tx.UpdateUser(u) })
	b.Clock.Advance(45 * time.Minute)
	require.True(t, u.in())
	require.Equal(t, "staff", b.got.Header.Get("X-Auth-Request-Groups"))
	b.Allow.Groups, b.Allow.Emails, b.Provider.WantsGroups = nil, []string{ada}, false // without a rule about them, the application learns them as well
	change(func(tx *store.Tx, u *identity.User) error {
		u.Groups = []string{"staff", "night"}
		return tx.UpdateUser(u)
	})
	other := b.browser()
	other.enter(here+"/", ada)
	require.Equal(t, "night,staff", b.got.Header.Get("X-Auth-Request-Groups"))
	b.Allow.Groups, b.Allow.Emails, b.Provider.WantsGroups = []string{"staff"}, nil, true
	change(func(tx *store.Tx, u *identity.User) error { u.Groups = nil; return tx.UpdateUser(u) })
	b.Clock.Advance(45 * time.Minute)
	require.Equal(t, http.StatusForbidden, u.ask(http.MethodGet, here+"/api", nil).Code)
	b.Write(t, func(tx *store.Tx) error { _, err := tx.DisableClient("acme", b.Clock.Now()); return err })
	b.Clock.Advance(2 * time.Hour)
	require.False(t, u.in(), "the application is not known there any more")
}

// Of forty requests that come at once, on two nodes, one refreshes the session; the others wait for it.
func TestRefreshingOnceOnTwoNodes(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	s := newStaffOn(t, gatewaytest.NewOn(t, address))
	other := gatewaytest.NewOn(t, address)
	var asked atomic.Int32
	s.refresh = func(string) (int, map[string]any) {
		asked.Add(1)
		return http.StatusOK, map[string]any{"refresh_token": "next", "expires_in": 600}
	}
	u := s.browser()
	w, _ := s.come(u, map[string]any{"email": ada, "email_verified": true})
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	for _, clock := range []*gatewaytest.Clock{s.Clock, other.Clock} {
		clock.Advance(3 * time.Hour)
	}
	beside := &gate.Gate{Gateway: other.Gateway, Vault: s.Vault, Prefix: s.Prefix, Life: s.Life, Allow: s.Allow,
		Provider: &oidcclient.Provider{Issuer: s.Provider.Issuer, ClientID: "acme", Secret: "of-acme", Client: s.Provider.Client,
			Now: other.Clock.Now},
		Watch: s.Watch, Address: s.Address, Origin: s.Origin, Sent: s.Sent, Log: other.Log}
	var in atomic.Int32
	application := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { in.Add(1) })
	var all sync.WaitGroup
	for n := range 40 {
		all.Go(func() {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, here+"/api", nil)
			for name, value := range u.cookies {
				r.AddCookie(&http.Cookie{Name: name, Value: value})
			}
			[]*gate.Gate{s.Gate, beside}[n%2].ServeHTTP(httptest.NewRecorder(), r, application)
		})
	}
	all.Wait()
	require.Equal(t, []int32{1, 40}, []int32{asked.Load(), in.Load()})
}

// A session says when it was used last, to a quarter of an hour.
func TestUseOfSessionsIsNoted(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	u := s.browser()
	s.come(u, map[string]any{"email": ada, "email_verified": true})
	begun := s.Clock.Now()
	used := func() time.Duration {
		all, _, err := s.Runtime.Store().ListConsoleSessions(t.Context(), access.SessionsOf{Site: here + "/oauth2"}, identity.Hash{}, 10,
			s.Clock.Now())
		require.NoError(t, err)
		require.Len(t, all, 1)
		return all[0].UsedAt.Sub(begun)
	}
	for _, c := range [][2]time.Duration{{14 * time.Minute, 0}, {time.Minute, 15 * time.Minute}, {14 * time.Minute, 15 * time.Minute}, {time.Hour, 89 * time.Minute}} {
		s.Clock.Advance(c[0])
		require.True(t, u.in())
		require.Equal(t, c[1], used())
	}
}

// Whoever signs out leaves nothing to refresh at their provider.
func TestSignOutRevokes(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	s.refresh = func(string) (int, map[string]any) { return http.StatusOK, nil }
	u := s.browser()
	s.come(u, map[string]any{"email": ada, "email_verified": true})
	require.True(t, u.in())
	u.ask(http.MethodPost, here+"/oauth2/sign_out", nil)
	require.False(t, u.in())
	require.Equal(t, []string{"first"}, s.revoked)
}
