package manageapi

import (
	"strings"
	"unicode/utf8"

	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

const (
	maxAnswer   = 64 << 10 // bytes that are shown of an answer in an attempt,
	shortAnswer = 4 << 10  // and elsewhere
)

// answers shows the answers of an integration to a caller.
type answers struct {
	credentials webhook.Credentials
	signatures  bool // are shown
	texts       bool // of answers to exports are shown
}

// answersOf returns the answers of an integration. One that is removed shows credentials of answers that were stored
// before they were blanked: nobody knows them any more.
func answersOf(r *rest.Request, tenant, integration string) answers {
	shown := answers{signatures: r.Caller.Signatures, texts: r.Caller.Answers}
	if i, ok := r.Gateway.Config.Integration(tenant, integration); ok {
		shown.credentials = webhook.CredentialsOf(i)
	}
	return shown
}

// text returns an answer as valid UTF-8 of a number of bytes at most.
func (a answers) text(answer []byte, most int) string {
	answer = a.credentials.BlankOlder(answer)
	if !a.signatures {
		answer = webhook.BlankSignatures(answer)
	}
	return textUpTo(answer, most)
}

// toExport returns the answer to an export as text does; empty for callers who may not see what it may repeat.
func (a answers) toExport(answer []byte, most int) string {
	if !a.texts {
		return ""
	}
	return a.text(answer, most)
}

func textUpTo(answer []byte, most int) string {
	s := strings.ToValidUTF8(string(answer), string(utf8.RuneError))
	if len(s) <= most {
		return s
	}
	end := most
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
