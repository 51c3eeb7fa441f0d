package api

import (
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// Integration is a destination of a tenant's exports.
type Integration struct {
	ID     string `json:"id" schema:"ref=ShortName"` // its name, which is unique in its tenant
	Tenant string `json:"tenant" schema:"ref=ShortName"`
	Name   string `json:"name" schema:"ref=ShortName"`
	// exports go to a configured one only; for the others they are held
	State  model.IntegrationState `json:"state"`
	Reason string                 `json:"reason,omitempty"` // why it is not configured, or disabled
	// the reason taken apart; absent: there is none, or it has no code
	Why       *model.Reason `json:"why,omitempty"`
	Attempts  int           `json:"attempts"` // verifications sent with this setting
	UpdatedAt time.Time     `json:"updatedAt,omitzero"`
	// who disabled it; a partner does so by answering 410; absent: it is not disabled
	DisabledBy string `json:"disabledBy,omitempty" schema:"enum=operator|partner"`
	URL        string `json:"url"` // scheme and host only: the rest may be a credential
	// others with exactly its URL, as TENANT/NAME, ten at most and only those that the caller sees: its identifier does not
	// tell the receiver whose exports come in; absent from lists
	SameURL []string `json:"sameUrl,omitempty"`
	model.Options
	Rotating  bool      `json:"rotating,omitzero"`  // it has a former secret, which signs as well
	RotatedAt time.Time `json:"rotatedAt,omitzero"` // since when; absent: it is not known, as of one in the Caddyfile
	// how the receiver knows who calls, beside the signature; absent: by that alone
	Authentication *AuthenticationSet `json:"authentication,omitempty"`
	Declared       bool               `json:"declared"` // in the Caddyfile: it is changed there
	Version        int64              `json:"version,omitzero" schema:"minimum=1"`
}

// IntegrationInput makes or changes an integration. A new secret without a former one is the only one.
type IntegrationInput struct {
	Name string `json:"name,omitzero" schema:"ref=ShortName"`
	// the webhook's address, with an identifier in its path or its query; left out of an edit: it stays
	URL    string `json:"url,omitzero"`
	Secret string `json:"secret,omitzero"` // signs the exports; left out of an edit: it stays
	// the secret before, which signs as well during a rotation; left out of an edit: it stays, unless there is a new
	// secret; empty: there is none any more
	Former *string `json:"formerSecret,omitzero"`
	Rotate bool    `json:"rotate,omitzero"` // with a new secret: the one so far becomes formerSecret
	model.Options
	// credentials beside the signature, which are not shown again; left out of an edit: they stay, unless the URL leads to
	// another host; an empty object: there are none any more. All are replaced at once
	Authentication *model.Authentication `json:"authentication,omitzero"`
}

// Input returns the edit that changes nothing. What is not shown of an integration, its URL, secrets and credentials,
// stays when it is left out.
func (i *Integration) Input() IntegrationInput { return IntegrationInput{Options: i.Options} }

// AuthenticationSet says which credentials an integration has. Their values are not shown.
type AuthenticationSet struct {
	Headers []string `json:"headers,omitempty"` // the names of headers that are sent
	// what makes the header Authorization; absent: nothing, or one of the headers
	Scheme   string `json:"scheme,omitempty" schema:"enum=basic|bearer|oauth2"`
	TokenURL string `json:"tokenUrl,omitempty"` // with oauth2: scheme and host only
	// when the certificate ends that is shown to the receiver; absent: there is none
	CertificateEndsAt time.Time `json:"certificateEndsAt,omitzero"`
	CA                bool      `json:"ca,omitzero"` // the receiver's certificate must be of authorities of its own
}

// DisableInput says why an integration is disabled.
type DisableInput struct {
	// one line for the people who look at held exports; write no personal data
	Reason string `json:"reason,omitzero" schema:"maxLength=200"`
}

// Transcript is the answer to a VERIFY event.
type Transcript struct {
	SentAt     time.Time     `json:"sentAt"`
	DurationMs float64       `json:"durationMs"`
	Status     int           `json:"status,omitzero"`   // absent: no answer came
	Answer     string        `json:"answer"`            // the head of the answer, at most 4 KiB
	Header     string        `json:"header,omitempty"`  // of the answer, a line each, without Set-Cookie
	Address    string        `json:"address,omitempty"` // the IP address and port that it was sent to
	Phases     AttemptPhases `json:"phases"`
	Error      string        `json:"error,omitempty"`  // why no answer came
	Reason     string        `json:"reason,omitempty"` // what is wrong, and what to do; absent: it was answered with 200
	Why        *model.Reason `json:"why,omitempty"`    // the reason taken apart; absent: it has no code
	// the line of the Caddyfile with which egress lets requests through to the address; absent: it does, or it is public
	Allow string `json:"allow,omitempty"`
	// what came back is left out, since the address is none of the public ones, and the caller sees one tenant
	Withheld bool `json:"withheld,omitzero"`
}

// ReceiverTest is a VERIFY event to an integration that is not saved, and the answer to it.
type ReceiverTest struct {
	Verified bool `json:"verified"` // it was answered with exactly 200
	Transcript
}

// Trial is a test export and the answer to it; or a VERIFY event that was not answered with 200, so that no export
// followed.
type Trial struct {
	UUID     string `json:"uuid" schema:"pattern=^test-"` // of the export
	Received bool   `json:"received"`                     // the export was answered with 2xx
	// what request and answer are of; VERIFY: the integration is not verified, and the export was not sent
	Event string `json:"event,omitempty" schema:"enum=CANDIDATE-EXPORT|VERIFY"`
	// who has to look at the failure; absent: it was received
	Class      model.Class        `json:"class,omitempty" schema:"enum=partner_fault|data_fault|our_fault"`
	URL        string             `json:"url"` // scheme and host only: the rest may be a credential
	Documents  model.DocumentMode `json:"documents"`
	Header     map[string]string  `json:"header"` // of the request
	Body       string             `json:"body"`   // of the request; the candidate in it is invented
	SentAt     time.Time          `json:"sentAt"`
	DurationMs float64            `json:"durationMs"`
	Status     int                `json:"status,omitzero"` // absent: no answer came
	Answer     string             `json:"answer"`          // the head of the answer, at most 4 KiB
	Error      string             `json:"error,omitempty"` // why it was not received
}

// Retry counts the deliveries that wait for their next attempt at an integration, and says what came of the last time
// that all of them were attempted at once.
type Retry struct {
	Tenant      string `json:"tenant" schema:"ref=ShortName"`
	Integration string `json:"integration" schema:"ref=ShortName"`
	State       string `json:"state" schema:"enum=none|running|ended"` // none: there was none so far
	// the deliveries that wait for their next attempt; while it is running, those that it has not reached yet. At most 1,000
	Waiting int64 `json:"waiting"`
	More    bool  `json:"more,omitzero"` // more than 1,000 wait
	// a person asked for it; otherwise it began by itself, when the integration received an export after it had failed
	Asked    bool  `json:"asked"`
	Received int64 `json:"received"` // deliveries that were received
	// deliveries that failed once more; they wait for their next attempt, which is when it was planned before
	Failed  int64     `json:"failed"`
	Reason  string    `json:"reason,omitempty"` // why it ended before it reached all
	BeganAt time.Time `json:"beganAt,omitzero"`
	EndedAt time.Time `json:"endedAt,omitzero"`
}
