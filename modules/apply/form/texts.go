package form

import (
	"embed"
	"net/http"
	"strconv"
	"strings"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/translation"
	"github.com/hiregate/hiregate/schemas"
)

// texts holds the words of the pages in one language. {job}, {site}, {name}, {count} and {size} stand for what they say.
type texts struct {
	Lang, Thousands, Decimal                string
	FormTitle, Lead, Optional, Choose       string
	OneWrong, SomeWrong                     string
	ResumeHint, FileHint, Kept, ChooseSome  string
	UpTo, TrapLabel, Send, Note, NoteHow    string
	Why, LegalText, Decline                 string
	ThanksTitle, SentTitle, Thanks          string
	Receipt, ReceiptHow, Return             string
	ReceivedTitle, Received                 string
	PassedOnTitle, PassedOn                 string
	LookedIntoTitle, LookedInto             string
	NoReceiptTitle, NoReceipt               string
	ClosedTitle, Closed, OtherJobs          string
	AwayTitle, Away, AwaySent               string
	BusyTitle, Busy                         string
	RefusedTitle, Refused                   string
	ForeignTitle, Foreign                   string
	LargeTitle, Large                       string
	BrokenTitle, Broken                     string
	TheEmployer                             string
	Required, RequiredFile, RequiredOne     string
	NotOne, NotSome, NotDate, NotNumber     string
	NotPhone, NotEmail, NotSeen, TooLong    string
	Shorten, EmptyFile, LargeFile           string
	LargeResume, WrongType, WrongResumeType string
	ProtectedFile, HEIC, Invalid            string
}

//go:embed texts/*.json
var textFiles embed.FS

var translations = translation.Read(textFiles, func(_ string, t *texts) *texts { return t })

// textsFor finds the language: what the form's address says (lang), then what the browser accepts.
func textsFor(r *http.Request) *texts {
	return translation.For(r, translations, r.URL.Query().Get("lang"))
}

// fill puts values into a text: name, value, name, value.
func fill(text string, pairs ...string) string {
	for n := 0; n < len(pairs); n += 2 {
		text = strings.ReplaceAll(text, "{"+pairs[n]+"}", pairs[n+1])
	}
	return text
}

// number formats a number with the language's separator.
func (t *texts) number(n int) string {
	s := strconv.Itoa(n)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + t.Thousands + s[at:]
	}
	return s
}

// size formats a number of bytes for people.
func (t *texts) size(bytes int64) string {
	if bytes < 1<<20 {
		return strconv.FormatInt(max(1, (bytes+512)>>10), 10) + " kB"
	}
	return strings.Replace(strconv.FormatFloat(float64(bytes)/(1<<20), 'f', 1, 64), ".", t.Decimal, 1) + " MB"
}

// sentence says to a person what package schemas says to a program.
func (t *texts) sentence(q *model.Question, message string) string {
	switch message {
	case schemas.Required:
		switch q.Format {
		case model.File:
			return t.RequiredFile
		case model.Select, model.Checkbox:
			return t.RequiredOne
		}
		return t.Required
	case heic:
		return t.HEIC
	}
	if text, known := t.plain()[message]; known {
		return text
	}
	if most, is := strings.CutPrefix(message, "at most "); is && strings.HasSuffix(message, " allowed") {
		count, _, _ := strings.Cut(most, " ")
		return fill(t.TooLong, "count", count)
	}
	return t.Invalid
}

// plain has the sentences that don't depend on the question.
func (t *texts) plain() map[string]string {
	return map[string]string{
		schemas.ChooseOne: t.NotOne, schemas.ChooseSome: t.NotSome, schemas.ChooseOnce: t.NotSome, schemas.NotDate: t.NotDate,
		schemas.NotNumber: t.NotNumber, schemas.NotPhone: t.NotPhone, schemas.NotEmail: t.NotEmail, schemas.NotSeen: t.NotSeen,
		schemas.NotStorable: t.NotSeen, schemas.TooPersonal: t.Shorten, schemas.TooLarge: t.Shorten, schemas.TooLargeAll: t.Shorten,
		schemas.EmptyFile: t.EmptyFile, schemas.LargeFile: t.LargeFile, schemas.LargeResume: t.LargeResume,
		schemas.WrongType: t.WrongType, schemas.WrongResumeType: t.WrongResumeType, schemas.ProtectedFile: t.ProtectedFile,
	}
}
