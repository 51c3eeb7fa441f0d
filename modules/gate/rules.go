package gate

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/session"
)

// Allow says who may use an application. It holds at each request, not at sign-in alone.
type Allow struct {
	Anyone bool     // everyone whom the provider signs in
	Emails []string // addresses, and *@example.com for all of a domain
	Groups []string
}

// ValidateEmail checks a value of Emails.
func ValidateEmail(s string) error {
	name, domain, ok := strings.Cut(s, "@")
	if !ok || name == "" || !identity.IsDomain(domain) || strings.Contains(name, "*") && name != "*" {
		return fmt.Errorf("%q is no address: write one, such as ada@example.com, or *@example.com for all of a domain", s)
	}
	return nil
}

func (a *Allow) permits(s *session.Session) bool {
	known := func(one string) bool {
		if domain, ok := strings.CutPrefix(one, "*@"); ok {
			return identity.InDomains(s.Email, []string{domain})
		}
		return identity.SameAddress(one, s.Email)
	}
	return a.Anyone || strings.Count(s.Email, "@") == 1 && slices.ContainsFunc(a.Emails, known) ||
		slices.ContainsFunc(a.Groups, func(group string) bool { return slices.Contains(s.Groups, group) })
}

// Public lists paths that everyone may use: a whole path, or the begin of one with /* after it.
type Public []string

// ValidatePublic checks one of them.
func ValidatePublic(s string) error {
	whole, below := strings.CutSuffix(s, "/*")
	switch {
	case s == "/*":
		return errors.New("public /* would let everyone use everything: leave the gate out instead")
	case !strings.HasPrefix(s, "/") || strings.Contains(whole, "*") || !Plain(&url.URL{Path: whole}) && !(below && whole == ""):
		return fmt.Errorf("public %q: write a path, such as /healthz, or the begin of one, such as /assets/*, without "+
			"%%, #, ?, ;, .. and //", s)
	}
	return nil
}

// has reports whether a path is public. Only a path that each server reads alike can be: what is decoded twice, has another
// separator or leads elsewhere by dots is none.
func (p Public) has(u *url.URL) bool {
	return Plain(u) && slices.ContainsFunc(p, func(one string) bool {
		if begin, ok := strings.CutSuffix(one, "*"); ok {
			return strings.HasPrefix(u.Path, begin)
		}
		return u.Path == one
	})
}

// Plain reports whether a path, which was decoded once, has one meaning.
func Plain(u *url.URL) bool {
	odd := func(c rune) bool {
		return strings.ContainsRune(`\%#?;`, c) || unicode.IsControl(c) || c == unicode.ReplacementChar
	}
	return strings.HasPrefix(u.Path, "/") && !strings.ContainsFunc(u.Path, odd) &&
		path.Clean(u.Path) == "/"+strings.Trim(u.Path, "/") &&
		(u.Path == "/" || !strings.HasSuffix(u.Path, "//")) && !strings.HasPrefix(u.Path, "//") &&
		strings.Count(u.EscapedPath(), "/") == strings.Count(u.Path, "/")
}
