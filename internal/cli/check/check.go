package check

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"
)

// Level says how much a check counts.
type Level string

const (
	Must   Level = "must"   // the contract demands it: exports are lost or refused without it
	Should Level = "should" // the contract leaves it open; most integrations need it
)

// check is one requirement, tried on a target of type T.
type check[T any] struct {
	id, requirement string
	place           string // in the contract, or in the decisions about what it leaves open
	level           Level
	run             func(context.Context, T) finding
}

// finding holds the outcome of a check. The zero value means that the requirement is met.
type finding struct {
	Sent, Got, Do string // sentences or parts of them; Do is set when the check failed
	Skipped       string // why it was not tried
}

// The verdicts of a Result.
const (
	passed  = "passed"
	failed  = "failed"
	skipped = "skipped"
)

// Result is a check that was run; with --format json it is one line.
type Result struct {
	Kind        string  `json:"kind"` // "check"
	ID          string  `json:"id"`
	Level       Level   `json:"level"`
	Requirement string  `json:"requirement"`
	Place       string  `json:"place"`
	Verdict     string  `json:"verdict"`
	Sent        string  `json:"sent,omitempty"`
	Got         string  `json:"got,omitempty"`
	Do          string  `json:"do,omitempty"`
	Skipped     string  `json:"skipped,omitempty"`
	Seconds     float64 `json:"seconds"`
}

// selected are the checks whose id matches one of the patterns, such as B-08 or B-1*; without patterns, all of them.
// The error is a sentence about --only.
func selected[T any](all []check[T], patterns []string) (some []check[T], err error) {
	matched := map[string]bool{}
	for _, c := range all {
		take := len(patterns) == 0
		for _, p := range patterns {
			ok, err := path.Match(strings.ToUpper(p), c.id)
			if err != nil {
				return nil, fmt.Errorf("--only %s is no pattern: write it like B-08 or B-1*", p)
			}
			matched[p] = matched[p] || ok
			take = take || ok
		}
		if take {
			some = append(some, c)
		}
	}
	for _, p := range patterns {
		if !matched[p] {
			return nil, fmt.Errorf("--only %s names no check: --list shows them", p)
		}
	}
	return some, nil
}

// lasting is a target that may end in the middle of the checks.
type lasting interface {
	// there returns why the target can't be reached any more.
	there(context.Context) error
}

// runAll runs the checks one after the other and hands over each result. It ends early with ctx, and with an error when the target
// ended: the other checks would fail without reason.
func runAll[T any](ctx context.Context, checks []check[T], target T, each func(Result)) error {
	for _, c := range checks {
		if t, ok := any(target).(lasting); ok {
			if err := t.there(ctx); err != nil {
				return err
			}
		}
		began := time.Now()
		found := c.run(ctx, target)
		if ctx.Err() != nil {
			return nil
		}
		r := c.described()
		r.Verdict, r.Seconds = passed, time.Since(began).Seconds()
		switch {
		case found.Skipped != "":
			r.Verdict = skipped
		case found.Do != "":
			r.Verdict = failed
		}
		r.Sent, r.Got, r.Do, r.Skipped = found.Sent, found.Got, found.Do, found.Skipped
		each(r)
	}
	return nil
}

// described is the Result of a check before it was run.
func (c check[T]) described() Result {
	return Result{Kind: "check", ID: c.id, Level: c.level, Requirement: c.requirement, Place: c.place}
}

func listed[T any](checks []check[T]) (all []Result) {
	for _, c := range checks {
		all = append(all, c.described())
	}
	return all
}
