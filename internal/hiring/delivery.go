package hiring

import (
	"slices"
	"time"
)

// Outcome is where a delivery stands.
type Outcome string

// The outcomes of a delivery. Delivered, Failed and Expired are final.
const (
	Pending   Outcome = "pending"  // no attempt yet
	Retrying  Outcome = "retrying" // attempted, not received yet
	Held      Outcome = "held"     // its integration is not configured, or disabled
	Delivered Outcome = "delivered"
	Failed    Outcome = "failed"  // a received export, not taken within 72 h
	Expired   Outcome = "expired" // a triggered export, not taken before its document URLs ended
)

// Final tells that nothing more will happen unless someone asks for a redelivery.
func (o Outcome) Final() bool { return o == Delivered || o == Failed || o == Expired }

// Class is an outcome as metrics and search attributes show it: who has to do something about it.
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
var Classes = []Class{ClassDelivered, ClassRetrying, ClassHeld, ClassPartnerFault, ClassDataFault, ClassExpired, ClassOurFault}

// Place is where a delivery goes.
type Place struct{ Tenant, Integration string }

// Delivery is one export on its way to one integration, in one round.
type Delivery struct {
	ID          int64
	ExportID    int64
	Tenant      string
	Integration string
	Round       int
	Outcome     Outcome
	Fault       Class  // of a failed delivery, or of the last failed attempt
	Reason      string // a sentence for people; never a candidate's data
	Attempts    int
	Documents   DocumentMode // of its attempts: what the first one found; empty: none was made
	Parked      bool         // held, and its workflow has ended: a release starts the next round
	HeldSince   time.Time
	NextAt      time.Time // of the next attempt; zero: none is planned
	CreatedAt   time.Time // when its round was dispatched, or it was triggered; what was parked keeps it in the next one
	UpdatedAt   time.Time
	Read        time.Time // UpdatedAt as it was read from the store, which it is written in the place of; zero: it is not there yet
	Till        time.Time // end of the attempts of its round; known while that runs, and not in the store
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

// Pending are the deliveries of the current round, on its way by now, that are not among those that were written: a delivery is
// written with its first attempt, or when it is held.
func (e *Export) Pending(written []*Delivery) (pending []*Delivery) {
	if e.DispatchedAt.IsZero() {
		return nil
	}
	for _, name := range e.Integrations {
		if !slices.ContainsFunc(written, func(d *Delivery) bool { return d.Integration == name && d.Round == e.Round }) {
			pending = append(pending, &Delivery{ExportID: e.ID, Tenant: e.Tenant, Integration: name, Round: e.Round, Outcome: Pending,
				CreatedAt: e.DispatchedAt, UpdatedAt: e.DispatchedAt})
		}
	}
	return pending
}

// Attempt is one request to an integration and what came of it.
type Attempt struct {
	DeliveryID int64
	Number     int // from 1
	StartedAt  time.Time
	Duration   time.Duration
	Status     int    // 0: no answer came
	Error      string // why no answer came, or why it does not count as received; empty: received
	Answer     []byte // at most 64 KiB, for the person who asks why; never logged
}

// FaultOf tells who has to look at an answer that was not 2xx: the partner, or whoever made the data it refuses.
func FaultOf(status int) Class {
	switch status {
	case 400, 413, 415, 422:
		return ClassDataFault
	}
	return ClassPartnerFault
}

// DocumentState is where the fetching of a document stands.
type DocumentState string

// The states of a document. Fetched and GivenUp are final.
const (
	Fetching DocumentState = "fetching"
	Scanning DocumentState = "scanning" // it is here, but nobody gets it before it is known to be clean
	Fetched  DocumentState = "fetched"
	GivenUp  DocumentState = "given_up"
)

// Document is a file of a candidate, referenced from an export's attachments.
type Document struct {
	ID        int64
	ExportID  int64
	Tenant    string
	Position  int    // among the export's attachments, from 0
	SourceURL []byte // where the service offers it; a credential
	State     DocumentState
	Reason    string // why it was given up, without its URL
	Tries     int
	Refusals  int       // tries that were answered with a status that rarely changes: after a few of them it is given up
	NextAt    time.Time // of the next try
	Blob      string    // name in the document store
	SHA256    []byte
	Size      int64
	Declared  string // media type as its sender says
	Detected  string // media type by content
	FileName  string
	CreatedAt time.Time
	FetchedAt time.Time
}

// MediaType is the type to serve the document as: what its sender declared, or what its content says.
func (d *Document) MediaType() string {
	if d.Declared != "" {
		return d.Declared
	}
	return d.Detected
}
