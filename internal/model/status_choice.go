package model

import (
	"errors"
	"regexp"
	"strconv"
)

// StatusChoice chooses attempts by their answer: an HTTP status such as 503, a class such as 5xx, or none, where none came.
type StatusChoice string

// NoStatus chooses attempts without an answer.
const NoStatus StatusChoice = "none"

var statusChoice = regexp.MustCompile(`^([1-5][0-9][0-9]|[1-5]xx|none)$`)

// Validate checks how it is written.
func (s StatusChoice) Validate() error {
	if !statusChoice.MatchString(string(s)) {
		return errors.New("status must be an HTTP status such as 503, a class such as 5xx, or none for attempts without an answer")
	}
	return nil
}

// MaxAttemptsSought bounds the number of attempts that exports are found by.
const MaxAttemptsSought = 100_000

// Range returns the first and the last status that it chooses. It must be valid; an empty one chooses as none does.
func (s StatusChoice) Range() (first, last int) {
	if s == NoStatus || s == "" {
		return 0, 0
	}
	if s[1] == 'x' {
		first = int(s[0]-'0') * 100
		return first, first + 99
	}
	first, _ = strconv.Atoi(string(s))
	return first, first
}
