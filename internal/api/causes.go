package api

import (
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// Causes groups the attempts at an integration that were not received by what was answered.
type Causes struct {
	Items []Cause `json:"items" schema:"maxItems=20"` // the cause of the last attempt first
	// there are more: only the 5,000 attempts are counted whose deliveries changed last, and only 20 causes are shown
	More bool `json:"more"`
}

// Cause counts attempts that were not received for the same reason, retries included.
type Cause struct {
	Status int         `json:"status,omitzero"` // absent: no answer came
	Class  model.Class `json:"class,omitempty" schema:"enum=partner_fault|data_fault"`
	Reason string      `json:"reason"`
	// the reason taken apart; absent: there is none, or it has no code
	Why      *model.Reason `json:"why,omitempty"`
	Attempts int64         `json:"attempts"`
	Exports  int64         `json:"exports"` // that these attempts were made for
	First    time.Time     `json:"first"`
	Last     time.Time     `json:"last"`
	Sample   CauseSample   `json:"sample"`
}

// CauseSample is the last attempt of a cause.
type CauseSample struct {
	UUID   string `json:"uuid"`   // of its export
	Answer string `json:"answer"` // the head of the answer, at most 4 KiB; for operators
}

// AcknowledgeInput says that somebody knows of a cause.
type AcknowledgeInput struct {
	// one line for those who look at the cause; write no personal data
	Note  string    `json:"note,omitzero" schema:"maxLength=200"`
	Until time.Time `json:"until"` // until when it is not counted, 30 days from now at most
}

// CauseRetryInput retries a cause.
type CauseRetryInput struct {
	// when the exports were counted: those that came later, and integrations that have the cause since then, are left alone;
	// left out: now
	Until time.Time `json:"until,omitzero"`
}

// CauseRetry says what was begun at the integrations of a cause.
type CauseRetry struct {
	Begun   int `json:"begun"`   // integrations at which the oldest is tried first
	Refused int `json:"refused"` // those that take no exports at present: they are disabled, or not verified
}
