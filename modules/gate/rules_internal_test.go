package gate

import (
	"maps"
	"net/url"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/session"
)

// What is public is decided by the path alone, as all servers read it. Each kind of the advisories about such lists is here.
func TestPublicPaths(t *testing.T) {
	t.Parallel()
	public := Public{"/healthz", "/assets/*"}
	for sent, want := range map[string]bool{
		"/healthz": true, "/assets/": true, "/assets/a/b.css": true, "/healthz?x=1": true, "/assets/a%20b": true,
		"/assets/%C3%A9.css": true,
		"/":                  false, "/healthz/": false, "/healthz2": false, "/assets": false, "/Healthz": false, "/x/healthz": false,
		"/admin?/healthz": false, "/admin?x=/assets/": false, // GHSA-7rh7-c77v-6434: a query
		"/admin#/assets/": false, "/assets/%23/../../admin": false, "/assets/%23x": false, // GHSA-pxq7-h93f-9jrg: a fragment
		"/assets/../admin": false, "/assets/%2e%2e/admin": false, "/assets/./a": false, "/assets/..": false,
		"/assets//admin": false, "//assets/a": false, "/assets/a//": false,
		"/assets%2fa": false, "/assets/..%2fadmin": false, "/assets/a%2Fb": false,
		"/assets/%252e%252e/admin": false, "/assets/%25": false, // decoded twice
		`/assets/..\admin`: false, "/assets/%5c..%5cadmin": false, "/assets/..;/admin": false, "/assets/a;x=1": false,
		"/assets/%00": false, "/assets/%0a": false, "/assets/a%3fb": false, "/assets/%ff": false,
	} {
		u, err := url.ParseRequestURI(sent)
		require.NoError(t, err, sent)
		require.Equal(t, want, public.has(u), sent)
	}
	for one, good := range map[string]bool{"/healthz": true, "/assets/*": true, "/a/b": true, "/": true, "/*": false, "x": false,
		"/a*": false, "/a/*/b": false, "/a//b": false, "/../a": false, "": false, "/a?b": false, "/%61": false} {
		require.Equal(t, good, ValidatePublic(one) == nil, one)
	}
}

func TestAllow(t *testing.T) {
	t.Parallel()
	a := Allow{Emails: []string{"ada@acme.example", "*@globex.example"}, Groups: []string{"staff"}}
	for email, want := range map[string]bool{"ada@acme.example": true, "ada@ACME.example": true, "x@globex.example": true,
		"x@sub.globex.example": false, "x@evil.example@globex.example": false, "": false,
		"bob@acme.example": false, "x@globex.example.evil.example": false} {
		require.Equal(t, want, a.permits(&session.Session{Person: session.Person{Email: email}}), email)
	}
	require.True(t, a.permits(&session.Session{Person: session.Person{Groups: []string{"x", "staff"}}}))
	require.False(t, a.permits(&session.Session{Person: session.Person{Groups: []string{"Staff", "staff,x"}}}))
	require.True(t, (&Allow{Anyone: true}).permits(&session.Session{}))
	for one, good := range map[string]bool{"ada@acme.example": true, "*@acme.example": true, "acme.example": false, "a*@acme.example": false,
		"a@b@acme.example": false, "*@": false} {
		require.Equal(t, good, ValidateEmail(one) == nil, one)
	}
}

// A header's value has one reading.
func TestHeaderValues(t *testing.T) {
	t.Parallel()
	for plain, want := range map[string]string{"a@b.example": "a@b.example", "a b": "a%20b", "%41": "%2541", "é": "%C3%A9",
		"a,b": "a%2Cb", "x\r\ny": "x%0D%0Ay", "acme/staff": "acme/staff"} {
		require.Equal(t, want, inHeader(plain, ","))
	}
}

// Each page has its texts, in each language.
func TestTexts(t *testing.T) {
	t.Parallel()
	keys := slices.Sorted(maps.Keys(translations[0].Words))
	for _, t2 := range translations {
		require.Equal(t, keys, slices.Sorted(maps.Keys(t2.Words)), t2.Lang)
	}
	for _, key := range []string{"Denied", "Failed", "Declined", "Overage", "Authority", "Lost", "Crowd", "Away", "Out"} {
		require.Contains(t, keys, key)
		require.Contains(t, keys, key+"Title")
	}
}
