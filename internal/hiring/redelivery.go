package hiring

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// RedeliveryState is the state of a redelivery.
type RedeliveryState string

// The states of a redelivery. Finished and Cancelled are final.
const (
	RedeliveryRunning   RedeliveryState = "running"
	RedeliveryPaused    RedeliveryState = "paused"
	RedeliveryFinished  RedeliveryState = "finished" // it came to every export of its range
	RedeliveryCancelled RedeliveryState = "cancelled"
)

// Ended reports whether the state is final.
func (s RedeliveryState) Ended() bool { return s == RedeliveryFinished || s == RedeliveryCancelled }

// RedeliveryMode says which exports a redelivery is for. What is on its way goes on by itself and is never chosen.
type RedeliveryMode string

// The modes of a redelivery.
const (
	RedeliverFailed  RedeliveryMode = "failed"  // those whose last delivery failed or expired
	RedeliverMissing RedeliveryMode = "missing" // those that were never addressed to the integration
	RedeliverAll     RedeliveryMode = "all"     // these, and those that were delivered: they arrive once more
)

// RedeliveryModes are all modes.
var RedeliveryModes = []RedeliveryMode{RedeliverFailed, RedeliverMissing, RedeliverAll}

// Selection chooses exports of a tenant for a redelivery to one of its integrations.
type Selection struct {
	Tenant, Integration string
	Since, Until        time.Time // received at or after, and before
	Mode                RedeliveryMode
	// Of the last delivery; an empty field chooses all.
	Outcome Outcome // a final one
	Class   Class   // who has to look at its failure
	Status  int     // HTTP status of its last attempt
}

// Validate returns an error if the rate is out of bounds, or its selection chooses nothing.
func (j *Redelivery) Validate() error {
	if j.Rate < 1 || j.Rate > MaxRedeliveryRate {
		return fmt.Errorf("rate: use 1 to %d exports a second", MaxRedeliveryRate)
	}
	return j.Selection.Validate()
}

// Validate returns an error if no export can be chosen so.
func (s *Selection) Validate() error {
	ofFailed := []Outcome{Failed, Expired}
	switch {
	case s.Since.IsZero():
		return errors.New("since is missing: say from when on, such as 2026-11-20T12:00:00Z")
	case !s.Since.Before(s.Until):
		return errors.New("until is not after since: swap them, or leave until out for all up to now")
	case !slices.Contains(RedeliveryModes, s.Mode):
		return errors.New("mode is unknown: use failed, missing or all")
	case s.Mode == RedeliverMissing && (s.Outcome != "" || s.Class != "" || s.Status != 0):
		return errors.New("exports that are missing have no outcome, class or status: leave these out, or choose " +
			"another mode")
	case s.Outcome != "" && !s.Outcome.Final():
		return errors.New("outcome must be a final one: delivered, failed or expired; what is under way goes on by itself")
	case s.Mode == RedeliverFailed && s.Outcome != "" && !slices.Contains(ofFailed, s.Outcome):
		return errors.New("what was delivered is chosen by the mode all only, since it arrives once more")
	case s.Class != "" && !slices.Contains(Faults, s.Class):
		return errors.New("class is unknown: use partner_fault, data_fault or our_fault")
	case s.Status != 0 && (s.Status < 100 || s.Status > 599):
		return fmt.Errorf("status %d is no HTTP status: use one such as %d", s.Status, http.StatusBadGateway)
	}
	return nil
}

// MaxRedeliveryRate is the most exports a second that a redelivery may be asked to begin.
const MaxRedeliveryRate = 1000

// DefaultRedeliveryRate is how many exports a second a redelivery to an integration begins unless it is told: half of
// what may be under way there at once, so that new exports find room.
func DefaultRedeliveryRate(i *Integration) int {
	inFlight := i.InFlight
	if inFlight <= 0 {
		inFlight = DefaultInFlight
	}
	return max(1, inFlight/2)
}

// Redelivery is a job that redelivers a selection of exports.
type Redelivery struct {
	ID string
	Selection
	Rate      int // exports a second, at most
	State     RedeliveryState
	Total     int64  // exports that were chosen when it was asked for
	Skipped   int64  // of those it came to, those that could not be redelivered, or were meanwhile
	After     int64  // ID of the last export that it came to
	Reason    string // why it was cancelled, when nobody did so
	CreatedAt time.Time
	UpdatedAt time.Time
	EndedAt   time.Time // zero: it has not

	// Of the deliveries that it began; read with it, not stored.
	Delivered, Failed, Waiting int64
}

// RedeliveryPreview is what a redelivery of a selection would find.
type RedeliveryPreview struct {
	Count          int64
	Oldest, Newest time.Time // received; zero: there are none
	// Expired counts those of which a document can't be downloaded any more, or that can't be redelivered for it.
	Expired int64
}
