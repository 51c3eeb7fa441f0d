package model

import (
	"slices"
	"time"
)

// Ending is how a job application ended.
type Ending string

// The endings of job applications.
const (
	Hired     Ending = "hired"
	Rejected  Ending = "rejected"
	Withdrawn Ending = "withdrawn"
)

// End is the end of a job application.
type End struct {
	As     Ending    `json:"as"`
	Reason string    `json:"reason,omitempty"` // for people
	At     time.Time `json:"at"`
}

// Validate is for an end as Candidate.Validate is for a candidate.
func (e *End) Validate() error {
	var k checker
	if !slices.Contains([]Ending{Hired, Rejected, Withdrawn}, e.As) {
		k.fault("as", "is none of hired, rejected and withdrawn: choose one")
	}
	k.text("reason", e.Reason)
	return k.err()
}

// Is reports whether two ends are the same; no end is the same as none.
func (e *End) Is(other *End) bool {
	if e == nil || other == nil {
		return e == other
	}
	return e.As == other.As && e.Reason == other.Reason && e.At.Equal(other.At)
}

// Unentered reports whether a job application is open and could not enter its first step.
func (a *JobApplication) Unentered() bool { return a.Ended == nil && a.Status.Unentered != "" }

// State is how a job application ended; empty: it is open.
func (a *JobApplication) State() Ending {
	if a.Ended == nil {
		return ""
	}
	return a.Ended.As
}
