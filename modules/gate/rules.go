package gate

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/publicsuffix"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/session"
)

// Allow says who may use an application. It holds at each request, not at sign-in alone.
type Allow struct {
	// Anyone lets everyone in whom the provider signs in. This, Emails or Groups is required.
	Anyone bool `json:"anyone,omitempty"`
	// Emails lists addresses that may come in, and *@example.com for all of a domain.
	Emails []string `json:"emails,omitempty"`
	// Groups lists groups at the provider (claim groups) that may come in.
	Groups []string `json:"groups,omitempty"`
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

// Domain is one whose hosts share sessions; empty: each host has its own.
type Domain string

// hostName matches hosts as browsers write them. Nothing in them has another meaning in an address.
var hostName = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)

// Has reports whether a host is the domain, or below it.
func (d Domain) Has(host string) bool {
	return d != "" && hostName.MatchString(host) && (host == string(d) || strings.HasSuffix(host, "."+string(d)))
}

// Validate checks the domain, and the host of it that people sign in at, if there is one.
func (d Domain) Validate(signIn string) error {
	suffix, _ := publicsuffix.PublicSuffix(string(d))
	at, err := url.Parse("https://" + signIn)
	switch {
	case !hostName.MatchString(string(d)) || !identity.IsDomain(string(d)) || net.ParseIP(string(d)) != nil:
		return fmt.Errorf("cookie_domain %q: write a domain, in lower case and A-labels, such as acme.example; no IP address has one", d)
	case suffix == string(d):
		return fmt.Errorf("cookie_domain %s: browsers store no cookies for it, since what is below it belongs to many: write yours, "+
			"such as acme.%s", d, d)
	case signIn != "" && (err != nil || at.Host != signIn || !d.Has(at.Hostname())):
		return fmt.Errorf("cookie_domain %s: people can't sign in at %q, which is not below it: write a host such as auth.%s, or leave it out",
			d, signIn, d)
	}
	return nil
}
