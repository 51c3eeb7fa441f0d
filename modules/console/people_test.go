package console

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
)

// user puts somebody who signs in into the store, client an application.
func (b *fixture) user(id string, change ...func(*identity.User)) {
	b.t.Helper()
	u := &identity.User{ID: id, Email: id + "@example.com", Password: "x", CreatedAt: b.Clock.Now()}
	for _, fn := range change {
		fn(u)
	}
	b.Write(b.t, func(tx *store.Tx) error { return tx.InsertUser(u) })
}

func (b *fixture) client(id string, change ...func(*identity.Client)) {
	b.t.Helper()
	c := &identity.Client{ID: id, Name: id, RedirectURIs: []string{"https://app.example.com/callback"},
		LogoutURIs: []string{}, Algorithm: identity.RS256, CreatedAt: b.Clock.Now()}
	for _, fn := range change {
		fn(c)
	}
	b.Write(b.t, func(tx *store.Tx) error {
		if err := tx.InsertClient(c); err != nil {
			return err
		}
		return tx.InsertClientSecret(c.ID, identity.HashSecret("secret-of-"+id), b.Clock.Now())
	})
}

// refusedSignIn puts a refused authorization request into the store.
func (b *fixture) refusedSignIn(r identity.Refusal) {
	b.t.Helper()
	r.Count, r.FirstAt, r.LastAt = 3, b.Clock.Now(), b.Clock.Now()
	b.Write(b.t, func(tx *store.Tx) error { return tx.CountRefusal(r) })
}

// post sends a form that must be answered with a status, and returns the answer's content.
func (b *fixture) post(who, path string, form url.Values, status int) string {
	b.t.Helper()
	w := b.send(who, http.MethodPost, path, form)
	require.Equal(b.t, status, w.Code, w.Body)
	require.Equal(b.t, "no-store", w.Header().Get("Cache-Control"))
	if status == http.StatusSeeOther {
		return w.Header().Get("Location")
	}
	_, content, _ := strings.Cut(w.Body.String(), "</head>")
	return content
}

var shownSecret = regexp.MustCompile(`<code class="secret">([A-Za-z0-9_-]{43})</code>`)

// stored is somebody as the store has them.
func (b *fixture) stored(id string) *identity.User {
	b.t.Helper()
	u, err := b.Runtime.Store().User(b.t.Context(), id)
	require.NoError(b.t, err)
	return u
}

// An administrator adds somebody, changes them, keeps them out and lets them in again. Passwords are shown once, and
// no address holds anything of a person but their id.
func TestPeople(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	form := url.Values{"email": {"ada@example.com"}, "name": {"Ada <b>Lovelace"}, "verified": {"yes"}, "once": {"once-1"}}
	text := b.post(ops, "/people", form, http.StatusOK)
	first := shownSecret.FindStringSubmatch(text)
	require.NotNil(t, first, text)
	id := regexp.MustCompile(`action="/console/people/([0-9a-f-]{36})"`).FindStringSubmatch(text)[1]
	require.Equal(t, "Ada <b>Lovelace", b.stored(id).Name)
	require.True(t, b.stored(id).EmailVerified)
	require.NotContains(t, b.see(ops, "/people/"+id, http.StatusOK), first[1], "it is shown once")
	again := b.post(ops, "/people", form, http.StatusConflict)
	require.NotRegexp(t, shownSecret, again, "the form was sent twice")
	require.Contains(t, again, "was done before")
	all, _, err := b.Runtime.Store().ListUsers(t.Context(), store.Page{Limit: 10})
	require.NoError(t, err)
	require.Len(t, all, 1)

	// A form that is refused comes back as it was filled in, with what is wrong.
	text = b.post(ops, "/people", url.Values{"email": {"ada"}, "family": {"King"}}, http.StatusUnprocessableEntity)
	require.Contains(t, text, "email is not an e-mail address")
	require.Contains(t, text, `value="King"`)
	text = b.post(ops, "/people/"+id, url.Values{"email": {"ada@"}, "family": {"King"}}, http.StatusUnprocessableEntity)
	require.Contains(t, text, "email is not an e-mail address")
	require.Contains(t, text, `value="King"`)
	require.Empty(t, b.stored(id).FamilyName)

	require.Equal(t, "/console/people/"+id, b.post(ops, "/people/search", url.Values{"email": {"ADA@example.com"}},
		http.StatusSeeOther))
	require.Contains(t, b.post(ops, "/people/search", url.Values{"email": {"eve@example.com"}}, http.StatusNotFound),
		"Nobody has this e-mail address.")
	require.Equal(t, "/console/people/"+id+"?done=saved", b.post(ops, "/people/"+id,
		url.Values{"email": {"ada@example.org"}, "given": {"Ada"}}, http.StatusSeeOther))
	require.Equal(t, []string{"ada@example.org", "Ada", ""}, []string{b.stored(id).Email, b.stored(id).GivenName,
		b.stored(id).Name})

	require.Contains(t, b.see(ops, "/people/"+id, http.StatusOK), "Make a recovery link")
	b.post(ops, "/people/"+id+"/recovery", nil, http.StatusConflict) // there is no sign-in
	var resets []bool
	b.Fixture.Gateway.RecoveryLinks = append(b.Fixture.Gateway.RecoveryLinks,
		func(_ *identity.User, resetsTOTP bool, _ time.Time) (string, error) {
			resets = append(resets, resetsTOTP)
			return "https://gate.example.com/signin/recovery?ticket=t", nil
		})
	for _, form := range []url.Values{nil, {"totp": {"yes"}}} {
		require.Contains(t, b.post(ops, "/people/"+id+"/recovery", form, http.StatusOK),
			`<code class="secret">https://gate.example.com/signin/recovery?ticket=t</code>`)
	}
	require.Equal(t, []bool{false, true}, resets)

	before := b.stored(id).Password
	text = b.post(ops, "/people/"+id+"/reset", url.Values{"once": {"once-2"}}, http.StatusOK)
	require.Regexp(t, shownSecret, text)
	require.NotEqual(t, first[1], shownSecret.FindStringSubmatch(text)[1])
	require.NotEqual(t, before, b.stored(id).Password)
	require.False(t, b.stored(id).MustChange)
	require.Contains(t, b.post(ops, "/people/"+id+"/reset", url.Values{"change": {"yes"}}, http.StatusOK),
		"they choose another one at the next sign-in")
	require.True(t, b.stored(id).MustChange)
	b.Write(t, func(tx *store.Tx) error {
		return tx.InsertUpstreamAccount("https://idp.example", "7", id, b.Clock.Now())
	})
	require.Contains(t, b.see(ops, "/people/"+id, http.StatusOK), "https://idp.example")
	_, session := identity.NewSecret()
	b.Write(t, func(tx *store.Tx) error {
		return tx.InsertSession(identity.Hash{}, &identity.Session{Hash: session, Issuer: "https://gate.example.com/signin", UserID: id,
			SignedInAt: b.Clock.Now(), Till: b.Clock.Now().Add(time.Hour), Browser: "Safari, iPhone", Address: "203.0.113.88"}, b.stored(id))
	})
	text = b.see(ops, "/people/"+id, http.StatusOK)
	for _, shown := range []string{"Where they are signed in", "Safari, iPhone", "203.0.113.88", "Last sign-in"} {
		require.Contains(t, text, shown)
	}
	require.NotContains(t, text, "none is known")
	require.Equal(t, "/console/people/"+id+"?done=person_end-sessions", b.post(ops, "/people/"+id+"/end-sessions", nil, http.StatusSeeOther))
	_, err = b.Runtime.Store().Session(t.Context(), "https://gate.example.com/signin", session, b.Clock.Now())
	require.ErrorIs(t, err, store.ErrNotFound)
	for action, done := range map[string]func() bool{
		"totp":     func() bool { return b.stored(id).TOTPRequired },
		"end-totp": func() bool { return !b.stored(id).TOTPRequired },
		"disable":  func() bool { return !b.stored(id).DisabledAt.IsZero() },
		"enable":   func() bool { return b.stored(id).DisabledAt.IsZero() },
		"unlink": func() bool {
			accounts, err := b.Runtime.Store().ListUpstreamAccounts(t.Context(), id)
			return err == nil && len(accounts) == 0
		},
	} {
		to := b.post(ops, "/people/"+id+"/"+action, nil, http.StatusSeeOther)
		require.Equal(t, "/console/people/"+id+"?done=person_"+action, to)
		require.True(t, done(), action)
		require.Contains(t, b.see(ops, strings.TrimPrefix(to, "/console"), http.StatusOK), `role="status"`)
	}
	b.post(ops, "/people/"+id+"/frobnicate", nil, http.StatusNotFound)
	b.post(ops, "/people/nobody/disable", nil, http.StatusNotFound)
	require.Contains(t, b.see(ops, "/audit", http.StatusOK), id)
}

// An administrator adds an application, rotates its secret, changes it and removes it.
func TestApplications(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	form := url.Values{"id": {"payroll"}, "name": {"Payroll"}, "pkce": {"yes"}, "algorithm": {"ES256"}, "once": {"once-1"},
		"redirects": {"https://pay.example.com/cb\r\n\r\n  https://pay.example.com/cb2 "}}
	form.Set("backchannel", "https://pay.example.com/out")
	first := shownSecret.FindStringSubmatch(b.post(ops, "/applications", form, http.StatusOK))
	require.NotNil(t, first)
	stored := func() *identity.Client {
		c, err := b.Runtime.Store().Client(t.Context(), "payroll")
		require.NoError(t, err)
		return c
	}
	require.Equal(t, &identity.Client{ID: "payroll", Name: "Payroll", RequirePKCE: true, Algorithm: identity.ES256,
		RedirectURIs: []string{"https://pay.example.com/cb", "https://pay.example.com/cb2"}, LogoutURIs: []string{},
		BackchannelLogoutURI: "https://pay.example.com/out", CreatedAt: b.Clock.Now()}, stored())
	require.NotContains(t, b.see(ops, "/applications/payroll", http.StatusOK), first[1])
	form.Set("redirects", "http://pay.example.com/cb")
	form.Set("once", "once-2")
	text := b.post(ops, "/applications", form, http.StatusUnprocessableEntity)
	require.Contains(t, text, "is not encrypted")
	require.Contains(t, text, ">http://pay.example.com/cb</textarea>")

	version := func() string {
		return strings.ReplaceAll(regexp.MustCompile(`name="version" value="([^"]+)"`).FindStringSubmatch(
			b.see(ops, "/applications/payroll", http.StatusOK))[1], "&#34;", `"`)
	}
	form.Set("redirects", "https://pay.example.com/cb")
	form.Set("version", version())
	form.Set("consent", "yes")
	require.Equal(t, "/console/applications/payroll?done=saved", b.post(ops, "/applications/payroll", form,
		http.StatusSeeOther))
	require.True(t, stored().Consent)
	form.Set("name", "Of yesterday")
	require.Contains(t, b.post(ops, "/applications/payroll", form, http.StatusPreconditionFailed),
		"changed since you read it")
	require.Equal(t, "Payroll", stored().Name)
	stale := form.Get("version")
	form.Set("redirects", "http://pay.example.com/cb")
	require.Contains(t, b.post(ops, "/applications/payroll", form, http.StatusUnprocessableEntity),
		`name="version" value="`+html.EscapeString(stale)+`"`, "once it is corrected, it is still stale")

	secrets := func() int {
		all, err := b.Runtime.Store().ListClientSecrets(t.Context(), "payroll")
		require.NoError(t, err)
		return len(all)
	}
	require.Regexp(t, shownSecret, b.post(ops, "/applications/payroll/reset", url.Values{"once": {"once-3"}},
		http.StatusOK))
	require.Equal(t, 2, secrets())
	b.post(ops, "/applications/payroll/end-secrets", nil, http.StatusSeeOther)
	require.Equal(t, 1, secrets())
	b.post(ops, "/applications/payroll/remove", nil, http.StatusBadRequest)
	require.True(t, stored().DisabledAt.IsZero(), "nobody ticked the box")
	b.post(ops, "/applications/payroll/remove", url.Values{"sure": {"yes"}}, http.StatusSeeOther)
	require.False(t, stored().DisabledAt.IsZero())
	require.NotContains(t, b.see(ops, "/applications/payroll", http.StatusOK), "payroll/remove")
	b.post(ops, "/applications/payroll/frobnicate", nil, http.StatusNotFound)

	b.refusedSignIn(identity.Refusal{Client: "payroll", Known: true, Reason: "redirect_uri_differs",
		RedirectURI: "https://pay.example.com/other"})
	b.refusedSignIn(identity.Refusal{Client: "<script>", Reason: "unknown_client"})
	for path, others := range map[string]bool{"/applications": true, "/applications/payroll": false} {
		text := b.see(ops, path, http.StatusOK)
		require.Contains(t, text, "the redirect URI is not one of the application&#39;s")
		require.Equal(t, others, strings.Contains(text, "&lt;script&gt;"), path)
	}
}

// Sign-in belongs to no tenant: only who administers all of them sees it.
func TestSignInIsForAdministratorsOfAll(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.user("ada")
	b.client("payroll")
	b.Grants = append([]Grant{{Role: "administrator", Tenant: "acme", Emails: []string{"one@example.com"}}}, b.Grants...)
	for _, path := range []string{"/people", "/people/ada", "/applications", "/applications/payroll"} {
		b.see(ops, path, http.StatusOK)
		for who, status := range map[string]int{viewer: http.StatusForbidden, recruiter: http.StatusForbidden,
			"one@example.com": http.StatusNotFound} {
			text := b.see(who, path, status)
			require.NotContains(t, text, "ada@example.com")
			require.NotContains(t, text, "/console/people")
			require.NotContains(t, text, "/console/applications")
		}
	}
	for _, path := range []string{"/people", "/people/search", "/people/ada", "/people/ada/reset", "/people/ada/disable",
		"/applications", "/applications/payroll", "/applications/payroll/reset", "/applications/payroll/remove"} {
		form := url.Values{"sure": {"yes"}, "email": {"ada@example.com"}, "id": {"other"}, "name": {"Other"},
			"redirects": {"https://other.example.com/"}}
		b.post(viewer, path, form, http.StatusForbidden)
		b.post(recruiter, path, form, http.StatusForbidden)
		b.post("one@example.com", path, form, http.StatusNotFound)
	}
	require.Equal(t, "x", b.stored("ada").Password)
	require.True(t, b.stored("ada").DisabledAt.IsZero())
}

// The lists are paged, and have each of their rows on one page.
func TestPeopleAndApplicationsArePaged(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for n := range 500 {
		b.user(fmt.Sprintf("user-%03d", n))
		b.client(fmt.Sprintf("client-%03d", n))
	}
	require.Len(t, b.paged(ops, "/people", regexp.MustCompile(`/console/people/(user-\d+)"`)), 500)
	require.Len(t, b.paged(ops, "/applications", regexp.MustCompile(`/console/applications/(client-\d+)"`)), 500)
}

// paged walks the pages of a list, and returns what a pattern finds. It fails if something is on two of them.
func (b *fixture) paged(who, path string, pattern *regexp.Regexp) map[string]bool {
	b.t.Helper()
	seen := map[string]bool{}
	for pages := 0; path != ""; pages++ {
		require.Less(b.t, pages, 20)
		text := b.see(who, path, http.StatusOK)
		for _, found := range pattern.FindAllStringSubmatch(text, -1) {
			require.False(b.t, seen[found[1]], found[1])
			seen[found[1]] = true
		}
		path = ""
		if next := regexp.MustCompile(`rel="next" href="/console([^"]+)"`).FindStringSubmatch(text); next != nil {
			path = strings.ReplaceAll(next[1], "&amp;", "&")
		}
	}
	return seen
}

// A form that can't be saved now is shown again with what was filled in, as one that is refused is.
func TestWhatAFormShowsAgain(t *testing.T) {
	t.Parallel()
	for status, again := range map[int]bool{http.StatusConflict: true, http.StatusServiceUnavailable: true,
		http.StatusInternalServerError: false} {
		refused, err := refusal(&failure{status: status, Text: "Refused", Detail: "why"})
		require.Equal(t, again, refused != nil, status)
		require.Equal(t, again, err == nil, status)
	}
}
