package api

import (
	"encoding/json"
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// ExportFilters are the parameters of a query that choose among exports. Of two that are asked for, both hold; uuid stands
// alone.
var ExportFilters = []string{"outcome", "class", "integration", "candidate", "quarantined", "undelivered", "lostDocuments",
	"lateDocuments", "redelivery", "status", "attempts", "waitingLonger", "since", "until", "uuid"}

// Export is an export in a list. Of the candidate it has only an id, and nothing of what a partner answered.
type Export struct {
	ID     string `json:"id"` // its X-Service-UUID, or what stands in for it
	Tenant string `json:"tenant" schema:"ref=ShortName"`
	// no tenant of that name is configured any more: it can be read, and what is left of its way waits
	Removed    bool         `json:"tenantRemoved,omitzero"`
	ReceivedAt time.Time    `json:"receivedAt"`
	Origin     model.Origin `json:"origin"`    // received from a service, or triggered here
	Candidate  string       `json:"candidate"` // the id of the candidate: person.id.value
	// of one that was triggered here: the id of the job application that it is about, and of the step that this entered;
	// absent: there is none, or it was erased
	JobApplication string `json:"jobApplication,omitempty"`
	Step           string `json:"step,omitempty"`
	Attachments    int    `json:"attachments"`
	Fetched        int    `json:"fetched"` // how many of the attachments are stored here
	Size           int64  `json:"size"`    // of the body, in bytes
	SHA256         string `json:"sha256" schema:"pattern=^[0-9a-f]{64}$"`
	Round          int    `json:"round"` // 0 at first; each redelivery or release begins the next
	// the id of its workflow in Temporal, or of the workflow of its group
	Workflow string `json:"workflow"`
	// its trace in OpenTelemetry; absent: it has none
	TraceID string      `json:"traceId,omitempty" schema:"pattern=^[0-9a-f]{32}$"`
	State   ExportState `json:"state"`            // of the current round
	Reason  string      `json:"reason,omitempty"` // why it waits, while its state is waiting
	// the reason taken apart; absent: there is none, or it has no code
	Why          *model.Reason `json:"why,omitempty"`
	DispatchedAt time.Time     `json:"dispatchedAt,omitzero"` // when its workflow started
	Fault        string        `json:"fault,omitempty"`       // why it goes nowhere until it is redelivered
	// it breaks the schema, and is not delivered before it is released
	Quarantined bool `json:"quarantined"`
	// when its personal data was erased, by retention or on request; it can't be redelivered
	ErasedAt   time.Time  `json:"erasedAt,omitzero"`
	Deliveries []Delivery `json:"deliveries"`
	// how it breaks the schema, also after its release; absent: it is valid
	Findings json.RawMessage `json:"findings,omitempty" schema:"ref=Findings"`
}

// ExportState is where a round of an export is on its way to Temporal.
type ExportState string

// The states of an export.
const (
	ExportWaiting    ExportState = "waiting" // for Temporal
	ExportDispatched ExportState = "dispatched"
	ExportFault      ExportState = "fault" // it goes nowhere until it is redelivered
)

// Delivery is an export on its way to an integration, in one round.
type Delivery struct {
	Integration string `json:"integration"` // empty: the tenant had no integration
	Round       int    `json:"round"`
	// no later round went to this integration: this is how the export stands there; rounds are per integration
	Current  bool          `json:"current"`
	Outcome  model.Outcome `json:"outcome"`
	Class    model.Class   `json:"class"` // who has to do something about it
	Attempts int           `json:"attempts"`
	Reason   string        `json:"reason,omitempty"` // why it is not delivered, or what it waits for
	// the reason taken apart; absent: there is none, or it has no code
	Why *model.Reason `json:"why,omitempty"`
	// when it was changed last
	UpdatedAt time.Time `json:"updatedAt"`
	// of the next attempt, at the earliest; absent: the delivery is final, or a person has to do something first
	NextAt time.Time `json:"nextAt,omitzero"`
	// who asked for this round, as in the audit; absent: nobody did, the export came or was triggered
	BegunBy    string `json:"begunBy,omitempty"`
	Redelivery string `json:"redelivery,omitempty"` // the id of the redelivery of a range that began it; absent: none did
}

// AnswerSearchInput is a text that is sought in what receivers answered.
type AnswerSearchInput struct {
	Text string `json:"text" schema:"minLength=1 maxLength=200"` // in capitals or not
}

// AnswerSearch is a page of the exports whose last attempt was answered with a text.
type AnswerSearch struct {
	Items []Export `json:"items"`
	Next  *string  `json:"next"` // the cursor with which the search goes on; null: it looked at all
	// at so many exports: a search ends with its page, at 10,000 exports, at 64 MiB of answers, or after three seconds
	Looked int       `json:"looked"`
	Last   time.Time `json:"last,omitzero"` // when the last of these came; absent: there were none
}

// ExportDetail is an export with its attempts, its documents and its audit.
type ExportDetail struct {
	Export
	// of its workflow in Temporal's UI; absent where the configuration does not name the UI, and before the workflow
	// starts
	WorkflowURL string           `json:"workflowUrl,omitempty" schema:"format=uri"`
	Deliveries  []DeliveryDetail `json:"deliveries"`
	Documents   []ExportDocument `json:"documents"` // empty until their download begins
	// when the URLs of its documents end, as they came: 2 h 30 min after the export
	DocumentsTill time.Time `json:"documentsTill"`
	// when its deliveries are given up that are under way by then: 72 hours after it came or was redelivered
	DeliverTill time.Time `json:"deliverTill"`
	// who triggered it, by an export of a candidate or by a job application that entered a step with a helper; absent: it
	// was received, or that was more than 400 days ago
	Author *model.Author      `json:"author,omitempty"`
	Audit  []model.AuditEntry `json:"audit"` // who did what to it, the newest first; at most the last 50
}

// DeliveryDetail is a delivery with its attempts.
type DeliveryDetail struct {
	Delivery
	History []Attempt `json:"history"` // the attempts, the first one first; of more than 100 the last 100
}

// Attempt is one request to an integration and the answer to it.
type Attempt struct {
	Number     int       `json:"number"`
	StartedAt  time.Time `json:"startedAt"`
	DurationMs float64   `json:"durationMs"`
	Status     int       `json:"status,omitzero"` // absent: no answer came
	// what the status says; absent: no answer came
	Class   model.Class   `json:"class,omitempty" schema:"enum=delivered|partner_fault|data_fault"`
	Error   string        `json:"error,omitempty"`
	Why     *model.Reason `json:"why,omitempty"`     // the error taken apart; absent: it has no code
	Answer  string        `json:"answer"`            // the head of the answer, at most 64 KiB; for operators
	Header  string        `json:"header,omitempty"`  // of the answer, a line each, at most 8 KiB and without Set-Cookie
	Address string        `json:"address,omitempty"` // the IP address and port that it was sent to, or was to be
	Phases  AttemptPhases `json:"phases"`
	Manual  bool          `json:"manual"` // a person asked for it, with a redelivery
}

// AttemptPhases says how long the parts of an attempt took. A part that the attempt did not reach is left out, and so
// are the first three on an open connection.
type AttemptPhases struct {
	DNS       float64 `json:"dnsMs,omitzero"`
	Connect   float64 `json:"connectMs,omitzero"`
	TLS       float64 `json:"tlsMs,omitzero"`
	FirstByte float64 `json:"firstByteMs,omitzero"` // from the end of the request to the begin of the answer
}

// ExportDocument is a document of an export. It leaves out the file's name, which may hold a candidate's, and its
// source, which is a credential.
type ExportDocument struct {
	Position int                 `json:"position"`
	State    model.DocumentState `json:"state"`
	Reason   string              `json:"reason,omitempty"` // why it was given up, or how the last try ended
	Why      *model.Reason       `json:"why,omitempty"`
	// whose fault it is that it was given up, or that the last try failed; absent: it did not
	Fault     string    `json:"fault,omitempty" schema:"enum=service|ours"`
	Tries     int       `json:"tries"`
	Size      int64     `json:"size"`
	MimeType  string    `json:"mimeType,omitempty"`
	SHA256    string    `json:"sha256,omitempty"`
	BegunAt   time.Time `json:"begunAt"`         // when its download began
	NextAt    time.Time `json:"nextAt,omitzero"` // of the next try, while it is fetched
	FetchedAt time.Time `json:"fetchedAt,omitzero"`
	LostAt    time.Time `json:"lostAt,omitzero"` // when it was given up
}

// ExportBody is the body of an export with its headers.
type ExportBody struct {
	ID            string    `json:"id"` // its X-Service-UUID, or what stands in for it
	ReceivedAt    time.Time `json:"receivedAt"`
	Link          string    `json:"link,omitempty"`          // the header Link
	ExportContext string    `json:"exportContext,omitempty"` // the header Export-Context
	Body          string    `json:"body"`                    // byte for byte as it came
}

// ExportStructure says what parts a body has.
type ExportStructure struct {
	// each part before those within it; members in the order of their names
	Parts []model.BodyPart `json:"parts" schema:"maxItems=1000"`
	More  bool             `json:"more"` // there are more than 1,000 parts
}
