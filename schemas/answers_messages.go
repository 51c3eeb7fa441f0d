package schemas

import (
	"fmt"
	"strings"

	"github.com/xeipuuv/gojsonschema"

	"github.com/hiregate/hiregate/internal/filetype"
	"github.com/hiregate/hiregate/internal/model"
)

// The messages about answers. People read them, and programs may compare them: they stay as they are. docs/answers.md
// has them all.
const (
	Required  = "an answer is required"
	Repeated  = "the question is answered more than once: answer it once"
	Unasked   = "the job has no question of this id: leave the answer out"
	Unchecked = "this could not be checked, and that is our fault: tell us"

	ChooseOne     = "choose exactly one of the options, as it is written"
	ChooseSome    = `choose from the options, as they are written, with | between them and \| for a pipe in one`
	ChooseOnce    = "choose each option only once"
	ChooseFewer   = "choose at most 100 options"
	NotDate       = "write a day that exists, as YYYY-MM-DD"
	NotNumber     = "write a number in digits, such as 3 or -2.5"
	NotPhone      = "at least 7 digits are needed"
	NotEmail      = "write one e-mail address and nothing else, such as ann@example.com"
	NotStorable   = "the character U+0000 is not allowed: take it out"
	NotSeen       = "control characters, and those that change the direction of text, are not allowed: take them out"
	TooLong       = "at most %d characters are allowed"
	TooLongForOne = "at most 1 character is allowed"
	TooPersonal   = "at most 4096 bytes are allowed: shorten the answer"
	TooLarge      = "the answer is larger than 1 MiB: shorten it"
	TooLargeAll   = "the answers that are no files are larger than 4 MiB together: shorten them"

	EmptyFile   = "the file is empty: send one with content"
	LargeFile   = "the file must be smaller than 10 MB (10485760 bytes)"
	LargeResume = "the file must be smaller than 2 MB (2097152 bytes)"
	WrongType   = "files of this type are not accepted: send a document, picture, sound, film or archive of a " +
		"common type, such as PDF, Word, JPEG or ZIP"
	WrongResumeType = "files of this type are not accepted: send PDF, Word, OpenDocument, RTF, PostScript or plain text"
	ProtectedFile   = "the file can be opened with a password alone: send it without one"
	NotBase64       = "the value is not base64: send the file's content in standard base64"
	HasPrefix       = "send the base64 content alone, without the data: prefix"
)

// LargeFileMessage says that the file that answers a question is too large.
func LargeFileMessage(q *model.Question) string {
	if q.ID == Resume {
		return LargeResume
	}
	return LargeFile
}

// explain gives the message for an error of the library about the answer to a question; empty: it only says that there
// are others.
func explain(q *model.Question, e gojsonschema.ResultError) string {
	switch e.(type) {
	case *gojsonschema.StringLengthLTEError:
		return tooLong(fmt.Sprint(e.Details()["max"]))
	case *gojsonschema.DoesNotMatchFormatError:
		return ofFormat[fmt.Sprint(e.Details()["format"])]
	case *gojsonschema.DoesNotMatchPatternError:
		return NotNumber
	case *gojsonschema.ConstError:
		return ChooseOnce
	case *gojsonschema.NumberLTEError:
		return ChooseFewer
	case *gojsonschema.EnumError:
		if e.Value() == filetype.Protected {
			return ProtectedFile
		}
		return notOffered(q)
	case *gojsonschema.NumberGTEError:
		return EmptyFile
	case *gojsonschema.NumberLTError:
		return LargeFileMessage(q)
	case *gojsonschema.ConditionThenError, *gojsonschema.NumberAllOfError:
		return ""
	}
	return Unchecked
}

var ofFormat = map[string]string{
	dateFormat: NotDate, emailFormat: NotEmail, phoneFormat: NotPhone, storableFormat: NotStorable,
	personalFormat: TooPersonal, seenFormat: NotSeen,
}

func tooLong(most string) string {
	if most == "1" {
		return TooLongForOne
	}
	return strings.Replace(TooLong, "%d", most, 1)
}

// notOffered says that an answer is none of those that a question offers.
func notOffered(q *model.Question) string {
	switch {
	case q.Format == model.Checkbox:
		return ChooseSome
	case q.Format == model.Select:
		return ChooseOne
	case q.ID == Resume:
		return WrongResumeType
	}
	return WrongType
}
