package schemas

import (
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/hiring"
)

// Choices takes the answer to a Checkbox question apart: at each pipe that no backslash precedes. A backslash before a
// pipe makes it a part of the option, any other backslash is itself. What is then no option is read once more with two
// backslashes as one. Where that does not help either it stays as it came. It gives up behind more parts than there
// are options.
func Choices(q *hiring.Question, answer string) []string {
	var parts []string
	for more := true; more && len(parts) <= len(q.Options); {
		var part string
		part, answer, more = cutChoice(answer)
		if !slices.Contains(q.Options, part) {
			if other := strings.ReplaceAll(part, `\\`, `\`); slices.Contains(q.Options, other) {
				part = other
			}
		}
		parts = append(parts, part)
	}
	return parts
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
