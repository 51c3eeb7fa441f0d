package main

import (
	"fmt"
	"strings"
)

// line is a line of a Caddyfile that is not empty.
type line struct {
	number, indent int
	text           string // without comment and spaces around it
}

func (l line) opens() bool  { return l.text == "{" || strings.HasSuffix(l.text, " {") }
func (l line) closes() bool { return l.text == "}" }

// misplaced finds the line in which a brace is missing or too much, or which repeats a block that may be there once, and
// says what to do. 0: there is none. It goes by how lines are indented, since Caddy's errors of braces name what follows.
func misplaced(text string) (number int, sentence string) {
	lines := linesOf(text)
	if number, sentence := repeated(lines); number > 0 {
		return number, sentence
	}
	var open []line
	suspect, why := 0, ""
	note := func(n int, format string, args ...any) {
		if suspect == 0 {
			suspect, why = n, fmt.Sprintf(format, args...)
		}
	}
	balanced := true
	for n, l := range lines {
		switch {
		case l.closes() && len(open) == 0:
			balanced = false
			note(l.number, "this } closes nothing: remove it, or add the { that is missing above it")
		case l.closes():
			opener := open[len(open)-1]
			open = open[:len(open)-1]
			if l.indent != opener.indent {
				note(l.number, "this } closes `%s` of line %d: remove it if it is one too many", opener.text, opener.number)
			}
		case l.opens():
			open = append(open, l)
		case n+1 < len(lines) && lines[n+1].indent > l.indent && !strings.HasSuffix(l.text, "\\") && !strings.HasSuffix(l.text, ","):
			note(l.number, "`%s` has no { at its end, although a block follows: write `%[1]s {`", l.text)
		}
	}
	if len(open) > 0 {
		balanced = false
		note(open[len(open)-1].number, "the block of `%s` is not closed: add a } at its end", open[len(open)-1].text)
	}
	if balanced {
		return 0, ""
	}
	return suspect, why
}

// repeated finds a second block of global options, or of the option hiregate.
func repeated(lines []line) (number int, sentence string) {
	depth, global, option := 0, 0, 0
	for _, l := range lines {
		switch {
		case l.text == "{" && depth == 0 && global > 0:
			return l.number, fmt.Sprintf("there is a second block of global options: put all of them into the first one, "+
				"which begins in line %d", global)
		case l.text == "{" && depth == 0:
			global = l.number
		case strings.HasPrefix(l.text+" ", "hiregate ") && depth == 1 && option > 0:
			return l.number, fmt.Sprintf("hiregate is there twice: put everything into one block, which begins in line %d",
				option)
		case strings.HasPrefix(l.text+" ", "hiregate ") && depth == 1:
			option = l.number
		}
		if l.opens() {
			depth++
		} else if l.closes() {
			depth--
		}
	}
	return 0, ""
}

func linesOf(text string) (all []line) {
	number := 0
	for written := range strings.SplitSeq(text, "\n") {
		number++
		trimmed := strings.TrimLeft(written, " \t")
		indent := len(written) - len(trimmed)
		if at := strings.Index(" "+trimmed, " #"); at >= 0 {
			trimmed = trimmed[:at]
		}
		if trimmed = strings.TrimSpace(trimmed); trimmed != "" {
			all = append(all, line{number, indent, trimmed})
		}
	}
	return all
}
