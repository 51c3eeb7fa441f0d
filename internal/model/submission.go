package model

import "time"

// SubmissionState is the state of a submission.
type SubmissionState string

// The states of a submission. All but the first are final, until somebody redelivers it.
const (
	SubmissionWaiting   SubmissionState = "waiting"   // it is on its way to the service
	SubmissionDelivered SubmissionState = "delivered" // the service accepted it
	SubmissionRefused   SubmissionState = "refused"   // the service does not want it: somebody has to look
	SubmissionFailed    SubmissionState = "failed"    // the service was away for too long: somebody has to look
	SubmissionSuspected SubmissionState = "suspected" // a machine may have sent it: somebody has to look
	SubmissionResolved  SubmissionState = "resolved"  // somebody entered it at the service by hand
)

// SubmissionStates are all states, in the order they are shown.
var SubmissionStates = []SubmissionState{SubmissionWaiting, SubmissionDelivered, SubmissionRefused, SubmissionFailed,
	SubmissionSuspected, SubmissionResolved}

// Submission is an application on its way through a partner's gateway to the service. Nothing in it but Content is
// personal.
type Submission struct {
	Key      int64 // in the order they came
	Tenant   string
	ID       string // the receipt
	Job      string // the job board code
	Title    string // of the job, when the application came; empty: it was not known
	State    SubmissionState
	Attempts int
	// Reason says what the last attempt came to, in a sentence for people; empty: it was delivered, or not tried yet.
	Reason string
	// Uncertain means that an attempt had no answer after the body was sent, and the service did not say later that it
	// knew the application: it may have arrived twice.
	Uncertain  bool
	Noted      string // what was unusual in the answer that accepted it, or what somebody wrote who resolved it
	ReceivedAt time.Time
	NextAt     time.Time // of the next attempt; zero: none is planned
	TryUntil   time.Time
	EndedAt    time.Time // when the state became a final one
	ErasedAt   time.Time // when Content was erased; zero: it is there
	// LastAttempts are read on their own.
	LastAttempts []SubmissionAttempt
}

// KeptAttempts is how many attempts of a submission are kept: the last ones.
const KeptAttempts = 20

// SubmissionAttempt is an attempt of a submission. It has nothing of the applicant.
type SubmissionAttempt struct {
	Number     int             `json:"number" schema:"minimum=1"`
	StartedAt  time.Time       `json:"startedAt"`
	DurationMs float64         `json:"durationMs" schema:"minimum=0"`
	Status     int             `json:"status,omitzero"` // of the answer; absent: there was none
	Class      SubmissionClass `json:"class" schema:"enum=delivered|refused|service_fault|unsendable"`
	Reason     string          `json:"reason,omitempty"` // a sentence; absent: it was delivered
}

// SubmissionClass says what an attempt of a submission came to.
type SubmissionClass string

// The classes of attempts.
const (
	AttemptDelivered    SubmissionClass = "delivered"
	AttemptRefused      SubmissionClass = "refused"       // the service does not want it
	AttemptServiceFault SubmissionClass = "service_fault" // the service is away, or does not accept what we send
	AttemptUnsendable   SubmissionClass = "unsendable"    // it could not be sent
)

// SubmissionContent has the answers of an applicant, and what the service said about them. It is sealed.
type SubmissionContent struct {
	Key     string             `json:"key"` // Idempotency-Key at the service
	Source  string             `json:"source"`
	Passed  []string           `json:"passed,omitempty"` // the relayed tenants that it came through
	Answers []SubmissionAnswer `json:"answers"`
	Refusal []InvalidAnswer    `json:"refusal,omitempty"`
}

// SubmissionAnswer is an answer in the order in which it was sent.
type SubmissionAnswer struct {
	Question   string `json:"question"`
	Value      string `json:"value,omitempty"`
	Blob       string `json:"blob,omitempty"` // of the document store: instead of a value
	SHA256     []byte `json:"sha256,omitempty"`
	Size       int64  `json:"size,omitempty"`
	Compliance bool   `json:"compliance,omitempty"` // shown to nobody
}

// InvalidAnswer says why an answer is refused (contract, "Validation item").
type InvalidAnswer struct {
	QuestionID string   `json:"questionId"`
	Messages   []string `json:"messages"`
}
