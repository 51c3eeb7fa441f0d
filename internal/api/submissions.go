package api

import (
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// Submission is an application on its way to the service that its tenant is relayed to. It has nothing of the applicant.
type Submission struct {
	ID         string                `json:"id" schema:"ref=Id"` // the receipt, which the partner's site got
	Tenant     string                `json:"tenant" schema:"ref=ShortName"`
	Job        string                `json:"jobBoardCode" schema:"ref=Id"`
	Title      string                `json:"title,omitempty"` // of the job, when the application came; absent: it was not known
	State      model.SubmissionState `json:"state"`
	Attempts   int                   `json:"attempts"`
	Reason     string                `json:"reason,omitempty"` // what the last attempt came to
	Uncertain  bool                  `json:"uncertain"`        // the service may have it twice
	Note       string                `json:"note,omitempty"`   // of an unusual answer, or of whoever resolved it
	ReceivedAt time.Time             `json:"receivedAt"`
	NextAt     time.Time             `json:"nextAt,omitzero"`   // absent: no attempt is planned
	TryUntil   time.Time             `json:"tryUntil"`          // it fails then
	EndedAt    time.Time             `json:"endedAt,omitzero"`  // absent: it is waiting
	ErasedAt   time.Time             `json:"erasedAt,omitzero"` // absent: what the applicant sent is there
	// up to 20, the first of them at the beginning; absent in lists, or when none was made
	LastAttempts []model.SubmissionAttempt `json:"lastAttempts,omitempty"`
}

// SubmissionResolution says that somebody entered a submission at the service by hand.
type SubmissionResolution struct {
	Note string `json:"note" schema:"maxLength=500"` // where it is; nothing of the applicant
}

// SubmissionAnswers has what an applicant sent, without the answers to the questions of compliance groups.
type SubmissionAnswers struct {
	Source  string                `json:"source"`
	Answers []SubmissionAnswer    `json:"answers"`
	Refusal []model.InvalidAnswer `json:"refusal"` // what the service said about them
}

// SubmissionAnswer is an answer.
type SubmissionAnswer struct {
	Question string `json:"questionId"`
	Label    string `json:"label,omitempty"` // of the question; absent: it is not known any more
	Value    string `json:"value,omitempty"` // absent: a file
	Size     int64  `json:"size,omitempty"`  // of a file, in bytes
}

// SubmissionFilters are the query parameters that choose submissions.
var SubmissionFilters = []string{"state", "receipt", "email"}
