package model

import (
	"fmt"
	"slices"
	"strings"
)

// MaxQuestions is how many questions a job may ask.
const MaxQuestions = 300

// What else a job may ask at most.
const (
	maxFiles     = 20      // questions for a file; the largest body of an application goes by it
	maxOptions   = 500     // of a question
	maxMaxLength = 1 << 20 // no answer is longer
)

// Formats are all there are, in the contract's order.
var Formats = []Format{Checkbox, Date, File, Number, Phone, Select, Text, Textarea}

// ValidateQuestion says what is wrong with a question by itself, as Candidate.Validate does with a candidate.
func ValidateQuestion(q *Question) error {
	var k checker
	k.question("", q)
	return k.err()
}

// questions checks those of a job: each of them, and together.
func (k *checker) questions(list []Question) {
	if len(list) > MaxQuestions {
		k.fault("questions", fmt.Sprintf("has more than %d entries: leave some out", MaxQuestions))
		return
	}
	if files := (&Job{Questions: list}).Files(); files > maxFiles {
		k.fault("questions", fmt.Sprintf("has more than %d of the format File: leave some out", maxFiles))
	}
	seen := map[string]bool{}
	for n := range list {
		q := &list[n]
		at := fmt.Sprintf("questions[%d].", n)
		k.question(at, q)
		if seen[q.ID] && q.ID != "" {
			k.fault(at+"id", "is that of an earlier question: give each its own")
		}
		seen[q.ID] = true
	}
}

// personal are the ids whose answers make the candidate; see "From answers to candidate".
var personal = []string{"firstName", "lastName", "email", "phone", "citizenWorkStatus"}

func (k *checker) question(at string, q *Question) {
	k.id(at+"id", q.ID)
	k.required(at+"label", q.Label)
	if !slices.Contains(Formats, q.Format) {
		k.fault(at+"format", "is missing or unknown: use Checkbox, Date, File, Number, Phone, Select, Text or Textarea")
		return
	}
	switch {
	case q.ID == "resume" && q.Format != File:
		k.fault(at+"format", "is not File: the question resume asks for a file, so give this one another id")
	case q.ID == "email" && q.Format != Text:
		k.fault(at+"format", "is not Text: the question email asks for an e-mail address, so give this one another id")
	case slices.Contains(personal, q.ID) && q.Format == File:
		k.fault(at+"format", "is File: the answer to this question becomes the candidate's own, so give this one another id")
	}
	k.options(at+"options", q)
	if q.MaxLength != nil {
		switch {
		case q.Format != Text && q.Format != Textarea:
			k.fault(at+"maxLength", fmt.Sprintf("does not go with the format %s: only Text and Textarea have one", q.Format))
		case *q.MaxLength < 1 || *q.MaxLength > maxMaxLength:
			k.fault(at+"maxLength", fmt.Sprintf("is not from 1 to %d: set one that is, or null", maxMaxLength))
		}
	}
	if q.Group != nil {
		k.fault(at+"group", "is set: questions of a compliance group are asked when complianceGroups names it, "+
			"so leave this one out")
	}
	switch {
	case q.Check != "" && q.Check != CheckEmail:
		k.fault(at+"check", "is unknown: use email, or leave it out")
	case q.Check == CheckEmail && q.Format != Text:
		k.fault(at+"check", fmt.Sprintf("does not go with the format %s: only Text has one", q.Format))
	}
}

// options checks those of a question. What they let pass can be told apart in the value of an answer (contract,
// "Answer validation per question format").
func (k *checker) options(member string, q *Question) {
	switch chosen := q.Format == Checkbox || q.Format == Select; {
	case !chosen && len(q.Options) > 0:
		k.fault(member, fmt.Sprintf("do not go with the format %s: only Checkbox and Select have them", q.Format))
		return
	case chosen && len(q.Options) == 0:
		k.fault(member, fmt.Sprintf("are missing: the format %s needs at least one", q.Format))
		return
	case len(q.Options) > maxOptions:
		k.fault(member, fmt.Sprintf("has more than %d entries: leave some out", maxOptions))
		return
	}
	seen := map[string]bool{}
	for n, option := range q.Options {
		at := fmt.Sprintf("%s[%d]", member, n)
		k.text(at, option)
		switch {
		case strings.TrimSpace(option) == "":
			k.fault(at, "is empty: write what can be chosen, or leave it out")
		case strings.HasSuffix(option, `\`):
			k.fault(at, "ends in a backslash, which would escape the pipe behind it in an answer: write it otherwise")
		case seen[option]:
			k.fault(at, "is there twice: leave one out")
		}
		seen[option] = true
	}
}

// SplitOptions splits options that stand in one text, as those of a question in a CSV file, at each pipe that no
// backslash is before; "\|" is a pipe, and any other backslash is itself.
func SplitOptions(s string) (parts []string) {
	var part strings.Builder
	for n := 0; n < len(s); n++ {
		switch {
		case s[n] == '\\' && n+1 < len(s) && s[n+1] == '|':
			part.WriteByte('|')
			n++
		case s[n] == '|':
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteByte(s[n])
		}
	}
	return append(parts, part.String())
}

// JoinOptions makes the value of a Checkbox answer of the options that are chosen.
func JoinOptions(parts []string) string {
	escaped := make([]string, len(parts))
	for n, part := range parts {
		escaped[n] = strings.ReplaceAll(part, "|", `\|`)
	}
	return strings.Join(escaped, "|")
}
