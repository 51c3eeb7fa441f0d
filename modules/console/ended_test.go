package console

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/signin"
)

// right is the password of everybody who signs in at newOwnFixture.
const right = "correct horse"

// ownFixture is a console whose people sign in at the gateway's own sign-in: ops, an administrator, is the user olga.
type ownFixture struct {
	*fixture
	signIn *signin.Provider
}

func newOwnFixture(t *testing.T) *ownFixture {
	t.Helper()
	b := &ownFixture{fixture: newFixture(t)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.signIn.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	ring := &signin.Ring{Vault: b.Vault, Store: b.Runtime.Store, Now: b.Clock.Now, Log: b.Fixture.Log,
		Every: signin.RotateEvery}
	b.signIn = signin.New(signin.Provider{Gateway: b.Fixture.Gateway, Issuer: server.URL, Title: "Gate", Ring: ring,
		Vault: b.Vault, Failures: password.NewFailures(b.Clock.Now), Log: b.Fixture.Log,
		Address: func(*http.Request) string { return "192.0.2.1" }})
	b.Issuer.Issuer, b.Issuer.Client, b.Own = server.URL, server.Client(), true
	require.NoError(t, OwnClient(b.Issuer, b.Vault, here))
	hash, err := password.Hash(t.Context(), right)
	require.NoError(t, err)
	b.user("olga", func(u *identity.User) { u.Email, u.EmailVerified, u.Password = ops, true, hash })
	return b
}

// surfer is a browser, with the cookies of the console and of sign-in.
type surfer struct {
	b       *ownFixture
	cookies map[string]string
}

func (b *ownFixture) surfer() *surfer { return &surfer{b, map[string]string{}} }

// ask asks the console, or sign-in, for an address of it.
func (s *surfer) ask(method, address string, form url.Values) *httptest.ResponseRecorder {
	s.b.t.Helper()
	var handler http.Handler = s.b.Console
	path, ok := strings.CutPrefix(address, here)
	if !ok {
		path, ok = strings.CutPrefix(address, s.b.signIn.Issuer)
		require.True(s.b.t, ok, address)
		handler = s.b.signIn
	}
	r := httptest.NewRequestWithContext(s.b.t.Context(), method, "https://gate.example"+path,
		strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for name, value := range s.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if c.MaxAge < 0 {
			delete(s.cookies, c.Name)
		} else {
			s.cookies[c.Name] = c.Value
		}
	}
	return w
}

// open follows redirects, and returns the page where they end.
func (s *surfer) open(address string) *httptest.ResponseRecorder {
	s.b.t.Helper()
	w := s.ask(http.MethodGet, address, nil)
	for range 10 {
		to := w.Header().Get("Location")
		if to == "" {
			return w
		}
		if strings.HasPrefix(to, "/console") {
			to = "https://gate.example" + to
		}
		w = s.ask(http.MethodGet, to, nil)
	}
	require.FailNow(s.b.t, "the redirects have no end", w.Header().Get("Location"))
	return nil
}

var requestField = regexp.MustCompile(`<input type="hidden" name="request" value="([^"]*)">`)

// signIn opens the console and signs in with a password, which must be asked for.
func (s *surfer) signIn(email string) {
	s.b.t.Helper()
	page := s.open(here + "/")
	found := requestField.FindStringSubmatch(page.Body.String())
	require.NotNil(s.b.t, found, "nobody is asked to sign in: %s", page.Body)
	w := s.ask(http.MethodPost, s.b.signIn.Issuer+"/oauth/sign-in", url.Values{"email": {email}, "password": {right},
		"request": {html.UnescapeString(found[1])}, "action": {"sign-in"}})
	require.Equal(s.b.t, http.StatusOK, s.open(w.Header().Get("Location")).Code)
	require.True(s.b.t, s.in())
}

// in reports whether the console answers with a page, not with the way to sign-in.
func (s *surfer) in() bool {
	s.b.t.Helper()
	w := s.ask(http.MethodGet, here+"/exports", nil)
	if w.Code == http.StatusSeeOther {
		require.Contains(s.b.t, w.Header().Get("Location"), "/console/sign-in?")
		return false
	}
	require.Equal(s.b.t, http.StatusOK, w.Code)
	return true
}

// copied is another browser with the same cookies: of somebody who has copied them.
func (s *surfer) copied() *surfer {
	thief := s.b.surfer()
	for name, value := range s.cookies {
		thief.cookies[name] = value
	}
	return thief
}

// A session ends with what it rests on, and its cookie opens nothing from then on.
func TestEachEndingOfASession(t *testing.T) {
	t.Parallel()
	now := func(b *ownFixture) time.Time { return b.Clock.Now() }
	write := func(fn func(b *ownFixture, tx *store.Tx) (bool, error)) func(*ownFixture, *surfer) {
		return func(b *ownFixture, _ *surfer) {
			b.Write(b.t, func(tx *store.Tx) error {
				done, err := fn(b, tx)
				require.True(b.t, done)
				return err
			})
		}
	}
	for name, end := range map[string]func(*ownFixture, *surfer){
		"sign-out": func(b *ownFixture, s *surfer) {
			require.Equal(b.t, http.StatusOK, s.ask(http.MethodPost, here+"/sign-out", nil).Code)
		},
		"sign-out at sign-in": func(b *ownFixture, s *surfer) {
			page := s.ask(http.MethodGet, b.signIn.Issuer+"/oauth/logout", nil)
			require.Equal(b.t, http.StatusOK, page.Code)
			require.Equal(b.t, http.StatusOK, s.ask(http.MethodPost, b.signIn.Issuer+"/oauth/sign-out", url.Values{}).Code)
		},
		"disabled": write(func(b *ownFixture, tx *store.Tx) (bool, error) { return tx.DisableUser("olga", now(b)) }),
		"disabled and enabled": func(b *ownFixture, s *surfer) {
			write(func(b *ownFixture, tx *store.Tx) (bool, error) { return tx.DisableUser("olga", now(b)) })(b, s)
			write(func(_ *ownFixture, tx *store.Tx) (bool, error) { return tx.EnableUser("olga") })(b, s)
		},
		"another password":      write(func(b *ownFixture, tx *store.Tx) (bool, error) { return tx.ResetUser("olga", "x", now(b)) }),
		"another second factor": write(func(b *ownFixture, tx *store.Tx) (bool, error) { return tx.RequireTOTP("olga", true, now(b)) }),
		"accounts unlinked": write(func(b *ownFixture, tx *store.Tx) (bool, error) {
			return tx.DeleteUpstreamAccounts("olga", now(b))
		}),
		"another address": write(func(b *ownFixture, tx *store.Tx) (bool, error) {
			u := b.stored("olga")
			u.Email = "olga@elsewhere.example"
			return true, tx.UpdateUser(u)
		}),
		"an address that is not verified": write(func(b *ownFixture, tx *store.Tx) (bool, error) {
			u := b.stored("olga")
			u.EmailVerified = false
			return true, tx.UpdateUser(u)
		}),
		"another role": func(b *ownFixture, _ *surfer) { b.Grants[0].Role = "viewer" },
		"its hour":     func(b *ownFixture, _ *surfer) { b.Clock.Advance(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newOwnFixture(t)
			s := b.surfer()
			s.signIn(ops)
			thief := s.copied()
			require.True(t, thief.in())
			end(b, s)
			require.False(t, thief.in(), "the cookie outlives it")
			require.False(t, s.in())
		})
	}
}
