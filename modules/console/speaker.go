package console

import "strings"

// speaker puts figures into words, for sentences that are made of several texts. It holds the first error.
type speaker struct {
	view
	err error
}

func (s *speaker) say(key string, pairs ...any) string { return s.hold(s.T(key, pairs...)) }

func (s *speaker) many(key string, n int) string { return s.hold(s.Many(key, n)) }

func (s *speaker) hold(text string, err error) string {
	if s.err == nil {
		s.err = err
	}
	return text
}

// list returns names as a sentence has them: a, b and c.
func (s *speaker) list(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " " + s.say("And") + " " + names[last]
}
