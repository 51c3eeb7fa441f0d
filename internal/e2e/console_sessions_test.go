package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// enters signs somebody in to the console of hiregate dev with a password that must be asked for.
func (s *surfer) enters(console, email, password string) {
	s.t.Helper()
	s.open(console + "/exports")
	require.Contains(s.t, s.text, `name="password"`, "nobody is asked to sign in")
	s.submit(url.Values{"email": {email}, "password": {password}, "action": {"sign-in"}})
	require.True(s.t, s.inside(console), s.text)
}

// inside reports whether the console shows its exports, not the way to sign-in.
func (s *surfer) inside(console string) bool {
	s.t.Helper()
	s.open(console + "/exports")
	return s.status == http.StatusOK && s.at.String() == console+"/exports"
}

// copied is another browser with the cookies that one has at an address.
func (s *surfer) copied(address string) *surfer {
	s.t.Helper()
	at, err := url.Parse(address)
	require.NoError(s.t, err)
	thief := newSurfer(s.t)
	thief.client.Jar.SetCookies(at, s.client.Jar.Cookies(at))
	thief.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return thief
}

var personID = regexp.MustCompile(`/console/people/([0-9a-f-]{36})`)

// A cookie that was copied is of no use once its owner signed out, at the console or at sign-in, was disabled, or got
// another password, second factor or address. A disabled administrator does not let themselves in again.
func TestConsoleSessionsEnd(t *testing.T) {
	t.Parallel()
	ports := newDevPorts(t)
	dev(t, t.TempDir(), ports).line(devReady)
	console, signIn := ports.url("/console"), ports.url("/signin")
	const ops, password = "ops@example.com", "correct horse"
	send := func(s *surfer, address string, form url.Values) {
		s.t.Helper()
		s.text = fmt.Sprintf(`<form method="post" action=%q>`, address)
		s.submit(form)
	}
	admin := func(args ...string) string {
		t.Helper()
		out, code := run(t, nil, hiregate(t), append(args, "--admin", loopback(ports.admin))...)
		require.Zero(t, code, out)
		return out
	}

	s := newSurfer(t)
	s.enters(console, ops, password)
	thief := s.copied(console)
	require.True(t, thief.inside(console))
	send(s, console+"/sign-out", url.Values{})
	require.Contains(t, s.text, "You are signed out of the console, and of sign-in in this browser.")
	require.False(t, thief.inside(console), "after sign-out")
	s.enters(console, ops, password)

	thief = s.copied(console)
	send(s, signIn+"/oauth/sign-out", url.Values{})
	require.Equal(t, http.StatusOK, s.status)
	require.False(t, thief.inside(console), "after sign-out at sign-in")
	s.enters(console, ops, password)

	// Their own account is not theirs to change, and once it is disabled, the session is over.
	send(s, console+"/people/search", url.Values{"email": {ops}})
	own := personID.FindStringSubmatch(s.at.Path)
	require.NotNil(t, own, s.at)
	send(s, console+"/people/"+own[1]+"/disable", url.Values{})
	require.Equal(t, http.StatusForbidden, s.status)
	require.Contains(t, s.text, "This is your own account.")
	thief = s.copied(console)
	admin("user", "disable", ops)
	require.False(t, thief.inside(console), "after they were disabled")
	send(thief, console+"/people/"+own[1]+"/enable", url.Values{})
	require.Equal(t, http.StatusSeeOther, thief.status)
	s.open(console)
	s.submit(url.Values{"email": {ops}, "password": {password}, "action": {"sign-in"}})
	require.Equal(t, http.StatusForbidden, s.status)
	require.Contains(t, s.text, `name="password"`)

	made := admin("user", "set", ops, "--new-password")
	fields := strings.Fields(made)
	another := ""
	for _, f := range fields {
		if len(f) == 43 {
			another = f
		}
	}
	require.NotEmpty(t, another, made)
	s = newSurfer(t)
	s.enters(console, ops, another)
	thief = s.copied(console)
	admin("user", "set", ops, "--new-password")
	require.False(t, thief.inside(console), "after another password")

	s = newSurfer(t)
	s.enters(console, "recruiter@example.com", password)
	thief = s.copied(console)
	admin("user", "totp", "recruiter@example.com")
	require.False(t, thief.inside(console), "after another second factor")
}
