package api

import "time"

// ExportInput triggers the export of a candidate.
type ExportInput struct {
	Integration string `json:"integration,omitzero"` // the one it goes to; left out: all of the tenant's
	// the one that the export is about; needed when the candidate has several
	JobApplication string `json:"jobApplication,omitzero"`
	NoWait         bool   `json:"noWait,omitzero"` // answer before the first attempts
}

// Exported answers the export of a candidate. It says where the deliveries stand after the first attempt.
type Exported struct {
	UUID       string       `json:"uuid"`
	Deliveries []ExportedTo `json:"deliveries"`
	State      ExportState  `json:"state"`
	Fault      string       `json:"fault,omitempty"` // why it goes nowhere
}

// ExportedTo is a delivery with the last answer to it.
type ExportedTo struct {
	Delivery
	Status int    `json:"status,omitzero"`  // of the last answer; absent: none came
	Answer string `json:"answer,omitempty"` // the head of the last answer, at most 4 KiB
}

// RedeliverInput redelivers an export.
type RedeliverInput struct {
	// left out: all of the tenant's
	Integrations []string `json:"integrations,omitzero" schema:"minItems=1 items.ref=ShortName"`
}

// Redelivered says what the redelivery of an export did for each integration.
type Redelivered struct {
	Round   int      `json:"round"`
	Started []string `json:"started,omitempty" schema:"items.ref=ShortName"` // delivered again, in this round
	// under way already: the next attempt is made now
	Hurried []string `json:"hurried,omitempty" schema:"items.ref=ShortName"`
}

// Released answers the release of an export from quarantine.
type Released struct {
	Round    int      `json:"round"`
	Released []string `json:"released" schema:"items.ref=ShortName"` // the integrations whose deliveries go on
}

// Fetching answers that the documents of an export are fetched now.
type Fetching struct {
	Documents int64 `json:"documents"` // how many are tried now
}

// EraseInput erases an export.
type EraseInput struct {
	// ends first what is still to come of an export: its deliveries fail, its documents are given up, it leaves
	// quarantine; without it, an export that is not finished is refused
	Cancel bool `json:"cancel,omitzero"`
}

// EraseCandidateInput erases the exports of a candidate.
type EraseCandidateInput struct {
	// the id that exports know the candidate by
	Candidate string `json:"candidate" schema:"minLength=1 maxLength=1020"`
	EraseInput
}

// Erasure says what became of an export that was to be erased.
type Erasure struct {
	ID         string    `json:"id"` // its X-Service-UUID, or what stands in for it
	ReceivedAt time.Time `json:"receivedAt"`
	ErasedAt   time.Time `json:"erasedAt,omitzero"` // absent: it was not erased
	Refused    string    `json:"refused,omitempty"` // why it was not erased: it is not finished
}
