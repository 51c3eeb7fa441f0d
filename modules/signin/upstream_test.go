package signin_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/access"
	"github.com/hiregate/hiregate/internal/vault"
	"github.com/hiregate/hiregate/modules/signin"
)

func TestSigningInUpstream(t *testing.T) {
	t.Parallel()
	j := newJoint(t)
	requirePage(t, j.browser().authorize(base()), http.StatusOK, "Sign in with Initech Staff")
	require.Equal(t, "user-ada", j.subject(j.enter("ada@example.com")),
		"an address that is verified on both sides is the same person")

	first := j.claims(requireTokens(t, j.exchange("app", j.enter("carol@example.com"))).IDToken)
	carol, err := j.Runtime.Store().UserByEmail(t.Context(), "carol@example.com")
	require.NoError(t, err)
	require.Equal(t, carol.ID, first["sub"], "who is new gets an account")
	require.Equal(t, "Carol Shaw", carol.Name)
	require.True(t, carol.EmailVerified)
	require.Empty(t, carol.Password)
	u := j.browser()
	requirePage(t, u.signIn(u.authorize(base()), "carol@example.com", "a guess"), http.StatusForbidden, `id="password"`)

	require.Equal(t, carol.ID, j.subject(j.enter("carol@example.com")))

	j.Write(t, func(tx *store.Tx) error {
		return tx.InsertUpstreamAccount(j.company.URL, "up-dan", "user-bob", j.Now())
	})
	require.Equal(t, "user-bob", j.subject(j.enter("dan@example.com")),
		"an account that is joined is known by issuer and subject, whatever its address")
}

// Who comes back goes on to the second factor and to their consent.
func TestMoreStepsAfterUpstream(t *testing.T) {
	t.Parallel()
	j := newJoint(t)
	secret := j.protected()
	u := j.browser()
	p := base().with(params{"client_id": "asking"})
	page := u.ask(http.MethodGet, j.there(j.leave(u, p), "ada@example.com"), nil)
	requirePage(t, page, http.StatusOK, `id="code"`)
	page = u.second(page, j.code(secret, 0))
	requirePage(t, page, http.StatusOK, `value="allow"`)
	require.NotEmpty(t, back(t, u.submit(page, `value="allow"`, url.Values{"action": {"allow"}}), callback).Get("code"))

	bob := j.browser()
	j.Write(t, func(tx *store.Tx) error {
		return tx.InsertUpstreamAccount(j.company.URL, "up-dan", "user-bob", j.Now())
	})
	page = bob.ask(http.MethodGet, j.there(j.leave(bob, p), "dan@example.com"), nil)
	requirePage(t, page, http.StatusOK, `value="allow"`)
	require.NotEmpty(t, back(t, bob.submit(page, `value="allow"`, url.Values{"action": {"allow"}}), callback).Get("code"))
}

// An account that is taken from somebody ends what was begun with it: whoever has it now sets up no second factor for
// them.
func TestUnlinkedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, setUp := range []bool{true, false} {
		j := newJoint(t)
		j.enter("ada@example.com")
		secret := ""
		if setUp {
			j.requireTOTP("user-ada", true)
		} else {
			secret = j.protected()
		}
		u := j.browser()
		page := u.ask(http.MethodGet, j.there(j.leave(u, base()), "ada@example.com"), nil)
		requirePage(t, page, http.StatusOK, `id="code"`)
		if setUp {
			secret = strings.ReplaceAll(typed.FindStringSubmatch(page.Body.String())[1], " ", "")
		}
		j.Write(t, func(tx *store.Tx) error { _, err := tx.DeleteUpstreamAccounts("user-ada", j.Now()); return err })
		w := u.second(page, j.code(secret, 0))
		requirePage(t, w, http.StatusOK, `id="password"`)
		require.Empty(t, u.cookies)
		ada, err := j.Runtime.Store().User(t.Context(), "user-ada")
		require.NoError(t, err)
		require.Equal(t, setUp, ada.TOTP == nil)
	}
}

func TestStrangersUpstream(t *testing.T) {
	t.Parallel()
	j := newJoint(t)
	for _, email := range []string{"dan@example.com", "bob@example.com"} { // neither address is verified there
		u := j.browser()
		w := u.ask(http.MethodGet, j.there(j.leave(u, base()), email), nil)
		requirePage(t, w, http.StatusForbidden, "We don’t know your account yet", "Initech Staff")
	}
	u := j.browser()
	w := u.ask(http.MethodGet, j.there(j.leave(u, base().with(params{"ui_locales": "de"})), "dan@example.com"), nil)
	requirePage(t, w, http.StatusForbidden, "Wir kennen Ihr Konto noch nicht")
	j.enter("carol@example.com")
	carol, err := j.Runtime.Store().UserByEmail(t.Context(), "carol@example.com")
	require.NoError(t, err)
	// one who never came, and one who did
	for email, id := range map[string]string{"ada@example.com": "user-ada", "carol@example.com": carol.ID} {
		j.Write(t, func(tx *store.Tx) error {
			_, err := tx.DisableUser(id, j.Now())
			return err
		})
		u := j.browser()
		requirePage(t, u.ask(http.MethodGet, j.there(j.leave(u, base()), email), nil), http.StatusForbidden,
			"We don’t know your account yet")
	}
}

func TestWayBackFromUpstream(t *testing.T) {
	t.Parallel()
	j := newJoint(t)
	u := j.browser()
	to := j.leave(u, base())
	q := to.Query()
	require.Equal(t, []string{"S256", "hiregate", "code", issuer + "/oauth/upstream/callback", ""},
		[]string{q.Get("code_challenge_method"), q.Get("client_id"), q.Get("response_type"), q.Get("redirect_uri"),
			q.Get("prompt")})
	require.NotEmpty(t, q.Get("nonce"))
	state := q.Get("state")
	came := j.there(to, "ada@example.com")
	const over = "This sign-in is over"
	requirePage(t, j.browser().ask(http.MethodGet, came, nil), http.StatusBadRequest, over) // in another browser
	for _, other := range []string{"x" + state, state[:8] + strings.Repeat("x", len(state)-8), state[:8], ""} {
		requirePage(t, u.ask(http.MethodGet, strings.Replace(came, state, other, 1), nil), http.StatusBadRequest, over)
	}
	require.NotEmpty(t, back(t, u.ask(http.MethodGet, came, nil), callback).Get("code"))
	requirePage(t, u.ask(http.MethodGet, came, nil), http.StatusBadRequest, over, "begin again") // once
	require.Len(t, u.cookies, 1, "the cookie of the visit is still there")

	late := j.browser()
	came = j.there(j.leave(late, base()), "ada@example.com")
	j.Clock.Advance(16 * time.Minute)
	requirePage(t, late.ask(http.MethodGet, came, nil), http.StatusBadRequest, over)
	late.headers.Set("Accept-Language", "de")
	requirePage(t, late.ask(http.MethodGet, came, nil), http.StatusBadRequest, "Diese Anmeldung ist vorbei")

	// The code of another sign-in: its verifier is another, and so would be its nonce.
	one, other := j.browser(), j.browser()
	stolen, err := url.Parse(j.there(j.leave(one, base()), "ada@example.com"))
	require.NoError(t, err)
	own, err := url.Parse(j.there(j.leave(other, base()), "ada@example.com"))
	require.NoError(t, err)
	mixed := own.Query()
	mixed.Set("code", stolen.Query().Get("code"))
	requireError(t, other.ask(http.MethodGet, own.Path+"?"+mixed.Encode(), nil), base(), "server_error")

	another := j.browser()
	to = j.leave(another, base())
	q = to.Query()
	q.Set("nonce", "of another sign-in")
	to.RawQuery = q.Encode()
	requireError(t, another.ask(http.MethodGet, j.there(to, "ada@example.com"), nil), base(), "server_error")

	for _, iss := range []string{"https://evil.example", ""} { // the metadata says that answers tell it
		foreign := j.browser()
		own, err = url.Parse(j.there(j.leave(foreign, base()), "ada@example.com"))
		require.NoError(t, err)
		mixed = own.Query()
		mixed.Set("iss", iss)
		requireError(t, foreign.ask(http.MethodGet, own.Path+"?"+mixed.Encode(), nil), base(), "server_error")
	}
}

// What is sealed for one purpose opens for no other, though all are sealed with the same key.
func TestTicketsAreOfOneKind(t *testing.T) {
	t.Parallel()
	sealer, err := vault.New(seal)
	require.NoError(t, err)
	for _, made := range signin.Purposes {
		for _, read := range signin.Purposes {
			n := 0
			ticket, err := sealer.SealTicket(made, issuer, 7)
			require.NoError(t, err)
			require.Equal(t, made == read, sealer.OpenTicket(read, issuer, ticket, &n))
			require.False(t, sealer.OpenTicket(made, "another issuer", ticket, &n))
		}
	}
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(signin.Purposes))), len(signin.Purposes))
}

func TestWhatAnApplicationAsksGoesUpstream(t *testing.T) {
	t.Parallel()
	j := newJoint(t)
	q := j.leave(j.browser(), base().with(params{"prompt": "login", "login_hint": "ada@example.com"})).Query()
	require.Equal(t, []string{"login", "0", "ada@example.com"},
		[]string{q.Get("prompt"), q.Get("max_age"), q.Get("login_hint")})
	q = j.leave(j.browser(), base().with(params{"max_age": "60"})).Query()
	require.Equal(t, []string{"", "60"}, []string{q.Get("prompt"), q.Get("max_age")})
	require.Equal(t, "0", j.leave(j.browser(), base().with(params{"prompt": "login",
		"max_age": "60"})).Query().Get("max_age"))
	require.False(t, j.leave(j.browser(), base()).Query().Has("max_age"))
	for asked, want := range map[string]string{"select_account": "select_account",
		"consent select_account login": "select_account login", "consent": ""} {
		require.Equal(t, want, j.leave(j.browser(), base().with(params{"prompt": asked})).Query().Get("prompt"))
	}
}

// The largest request that the password way takes; browsers drop a cookie of more than 4,096 bytes.
func TestLargeRequestsGoUpstream(t *testing.T) {
	t.Parallel()
	j := newJoint(t)
	p := base().with(params{"state": strings.Repeat("s", 8<<10), "login_hint": "h", "nonce": "n"})
	p["login_hint"] += strings.Repeat("h", 16<<10-len(p.values().Encode()))
	require.NotEmpty(t, j.browser().enter(p).Get("code"))
	u := j.browser()
	to := j.leave(u, p)
	require.Less(t, len(to.String()), 2000)
	got := back(t, u.ask(http.MethodGet, j.there(to, "ada@example.com"), nil), callback)
	require.NotEmpty(t, got.Get("code"))
	require.Equal(t, p["state"], got.Get("state"))
}

func TestSeveralTabsGoUpstream(t *testing.T) {
	t.Parallel()
	j := newJoint(t)
	u := j.browser()
	var came []string
	for _, state := range []string{"0", "1", "2"} {
		came = append(came, j.there(j.leave(u, base().with(params{"state": state})), "ada@example.com"))
	}
	for _, n := range []int{1, 2, 0} {
		got := back(t, u.ask(http.MethodGet, came[n], nil), callback)
		require.NotEmpty(t, got.Get("code"))
		require.Equal(t, strconv.Itoa(n), got.Get("state"))
	}
	require.Len(t, u.cookies, 1, "only the session is left")

	u = j.browser()
	var last *url.URL
	for range 12 {
		last = j.leave(u, base())
	}
	require.Len(t, u.cookies, 8, "cookies pile up")
	require.NotEmpty(t, back(t, u.ask(http.MethodGet, j.there(last, "ada@example.com"), nil), callback).Get("code"))
}

// A network whose people leave and do not come back has to wait; others don't, and nor does who has a password.
func TestManyLeaveAndNobodyComesBack(t *testing.T) {
	t.Parallel()
	j := newJoint(t)
	u := j.browser()
	page := u.authorize(base())
	at := j.Now().Add(-14 * time.Minute)
	j.Write(t, func(tx *store.Tx) error {
		for n := range 500 {
			v := &access.Visit{Hash: identity.HashSecret(strconv.Itoa(n)), Request: []byte("r"), Network: address, At: at,
				Till: at.Add(15 * time.Minute)}
			if _, err := tx.InsertVisit(v); err != nil {
				return err
			}
		}
		return nil
	})
	w := u.submit(page, upstreamForm, url.Values{})
	requirePage(t, w, http.StatusTooManyRequests, "Too many people in your network are signing in with Initech Staff",
		`id="password"`)
	require.Equal(t, "60", w.Header().Get("Retry-After"))
	require.Empty(t, w.Result().Cookies())
	require.NotEmpty(t, back(t, u.signIn(w, "ada@example.com", right), callback).Get("code"))

	elsewhere := j.browser()
	elsewhere.headers.Set("X-Test-Address", "2001:db8::7")
	j.leave(elsewhere, base())
	j.Clock.Advance(time.Minute)
	j.leave(j.browser(), base())
}

// What waits in the database tells nobody who is signing in.
func TestRequestsWaitSealed(t *testing.T) {
	t.Parallel()
	j := newJoint(t)
	to := j.leave(j.browser(), base().with(params{"login_hint": "ada@example.com"}))
	var kept []byte
	j.Write(t, func(tx *store.Tx) (err error) {
		kept, err = tx.DeleteVisit(identity.HashSecret(to.Query().Get("state")), j.Now())
		return err
	})
	require.NotEmpty(t, kept)
	require.NotContains(t, string(kept), "ada")
}

// Where the database does not answer nothing is lost: the visit goes on when it does.
func TestComingBackTooEarly(t *testing.T) {
	t.Parallel()
	j := newJoint(t)
	u := j.browser()
	came := j.there(j.leave(u, base()), "ada@example.com")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	w := u.askWithin(gone, http.MethodGet, came, nil)
	requirePage(t, w, http.StatusServiceUnavailable)
	require.Empty(t, w.Result().Cookies(), "the cookie of the visit is taken away")
	require.NotEmpty(t, back(t, u.ask(http.MethodGet, came, nil), callback).Get("code"))
}

func TestCancellingUpstream(t *testing.T) {
	t.Parallel()
	j := newJoint(t)
	u := j.browser()
	to := j.leave(u, base())
	v := j.up.browser()
	page := v.ask(http.MethodGet, to.RequestURI(), nil)
	w := v.submit(page, `id="password"`, url.Values{"action": {"cancel"}})
	came, ok := strings.CutPrefix(w.Header().Get("Location"), issuer)
	require.True(t, ok)
	requireError(t, u.ask(http.MethodGet, came, nil), base(), "access_denied")
}

func TestUpstreamIsAway(t *testing.T) {
	t.Parallel()
	j := newJoint(t)
	u := j.browser()
	page := u.authorize(base())
	j.company.Close()
	w := u.submit(page, upstreamForm, url.Values{})
	requireError(t, w, base(), "server_error")
	require.NotEmpty(t, u.signIn(page, "ada@example.com", right).Header().Get("Location"),
		"the password is a way in all the same")
}

// Without an upstream there is nothing at its addresses, and no button.
func TestNoUpstream(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	require.NotContains(t, b.browser().authorize(base()).Body.String(), upstreamForm)
	require.Equal(t, http.StatusNotFound, b.browser().ask(http.MethodPost, "/oauth/upstream", url.Values{}).Code)
	require.Equal(t, http.StatusNotFound, b.browser().ask(http.MethodGet, "/oauth/upstream/callback?code=x&state=y",
		nil).Code)
}

// Where the upstream's certificate is of an authority that is not known, the application and the log get that reason.
func TestAnUpstreamOfAnUnknownAuthority(t *testing.T) {
	t.Parallel()
	j := newJoint(t)
	company := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(company.Close)
	j.Provider.Upstreams = []*signin.Upstream{{Provider: &oidcclient.Provider{Name: "Initech Staff", Issuer: company.URL, ClientID: "hiregate", Client: http.DefaultClient, Now: j.Now}}}
	j.Provider = signin.New(*j.Provider)
	u := j.browser()
	sent := u.submit(u.authorize(base()), upstreamForm, url.Values{})
	require.Contains(t, back(t, sent, callback).Get("error_description"), "of an authority that the gateway does not know")
	logged := j.Logged.FilterMessage("sign-in at the upstream failed").All()
	require.Len(t, logged, 1)
	require.Contains(t, logged[0].ContextMap()["error"], "name the file of that authority with ca")
}
