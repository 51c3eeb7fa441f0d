package schemas

import (
	"net/mail"
	"strings"

	"github.com/xeipuuv/gojsonschema"

	"github.com/hiregate/hiregate/internal/model"
)

// What JSON Schema has no words for.
const (
	emailFormat    = "answer-email"
	phoneFormat    = "answer-phone"
	storableFormat = "answer-storable"
	personalFormat = "answer-personal"
	seenFormat     = "answer-seen"
)

const (
	leastDigits = 7 // of a phone number

	// Of what becomes the candidate's own, as model.Candidate.Validate has it.
	maxPersonal    = 4 << 10 // bytes of an answer
	maxCitizenShip = 100     // options

	maxEmail = 254 // characters of an address that mail can be sent to (RFC 5321 section 4.5.3.1.3)
)

func init() {
	gojsonschema.FormatCheckers.Add(emailFormat, format(isEmail))
	gojsonschema.FormatCheckers.Add(phoneFormat, format(isPhone))
	gojsonschema.FormatCheckers.Add(storableFormat, format(isStorable))
	gojsonschema.FormatCheckers.Add(personalFormat, format(func(s string) bool { return len(s) <= maxPersonal }))
	gojsonschema.FormatCheckers.Add(seenFormat, format(isSeen))
}

// isEmail wants the address alone (RFC 5322, addr-spec), without a name or angle brackets.
func isEmail(s string) bool {
	a, err := mail.ParseAddress(s)
	return err == nil && a.Address == s
}

func isPhone(s string) bool {
	found := 0
	for n := range len(s) {
		if '0' <= s[n] && s[n] <= '9' {
			found++
		}
	}
	return found >= leastDigits
}

// isSeen refuses characters that nobody sees, and that make a text look like another one. isStorable speaks of U+0000.
func isSeen(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c != 0 && model.IsUnseen(c) })
}

// isStorable refuses the one character that PostgreSQL can't keep.
func isStorable(s string) bool { return strings.IndexByte(s, 0) < 0 }
