package identity

import (
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// SameAddress reports whether two e-mail addresses are certainly the same mailbox: their domains are equal as A-labels
// (RFC 5890), and their local parts are equal except for the case of ASCII letters. Fold matches more, such as a domain
// with ß and one with ss.
func SameAddress(a, b string) bool {
	i, j := strings.LastIndexByte(a, '@'), strings.LastIndexByte(b, '@')
	return i > 0 && j > 0 && lowerASCII(a[:i]) == lowerASCII(b[:j]) && comparedDomain(a[i+1:]) == comparedDomain(b[j+1:])
}

// InDomains reports whether an e-mail address is in one of some domains, however those are written. A subdomain is
// another domain.
func InDomains(email string, domains []string) bool {
	at := strings.LastIndexByte(email, '@')
	return at > 0 && slices.ContainsFunc(domains, func(d string) bool { return comparedDomain(d) == comparedDomain(email[at+1:]) })
}

// IsDomain reports whether an address can be in a domain, such as example.com.
func IsDomain(s string) bool {
	ascii, err := idna.Lookup.ToASCII(s)
	return err == nil && strings.Contains(ascii, ".") && possibleHost(ascii) && len(ascii) <= 253
}

// comparedDomain returns a domain in A-labels, if it can be looked up.
func comparedDomain(s string) string {
	if ascii, err := idna.Lookup.ToASCII(s); err == nil {
		return ascii
	}
	return lowerASCII(s)
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
