package signin_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/notify"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/store"
)

// application is a partner's, which reads logout tokens as hiregate does as a client of other providers.
type application struct {
	b      *fixture
	sender *notify.LogoutSender
	reads  map[string]*oidcclient.Provider // by client

	mu     sync.Mutex
	status int // that it answers instead; 0: it reads the token
	heard  []string
	asked  int
}

// RoundTrip has the provider answer in the place of its address.
func (a *application) RoundTrip(r *http.Request) (*http.Response, error) {
	path, _ := strings.CutPrefix(r.URL.String(), issuer)
	w := httptest.NewRecorder()
	a.b.Provider.ServeHTTP(w, httptest.NewRequestWithContext(r.Context(), r.Method, path, r.Body))
	return w.Result(), nil
}

// ServeHTTP takes a logout token, at the path of a client.
func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	if a.status != 0 {
		w.WriteHeader(a.status)
		return
	}
	client := strings.TrimPrefix(r.URL.Path, "/")
	l, err := a.reads[client].ReadLogout(r.Context(), r.PostFormValue("logout_token"))
	if err != nil {
		a.b.t.Errorf("%s: %v", client, err)
		return
	}
	a.heard = append(a.heard, client+" "+l.Subject+" "+l.SID)
}

func newApplication(b *fixture, clients ...string) *application {
	b.t.Helper()
	a := &application{b: b, reads: map[string]*oidcclient.Provider{}}
	server := httptest.NewServer(a)
	b.t.Cleanup(server.Close)
	for _, id := range clients {
		a.reads[id] = &oidcclient.Provider{Issuer: issuer, ClientID: id, Client: &http.Client{Transport: a}, Now: b.Now}
		c, err := b.Runtime.Store().Client(b.t.Context(), id)
		require.NoError(b.t, err)
		c.BackchannelLogoutURI = server.URL + "/" + id
		require.NoError(b.t, c.Validate())
		b.Write(b.t, func(tx *store.Tx) error { _, err := tx.UpdateClient(c); return err })
	}
	loopback, err := egress.ParseAllow([]string{"127.0.0.0/8"})
	require.NoError(b.t, err)
	c := &config.Config{Names: b.Config.Names, Egress: egress.New(egress.Policy{Allow: []egress.Allowance{loopback}})}
	b.t.Cleanup(c.Egress.Close)
	c.SignLogouts(issuer, b.SignLogout)
	force := new(config.InForce)
	force.Push(c)
	a.sender = &notify.LogoutSender{Store: b.Runtime.Store(), InForce: force, Now: b.Now, Log: zap.NewNop()}
	return a
}

// tell sends what is due, and returns what was heard since the last time.
func (a *application) tell() (heard []string) {
	a.b.t.Helper()
	require.NoError(a.b.t, a.sender.Send(a.b.t.Context()))
	a.sender.Wait()
	require.NoError(a.b.t, a.sender.Send(a.b.t.Context()))
	a.sender.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	heard, a.heard = a.heard, nil
	return heard
}

// answer has it answer with a status; 0: it reads tokens.
func (a *application) answer(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status, a.asked = status, 0
}

// in signs ada in for a client, and returns what it hears when that session ends.
func (b *fixture) in(u *browser, client string) (hears string) {
	b.t.Helper()
	p := base().with(params{"client_id": client})
	page := u.authorize(p)
	if page.Code == http.StatusOK {
		page = u.signIn(page, "ada@example.com", right)
	}
	claims := b.claims(requireTokens(b.t, b.exchange(client, back(b.t, page, callback).Get("code"))).IDToken)
	sid, _ := claims["sid"].(string)
	require.NotEmpty(b.t, sid)
	return client + " user-ada " + sid
}

// However a session ends, each application that got something in it hears that, and no other; one that is down hears it
// when it is back.
func TestApplicationsHearThatASessionHasEnded(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	a := newApplication(b, "app", "curved")
	out := func(u *browser) {
		t.Helper()
		requirePage(t, u.submit(u.ask(http.MethodGet, "/oauth/logout", nil), "sign-out", url.Values{}), http.StatusOK)
	}
	one, two := b.browser(), b.browser()
	app, curved, second := b.in(one, "app"), b.in(one, "curved"), b.in(two, "app")
	require.Equal(t, strings.TrimPrefix(app, "app"), strings.TrimPrefix(curved, "curved"), "it is one session")
	require.NotEqual(t, app, second)
	b.in(one, "other") // wants to hear nothing
	require.Empty(t, a.tell())
	out(one)
	require.ElementsMatch(t, []string{app, curved}, a.tell())
	require.Empty(t, a.tell(), "it is told once")

	a.answer(http.StatusBadGateway)
	out(two)
	third, fourth := b.in(one, "app"), b.in(two, "app")
	b.Write(t, func(tx *store.Tx) error { _, err := tx.EndSessions("user-ada", b.Now()); return err })
	require.Empty(t, a.tell())
	require.Equal(t, 1, a.asked, "one request finds that it is down")
	a.answer(0)
	require.Empty(t, a.tell(), "it is told again after a while")
	b.Clock.Advance(time.Minute)
	require.ElementsMatch(t, []string{second, third, fourth}, a.tell())

	fifth := b.in(one, "app")
	require.NotEmpty(t, b.in(one, "curved"))
	b.Write(t, func(tx *store.Tx) error { _, err := tx.DisableClient("curved", b.Now()); return err })
	b.Write(t, func(tx *store.Tx) error { _, err := tx.DisableUser("user-ada", b.Now()); return err })
	require.Equal(t, []string{fifth}, a.tell(), "a disabled application hears nothing")
}

// An application that does not accept one token hears of other sessions; what it does not accept for long needs a person,
// and is given up after a day.
func TestAnApplicationThatRefusesALogout(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	a := newApplication(b, "app")
	b.in(b.browser(), "app")
	b.Write(t, func(tx *store.Tx) error { _, err := tx.EndSessions("user-ada", b.Now()); return err })
	for range 4 {
		a.answer(http.StatusBadRequest)
		require.Empty(t, a.tell())
		require.Equal(t, 1, a.asked)
		b.Clock.Advance(10 * time.Minute)
	}
	needs, err := b.Runtime.Needs(t.Context(), b.Now())
	require.NoError(t, err)
	raw, err := json.Marshal(needs)
	require.NoError(t, err)
	require.Contains(t, string(raw), `"kind":"logouts_untold"`)
	require.Contains(t, string(raw), "hiregate oauth-client show app")
	require.NotContains(t, string(raw), "user-ada")
	second := b.in(b.browser(), "app")
	b.Write(t, func(tx *store.Tx) error { _, err := tx.EndSessions("user-ada", b.Now()); return err })
	a.answer(0)
	require.Equal(t, second, a.tell()[0], "what was tried least comes first")
}

// Who signs in again in the same browser is in the same session for applications; another person is not.
func TestAFurtherSignInInTheSameBrowser(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	a := newApplication(b, "app")
	u := b.browser()
	first := b.in(u, "app")
	again := base().with(params{"prompt": "login"})
	code := back(t, u.signIn(u.authorize(again), "ada@example.com", right), callback).Get("code")
	require.Equal(t, first, "app user-ada "+b.claims(requireTokens(t, b.exchange("app", code)).IDToken)["sid"].(string))
	require.Empty(t, a.tell())
	back(t, u.signIn(u.authorize(again), "bob@example.com", right), callback)
	require.Equal(t, []string{first}, a.tell())
}

// What ends upstream ends here, and applications hear it.
func TestApplicationsHearOfTheUpstreamsLogout(t *testing.T) {
	t.Parallel()
	j := newTeller(t)
	a := newApplication(j.fixture, "app")
	j.told = map[string]any{"sid": "s-1"}
	u := j.browser()
	code := back(t, j.back(u, j.leave(u, base()), params{"code": "c"}), callback).Get("code")
	sid := j.claims(requireTokens(t, j.exchange("app", code)).IDToken)["sid"].(string)
	require.NotEqual(t, "s-1", sid)
	w := j.post("/oauth/upstream/logout", "", url.Values{"logout_token": {j.sign(map[string]any{"iss": j.server.URL,
		"aud": "hiregate", "iat": j.Now().Unix(), "exp": j.Now().Add(time.Minute).Unix(), "jti": "t-1", "sid": "s-1",
		"events": map[string]any{oidcclient.LogoutEvent: map[string]any{}}})}})
	require.Equal(t, http.StatusOK, w.Code, "%s", w.Body)
	require.Equal(t, []string{"app user-ada " + sid}, a.tell())
}

func TestSignLogoutOfAnApplicationThatWantsNone(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, client := range []string{"app", "unknown"} {
		uri, token, err := b.SignLogout(t.Context(), client, identity.EndedSession{Subject: "user-ada", SID: "s"})
		require.NoError(t, err)
		require.Empty(t, uri+token)
	}
}
