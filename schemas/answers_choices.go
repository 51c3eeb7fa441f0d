package schemas

import (
	"iter"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/model"
)

// options has the options of a question, in order and each once: a job may have 150,000, and an application choose all.
type options []string

func optionsOf(q *model.Question) options {
	return slices.Compact(slices.Sorted(slices.Values(q.Options)))
}

// find returns the position of an option; -1: it is none.
func (o options) find(option string) int {
	if n, ok := slices.BinarySearch(o, option); ok {
		return n
	}
	return -1
}

// parts takes the answer to a Checkbox question apart, at each pipe that no backslash precedes. A backslash before a
// pipe makes it a part of the option, any other backslash is itself. What is then no option is read once more with two
// backslashes as one. Each part comes with its position among the options; the first one that is no option, with -1,
// ends it, and so does one part more than there are options.
func (o options) parts(answer string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for left, more := len(o), true; more && left >= 0; left-- {
			var part string
			part, answer, more = cutChoice(answer)
			n := o.find(part)
			if n < 0 && strings.Contains(part, `\\`) {
				n = o.find(strings.ReplaceAll(part, `\\`, `\`))
			}
			if !yield(n, part) || n < 0 {
				return
			}
		}
	}
}

// Choices are the options that the answer to a Checkbox question chooses. The first part of it that is no option is the
// last of them, as it came.
func (a *Answers) Choices(q *model.Question, answer string) (chosen []string) {
	offered := a.options[a.positions[q.ID]]
	for n, part := range offered.parts(answer) {
		if n >= 0 {
			part = offered[n]
		}
		chosen = append(chosen, part)
	}
	return chosen
}

// choiceOf stands for the answer to a Checkbox or Select question in the object that the schema looks at. It says
// whether all that is chosen is offered, whether an option is chosen twice, and how many parts were looked at.
func (o options) choiceOf(q *model.Question, answer string) object {
	if q.Format == model.Select {
		return choice(o.find(answer) >= 0, false, 1)
	}
	seen := make([]bool, len(o))
	offered, repeated, count := true, false, 0
	for n := range o.parts(answer) {
		count++
		switch {
		case n < 0:
			offered = false
		case seen[n]:
			repeated = true
		default:
			seen[n] = true
		}
	}
	return choice(offered, repeated, count)
}

// cutChoice takes the part before the first pipe that no backslash precedes.
func cutChoice(s string) (part, rest string, more bool) {
	for from := 0; ; {
		n := strings.IndexByte(s[from:], '|')
		if n < 0 {
			return unescaped(s), "", false
		}
		n += from
		if n == 0 || s[n-1] != '\\' {
			return unescaped(s[:n]), s[n+1:], true
		}
		from = n + 1
	}
}

func unescaped(s string) string { return strings.ReplaceAll(s, `\|`, "|") }
