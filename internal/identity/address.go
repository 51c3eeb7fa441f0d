package identity

import (
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
