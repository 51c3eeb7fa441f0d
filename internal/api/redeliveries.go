package api

import (
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// RedeliveryInput redelivers the exports of a range of time to an integration.
type RedeliveryInput struct {
	Integration string               `json:"integration" schema:"ref=ShortName"`
	Since       time.Time            `json:"since"`          // exports received then or later
	Until       time.Time            `json:"until,omitzero"` // exports received before; left out: now
	Mode        model.RedeliveryMode `json:"mode,omitzero"`  // left out: failed
	// of the last delivery; left out: any
	Outcome model.Outcome `json:"outcome,omitzero" schema:"enum=delivered|failed|expired"`
	// of the last delivery; left out: any
	Class model.Class `json:"class,omitzero" schema:"enum=partner_fault|data_fault|our_fault"`
	// of its last attempt: an HTTP status such as 503, a class such as 5xx, or none where no answer came; left out: any
	Status model.StatusChoice `json:"status,omitzero" schema:"pattern=^([1-5][0-9][0-9]|[1-5]xx|none)$"`
	// how many attempts there were at the last delivery, at least; left out: any number
	Attempts int `json:"attempts,omitzero" schema:"minimum=1 maximum=100000"`
	// exports received longer ago than this duration, such as 24h; left out: all up to until
	WaitingLonger string `json:"waitingLonger,omitzero"`
	// exports a second; left out: half of the integration's inFlight
	Rate   int  `json:"rate,omitzero" schema:"minimum=1 maximum=1000"`
	DryRun bool `json:"dryRun,omitzero"` // only a preview: nothing begins
}

// RedeliveryPreview says what a redelivery would do.
type RedeliveryPreview struct {
	Count  int64     `json:"count"`
	Oldest time.Time `json:"oldest,omitzero"` // when the oldest was received; absent: there is none
	Newest time.Time `json:"newest,omitzero"` // when the newest was received; absent: there is none
	// exports of which a document can't be downloaded any more, or that can't be redelivered because their document URLs
	// ended
	Expired int64 `json:"expiredDocuments"`
	// exports that the integration received before: they arrive once more
	Received int64 `json:"received"`
	// exports of the range that it does not choose, and why
	LeftOut []model.LeftOut    `json:"leftOut"`
	Rate    int                `json:"rate"`                        // exports a second
	Until   time.Time          `json:"until"`                       // when it counted, or the end of the range: give it to redeliver these alone
	Samples []RedeliverySample `json:"samples" schema:"maxItems=5"` // the oldest
}

// RedeliverySample is an export that a redelivery would reach, and its last delivery to the integration.
type RedeliverySample struct {
	UUID       string    `json:"uuid"`
	ReceivedAt time.Time `json:"receivedAt"`
	// of the last delivery; absent: it was not addressed to the integration
	Outcome model.Outcome `json:"outcome,omitempty" schema:"enum=delivered|failed|expired"`
	Reason  string        `json:"reason,omitempty"`
}

// Redelivery is a redelivery of a range, with the progress of what it began.
type Redelivery struct {
	ID          string               `json:"id"`
	Tenant      string               `json:"tenant" schema:"ref=ShortName"`
	Integration string               `json:"integration" schema:"ref=ShortName"`
	Mode        model.RedeliveryMode `json:"mode"`
	Since       time.Time            `json:"since"`
	Until       time.Time            `json:"until"`
	Outcome     model.Outcome        `json:"outcome,omitempty" schema:"enum=delivered|failed|expired"`
	Class       model.Class          `json:"class,omitempty" schema:"enum=partner_fault|data_fault|our_fault"`
	Status      model.StatusChoice   `json:"status,omitempty" schema:"pattern=^([1-5][0-9][0-9]|[1-5]xx|none)$"`
	Attempts    int                  `json:"attempts,omitzero"`
	Rate        int                  `json:"rate"` // exports a second
	// exports a second that it reached so far, since it was asked for
	ReachedRate float64 `json:"reachedRate"`
	// finished: it reached every export; waiting counts those still under way
	State     model.RedeliveryState `json:"state"`
	Reason    string                `json:"reason,omitempty"` // why it waits, chose nothing, or was cancelled by itself
	Total     int64                 `json:"total"`            // exports that were chosen when it was asked for
	Done      int64                 `json:"done"`             // exports that were delivered
	Failed    int64                 `json:"failed"`
	Waiting   int64                 `json:"waiting"`           // begun, and neither delivered nor failed yet
	Skipped   int64                 `json:"skipped"`           // could not be redelivered, or were by another request
	BegunBy   string                `json:"begunBy,omitempty"` // who asked for it, as in the audit
	CreatedAt time.Time             `json:"createdAt"`
	UpdatedAt time.Time             `json:"updatedAt"`
	EndedAt   time.Time             `json:"endedAt,omitzero"`
}

// Reached returns the number of exports that it has come to.
func (r *Redelivery) Reached() int64 { return r.Done + r.Failed + r.Waiting + r.Skipped }
