package identity

import (
	"strings"

	"golang.org/x/net/idna"
)

// SameAddress tells whether two e-mail addresses are surely one mailbox's: their domains are one as A-labels (RFC 5890), and their
// local parts are one but for the case of ASCII letters. Fold takes more for one, such as the ß of a domain and the ss of another.
func SameAddress(a, b string) bool {
	i, j := strings.LastIndexByte(a, '@'), strings.LastIndexByte(b, '@')
	return i > 0 && j > 0 && lowerASCII(a[:i]) == lowerASCII(b[:j]) && comparedDomain(a[i+1:]) == comparedDomain(b[j+1:])
}

// comparedDomain is a domain in A-labels, where it is one that can be looked up.
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
