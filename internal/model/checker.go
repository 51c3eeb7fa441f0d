package model

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a resource may hold at most. An export of it then stays far below what the JSON guard lets pass.
const (
	maxEntries = 100      // of an array; of arrays within an array's entries, together
	maxID      = 255      // characters of an id
	maxText    = 4 << 10  // bytes of a text
	maxWeb     = 64 << 10 // bytes of the HTML template

	maxDescription = 16 << 10 // bytes of a job's description

	maxFaults = 20 // that are told at once
)

// InvalidError says what is wrong with a resource.
type InvalidError struct {
	Faults []string // 1 to 20 sentences, each with a member's name and what to do, never with its value
}

func (e *InvalidError) Error() string { return strings.Join(e.Faults, "; ") }

// checker collects what is wrong with a resource. Members are named as in JSON: "customFields[0].name".
type checker struct {
	faults []string
}

func (k *checker) err() error {
	if len(k.faults) == 0 {
		return nil
	}
	return &InvalidError{Faults: k.faults}
}

func (k *checker) fault(member, sentence string) {
	if len(k.faults) < maxFaults {
		k.faults = append(k.faults, member+" "+sentence)
	}
}

// readable reports whether s is text that JSON and every database can hold.
func (k *checker) readable(member, s string) bool {
	switch {
	case !utf8.ValidString(s):
		k.fault(member, "is not valid UTF-8: encode it as UTF-8")
	case strings.ContainsRune(s, 0):
		k.fault(member, "has the character U+0000: leave it out")
	default:
		return true
	}
	return false
}

func (k *checker) textUpTo(member, s string, most int) {
	if k.readable(member, s) && len(s) > most {
		k.fault(member, fmt.Sprintf("is longer than %d KiB: shorten it", most>>10))
	}
}

func (k *checker) text(member, s string) { k.textUpTo(member, s, maxText) }

// required checks a text that must not be empty.
func (k *checker) required(member, s string) {
	if s == "" {
		k.fault(member, "is missing: set it")
		return
	}
	k.text(member, s)
}

func (k *checker) id(member, s string) {
	if s == "" {
		k.fault(member, "is missing: set it")
		return
	}
	k.idOrNone(member, s)
}

func (k *checker) idOrNone(member, s string) {
	switch {
	case !k.readable(member, s):
	case utf8.RuneCountInString(s) > maxID:
		k.fault(member, fmt.Sprintf("is longer than %d characters: shorten it", maxID))
	case strings.ContainsFunc(s, unicode.IsControl):
		k.fault(member, "has control characters: leave them out")
	}
}

// segment checks an id that stands in addresses, as one segment of their path. Blanks at its ends, which a spreadsheet
// leaves, nobody would see there.
func (k *checker) segment(member, s string) {
	k.id(member, s)
	if strings.TrimFunc(s, func(r rune) bool { return unicode.Is(unicode.Zs, r) }) != s {
		k.fault(member, "begins or ends with a blank: leave that out")
	}
	if HasDotSegment(s) {
		k.fault(member, "has a part that is only . or .., between slashes or as a whole: an address can't "+
			"hold it, choose another")
	}
}

// HasDotSegment reports whether a part of s, which slashes separate, is "." or ".." (RFC 3986 section 3.3).
func HasDotSegment(s string) bool {
	for part := range strings.SplitSeq(s, "/") {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}

func (k *checker) stepID(member, s string) {
	if !name.MatchString(s) {
		k.fault(member, "is no step's id: use 1 to 63 of the characters a-z, 0-9 and -")
	}
}

func (k *checker) date(member, s string) {
	if !IsDate(s) {
		k.fault(member, "is no day: write one that exists as YYYY-MM-DD")
	}
}

func (k *checker) language(member, s string) {
	if !isLanguage(s) {
		k.fault(member, "is no language tag: write one such as en-US (RFC 5646)")
	}
}

// together checks how many entries the arrays of that name within a list have altogether.
func (k *checker) together(member, arrays string, n int) {
	if n > maxEntries {
		k.fault(member, fmt.Sprintf("has more than %d entries of %s together: leave some out", maxEntries, arrays))
	}
}

// entries checks how many entries a list has, and each of them.
func entries[T any](k *checker, member string, list []T, check func(member string, entry T)) {
	if len(list) > maxEntries {
		k.fault(member, fmt.Sprintf("has more than %d entries: leave some out", maxEntries))
		return
	}
	for i, entry := range list {
		check(fmt.Sprintf("%s[%d]", member, i), entry)
	}
}
