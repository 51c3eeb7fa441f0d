package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// Of its last attempt.
	Status   StatusChoice
	Attempts int // at least
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
	case s.Mode == RedeliverMissing && (s.Outcome != "" || s.Class != "" || s.Status != "" || s.Attempts != 0):
		return errors.New("exports that are missing have no outcome, class, status or attempts: leave these out, or choose " +
			"another mode")
	case s.Outcome != "" && !s.Outcome.Final():
		return errors.New("outcome must be a final one: delivered, failed or expired; what is under way goes on by itself")
	case s.Mode == RedeliverFailed && s.Outcome != "" && !slices.Contains(ofFailed, s.Outcome):
		return errors.New("what was delivered is chosen by the mode all only, since it arrives once more")
	case s.Class != "" && !slices.Contains(Faults, s.Class):
		return errors.New("class is unknown: use partner_fault, data_fault or our_fault")
	case s.Attempts < 0 || s.Attempts > MaxAttemptsSought:
		return fmt.Errorf("attempts: use 1 to %d", MaxAttemptsSought)
	case s.Status != "":
		return s.Status.Validate()
	}
	return nil
}

// MaxRedeliveryRate is the most exports a second that a redelivery may be asked to begin.
const MaxRedeliveryRate = 1000

// DefaultRedeliveryRate is how many exports a second a redelivery to an integration begins unless it is told: half of
// what may be under way there at once, so that new exports find room.
func DefaultRedeliveryRate(to Options) int { return max(1, to.AtOnce()/2) }

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
	BegunBy   string    // the actor who asked for it, as the audit has them

	// Of the deliveries that it began; read with it, not stored.
	Delivered, Failed, Waiting int64
}

// RedeliveryPreview counts the exports that a redelivery of a selection would find.
type RedeliveryPreview struct {
	Count          int64
	Oldest, Newest time.Time // received; zero: there are none
	// Expired counts those of which a document can't be downloaded any more, or that can't be redelivered for it.
	Expired  int64
	Received int64 // those that the integration received before: they arrive once more
	LeftOut  []LeftOut
}

// LeftOut is how many exports of its range a redelivery leaves out for a reason.
type LeftOut struct {
	Why   LeftOutReason `json:"why"`
	Count int64         `json:"count" schema:"minimum=1"`
}

// LeftOutReason is why a redelivery leaves out an export of its range.
type LeftOutReason string

// The reasons to leave out an export. One of the last three could be chosen by another mode, or without a filter.
const (
	LeftUnderWay    LeftOutReason = "under_way" // pending or retrying at the integration
	LeftHeld        LeftOutReason = "held"
	LeftWaiting     LeftOutReason = "waiting" // for Temporal
	LeftQuarantined LeftOutReason = "quarantined"
	LeftErased      LeftOutReason = "erased"
	LeftReceived    LeftOutReason = "received"
	LeftFailed      LeftOutReason = "failed"  // or expired
	LeftMissing     LeftOutReason = "missing" // never addressed to the integration
)

// LeftOutReasons are all reasons, in the order they are shown.
var LeftOutReasons = []LeftOutReason{LeftUnderWay, LeftHeld, LeftWaiting, LeftQuarantined, LeftErased, LeftReceived,
	LeftFailed, LeftMissing}

// Sentence says how many exports a redelivery to an integration leaves out, why, and what to do about it.
func (l LeftOut) Sentence(to Place) string {
	sentence := map[LeftOutReason]string{
		LeftUnderWay: "still being delivered: each goes on by itself, and hiregate integration retry TO has it tried now",
		LeftHeld: "held: each goes out once the integration takes exports, and hiregate integration enable TO has that " +
			"verified",
		LeftWaiting:     "waiting for Temporal: each goes out by itself",
		LeftQuarantined: "in quarantine: hiregate export list --tenant TENANT --quarantined lists them",
		LeftErased:      "erased: nothing is left to deliver",
		LeftReceived:    "received already: the mode all delivers them once more",
		LeftFailed:      "failed or expired: the mode failed, without other filters, delivers them",
		LeftMissing:     "never addressed to the integration: the mode missing delivers them",
	}[l.Why]
	names := strings.NewReplacer("TO", to.Tenant+"/"+to.Integration, "TENANT", to.Tenant)
	return fmt.Sprintf("%d %s", l.Count, names.Replace(sentence))
}

// Nothing says why a redelivery chooses no export; empty: there is none in its range.
func (p *RedeliveryPreview) Nothing(to Place) string {
	sentences := make([]string, len(p.LeftOut))
	for n, l := range p.LeftOut {
		sentences[n] = l.Sentence(to)
	}
	return strings.Join(sentences, "; ")
}
