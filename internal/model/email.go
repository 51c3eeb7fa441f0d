package model

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// ComparedEmail returns the form in which e-mail addresses are compared, but for the case of letters: without what nobody
// sees (blanks around it, and signs such as U+200B, which come along when it is copied), and with each letter and its
// accents as one character, which not every keyboard writes.
func ComparedEmail(address string) string {
	return norm.NFC.String(strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			return -1
		}
		return r
	}, address)))
}
