package model

import (
	"cmp"
	"slices"
	"time"
)

// Outcome is the state of a delivery.
type Outcome string

// The outcomes of a delivery. Delivered, Failed and Expired are final.
const (
	Pending   Outcome = "pending"  // no attempt yet
	Retrying  Outcome = "retrying" // attempted, not received yet
	Held      Outcome = "held"     // kept until its integration is verified, enabled or back in the configuration
	Delivered Outcome = "delivered"
	Failed    Outcome = "failed"  // given up: not received within 72 h, ended by a person, or it can't be delivered
	Expired   Outcome = "expired" // a triggered export, not taken before its document URLs ended
)

// Outcomes are all outcomes, in the order they are shown.
var Outcomes = []Outcome{Pending, Retrying, Held, Delivered, Failed, Expired}

// Final reports whether the delivery has ended. Only a redelivery goes on from there.
func (o Outcome) Final() bool { return o == Delivered || o == Failed || o == Expired }

// Class is an outcome as metrics and search attributes show it: it says who has to act.
type Class string

// The outcome classes.
const (
	ClassDelivered    Class = "delivered"
	ClassRetrying     Class = "retrying"
	ClassHeld         Class = "held"
	ClassPartnerFault Class = "partner_fault"
	ClassDataFault    Class = "data_fault"
	ClassExpired      Class = "expired"
	ClassOurFault     Class = "our_fault"
)

// Classes are all outcome classes, in the order they are shown.
var Classes = []Class{
	ClassDelivered, ClassRetrying, ClassHeld, ClassPartnerFault, ClassDataFault, ClassExpired, ClassOurFault,
}

// Faults lists the classes of failed attempts.
var Faults = []Class{ClassPartnerFault, ClassDataFault, ClassOurFault}

// Place names an integration: the destination of a delivery.
type Place struct{ Tenant, Integration string }

// Delivery is one export on its way to one integration, in one round.
type Delivery struct {
	ID          int64
	ExportID    int64
	Tenant      string
	Integration string
	Round       int
	Outcome     Outcome
	Fault       Class  // of a failed delivery, or of the last failed attempt; empty: there is none
	Reason      string // a sentence for people; never a candidate's data
	Attempts    int
	Status      int          // HTTP status of the last attempt; 0: no answer came, or none was made
	Documents   DocumentMode // of its attempts: the mode of the integration at the first one; empty: none was made
	Parked      bool         // held, and its workflow has ended: a release starts the next round
	HeldSince   time.Time
	NextAt      time.Time // of the next attempt; zero: none is planned
	AskedAt     time.Time // when somebody asked for the next attempt; zero: nobody did
	CreatedAt   time.Time // when its round was dispatched, or the export triggered; a move to another round keeps it
	UpdatedAt   time.Time
	BegunBy     string    // the actor who asked for its round, as the audit has them; empty: nobody did. Read, not written
	Redelivery  string    // ID of the redelivery of a range that began it; empty: none did. Read, not written
	Read        time.Time // UpdatedAt as the store had it: only that state is overwritten; zero: it is not stored yet
	Till        time.Time // end of the attempts of its round; known while that runs, not stored
}

// Class is the delivery's outcome class.
func (d *Delivery) Class() Class {
	switch d.Outcome {
	case Failed:
		return d.Fault
	case Delivered, Held, Expired:
		return Class(d.Outcome)
	default:
		return ClassRetrying
	}
}

// NewDelivery begins the delivery of an export to an integration in a round. at is when the round was dispatched, or
// the export triggered.
func NewDelivery(e *Export, integration string, round int, at time.Time) *Delivery {
	return &Delivery{
		ExportID: e.ID, Tenant: e.Tenant, Integration: integration, Round: round,
		Outcome: Pending, CreatedAt: at, UpdatedAt: at,
	}
}

// Due returns when the next attempt is to be made; the zero time: at once, since somebody asked for it or none is planned.
func (d *Delivery) Due() time.Time {
	if !d.AskedAt.IsZero() {
		return time.Time{}
	}
	return d.NextAt
}

// Attempted counts an attempt, and clears what was before it. status is that of the answer; 0: none came. fault is who has to
// look at its failure, reason says what failed; both are empty when the integration received the export. Deliver, Retry,
// Hold or Expire then decides how the delivery goes on.
func (d *Delivery) Attempted(status int, fault Class, reason string) {
	d.Attempts++
	d.Status = status
	d.settle(Retrying, fault, reason)
}

// Deliver ends a delivery that the integration received.
func (d *Delivery) Deliver() { d.settle(Delivered, "", "") }

// Retry plans the next attempt. The fault and the reason of the last one stay.
func (d *Delivery) Retry(next time.Time) {
	d.settle(Retrying, d.Fault, d.Reason)
	d.NextAt = next
}

// Fail ends a delivery that can't go on.
func (d *Delivery) Fail(fault Class, reason string) { d.settle(Failed, fault, reason) }

// Expire ends a delivery whose time is over: a triggered export's expires, a received one's fails. The fault and the
// reason that it has stay. If it has none, no attempt was made in all that time: the fault is ours, and reason says
// why.
func (d *Delivery) Expire(origin Origin, reason string) {
	outcome := Failed
	if origin == Triggered {
		outcome = Expired
	}
	d.settle(outcome, cmp.Or(d.Fault, ClassOurFault), cmp.Or(d.Reason, reason))
}

// Hold keeps a delivery from being attempted until something is fixed, and reports whether it was held for another
// reason before, not at all, or until somebody asked for an attempt. The fault of the last attempt stays.
func (d *Delivery) Hold(reason string, now time.Time) (changed bool) {
	since := d.HeldSince
	changed = since.IsZero() || d.Reason != reason || !d.AskedAt.IsZero()
	if since.IsZero() {
		since = now
	}
	d.settle(Held, d.Fault, reason)
	d.HeldSince = since
	return changed
}

// Park notes that the workflow of a held delivery ends: its release begins the next round.
func (d *Delivery) Park() { d.Parked = true }

// Release ends a hold: the next attempt is due at next. The fault of the last attempt stays.
func (d *Delivery) Release(next time.Time) {
	outcome := Retrying
	if d.Attempts == 0 {
		outcome = Pending
	}
	d.settle(outcome, d.Fault, "")
	d.NextAt = next
}

// settle sets what every transition decides, and clears what only some of them set.
func (d *Delivery) settle(outcome Outcome, fault Class, reason string) {
	d.Outcome, d.Fault, d.Reason = outcome, fault, reason
	d.Parked, d.HeldSince, d.NextAt, d.AskedAt = false, time.Time{}, time.Time{}, time.Time{}
}

// LatestDelivery is the delivery to an integration in its latest round; nil: it has none. The deliveries of an export
// are ordered by round.
func LatestDelivery(of []*Delivery, integration string) *Delivery {
	for _, d := range slices.Backward(of) {
		if d.Integration == integration {
			return d
		}
	}
	return nil
}

// LatestDeliveries returns the deliveries in the latest round of each integration: rounds are per integration, and a
// redelivery to one leaves the deliveries to the others as they are. The deliveries of an export are ordered by round.
func LatestDeliveries(of []*Delivery) (latest []*Delivery) {
	for _, d := range of {
		if d == LatestDelivery(of, d.Integration) {
			latest = append(latest, d)
		}
	}
	return latest
}

// NoIntegration is why a received export of a tenant without an integration has failed.
const NoIntegration = "it was not delivered, because its tenant had no integration when it came: add one, then redeliver it"

// Missing are the deliveries of the current round that are not among the stored ones: all of a new export, and those that a
// gateway of an earlier version did not insert. One that is for nobody has one to the integration of no name, which has
// failed.
func (e *Export) Missing(stored []*Delivery) (missing []*Delivery) {
	at := e.DispatchedAt
	if e.Round == 0 {
		at = e.ReceivedAt
	}
	if e.ForNobody {
		d := NewDelivery(e, "", 0, at)
		d.Fail(ClassOurFault, NoIntegration)
		return []*Delivery{d}
	}
	for _, name := range e.Integrations {
		if !slices.ContainsFunc(stored, func(d *Delivery) bool { return d.Integration == name && d.Round == e.Round }) {
			missing = append(missing, NewDelivery(e, name, e.Round, at))
		}
	}
	return missing
}

// Attempt is one request to an integration and what came of it.
type Attempt struct {
	DeliveryID int64
	Number     int // from 1
	StartedAt  time.Time
	Duration   time.Duration
	Status     int    // 0: no answer came
	Fault      Class  // who has to look at its failure; empty: received. Not stored
	Cause      string // of its failure, in a fixed word for metrics. Not stored
	Error      string // why no answer came, or why the answer does not mean received; empty: received
	Answer     []byte // at most 64 KiB, for the person who asks why; never logged
	Header     []byte // of the answer, a line each, at most 8 KiB and without Set-Cookie; never logged
	Address    string // IP address and port that it was sent to; empty: none was found
	Phases     Phases
	Manual     bool // somebody asked for it
}

// Phases are the parts of an attempt that were over when it ended. On a connection that was open already only FirstByte
// is there.
type Phases struct {
	DNS, Connect, TLS time.Duration
	FirstByte         time.Duration // from the request's end to the answer's begin
}

// FaultOf says who has to look at an answer that was not 2xx: the partner, or whoever made the data that it refuses.
func FaultOf(status int) Class {
	switch status {
	case 400, 413, 415, 422:
		return ClassDataFault
	}
	return ClassPartnerFault
}
