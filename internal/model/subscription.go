package model

import (
	"slices"
	"strings"
	"time"
)

// Change is the type of something that happened to what a service keeps, which its own systems may be told.
type Change string

// The changes.
const (
	ApplicationReceived Change = "application.received"
	ApplicationChanged  Change = "application.changed"
	ApplicationMoved    Change = "application.moved" // into a step, back, or out of all
	ApplicationEnded    Change = "application.ended" // one that is opened again changed
	ApplicationErased   Change = "application.erased"
	CandidateChanged    Change = "candidate.changed" // or made
	CandidateErased     Change = "candidate.erased"
	JobChanged          Change = "job.changed" // or made, or removed
)

// Changes are all changes.
var Changes = []Change{ApplicationReceived, ApplicationChanged, ApplicationMoved, ApplicationEnded, ApplicationErased, CandidateChanged,
	CandidateErased, JobChanged}

// OfApplication reports whether the change is one of a job application.
func (c Change) OfApplication() bool { return strings.HasPrefix(string(c), "application.") }

// ChangeEvent says that something changed. It has ids only.
type ChangeEvent struct {
	Tenant   string
	Position int64 // rises with each event of a tenant
	Type     Change
	Object   string // the id of a job application or a candidate, or a job board code
	Sequence int64  // among the events of a job application, from 1; 0: it is of something else
	From, To string // the steps of a move; empty: none
	At       time.Time
}

// EventSubscription is an address of a service's own system that is sent what changes.
type EventSubscription struct {
	Row
	ID       string   `json:"id" schema:"ref=ShortName"`
	URL      string   `json:"url"`
	Secret   string   `json:"secret,omitempty"`
	Events   []Change `json:"events" schema:"optional"` // empty: all
	Disabled bool     `json:"disabled"`
	Reason   string   `json:"reason,omitempty"` // why it is disabled; empty: somebody asked for it
}

// Wants reports whether a subscription is sent a change.
func (s *EventSubscription) Wants(c Change) bool {
	return len(s.Events) == 0 || slices.Contains(s.Events, c)
}

// Validate says what is wrong with a subscription, as Candidate.Validate does. Whether its URL may be called is up to
// egress.
func (s *EventSubscription) Validate() error {
	var k checker
	if !name.MatchString(s.ID) {
		k.fault("id", "is no name: use 1 to 63 of the characters a-z, 0-9 and -")
	}
	if s.URL == "" || len(s.URL) > maxURL {
		k.fault("url", "is missing, or longer than 2 KiB: write where the events go")
	}
	if err := Secret(s.Secret).Validate(); err != nil {
		k.fault("secret", "is missing or too long: write what the events are signed with")
	}
	for n, c := range s.Events {
		if !slices.Contains(Changes, c) || slices.Contains(s.Events[:n], c) {
			k.fault("events", "has an unknown one, or one twice: leave it out for all of them")
		}
	}
	return k.err()
}
