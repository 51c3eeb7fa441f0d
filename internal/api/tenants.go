package api

import (
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// Tenant is a tenant without its secrets.
type Tenant struct {
	ID       string `json:"id" schema:"ref=ShortName"`
	Name     string `json:"name"`     // for people
	Declared bool   `json:"declared"` // in the Caddyfile: it is changed there
	// file and line of the Caddyfile where it stands; absent: it is not known, or the tenant is stored
	Source  string `json:"source,omitempty"`
	Secrets int    `json:"secrets"` // how many it has
	// what becomes of exports that break the schema
	Invalid string `json:"invalid" schema:"enum=refuse|quarantine"`
	// what becomes of exports with listed deviations from the schema, and no other fault
	Deviations string      `json:"deviations" schema:"enum=accept|refuse|quarantine"`
	Rate       *model.Rate `json:"rate,omitempty"` // absent: there is no limit
	Zone       string      `json:"zone,omitempty"` // IANA name of the zone in which its days begin; absent: UTC
	// words by which tenants are grouped: lists are filtered by them
	Labels map[string]string `json:"labels,omitempty"`
	// for how many days its job applications are kept after they ended, unless their job says otherwise; absent: until
	// they are deleted
	KeepApplications int `json:"keepApplications,omitzero" schema:"minimum=4"`
	// where its exports come in, as its service has to know it; absent: the gateway's sites do not tell
	InboundURL   string    `json:"inboundUrl,omitempty"`
	Integrations []string  `json:"integrations" schema:"items.ref=ShortName"`
	Version      int64     `json:"version,omitzero" schema:"minimum=1"`
	CreatedAt    time.Time `json:"createdAt,omitzero"`
	UpdatedAt    time.Time `json:"updatedAt,omitzero"`
}

// What becomes of exports that break the schema.
const (
	RefuseInvalid     = "refuse"
	QuarantineInvalid = "quarantine"
)

// TenantInput makes or changes a tenant.
type TenantInput struct {
	Name string `json:"name,omitzero" schema:"maxLength=255"` // for people
	// the inbound signing secrets, two during a rotation; empty: the tenant receives nothing; left out: they stay, as no
	// answer shows them
	Secrets *[]string `json:"secrets,omitzero" schema:"maxItems=10 items.minLength=1"`
	// what becomes of exports that break the schema; empty or left out: refuse
	Invalid string `json:"invalid,omitzero" schema:"enum=|refuse|quarantine"`
	// what becomes of exports with listed deviations from the schema, and no other fault; empty or left out: accept
	Deviations string      `json:"deviations,omitzero" schema:"enum=|accept|refuse|quarantine"`
	Rate       *model.Rate `json:"rate,omitzero"` // null or left out: there is no limit
	Zone       string      `json:"zone,omitzero"` // IANA name of the zone in which its days begin; empty or left out: UTC
	// words by which tenants are grouped, such as "region": "north", ten at most; left out: there are none.
	// Whose key opens this tenant alone leaves them as they are: people have roles by them.
	Labels map[string]string `json:"labels,omitzero"`
	// the tenant was removed before and gets back what is kept of it; without it, a new tenant whose name something is
	// kept under is refused (409)
	Restore bool `json:"restore,omitzero"`
}

// ApplyUpstream is the Apply API of the service that a tenant's applications are relayed to, without its password.
type ApplyUpstream struct {
	URL    string `json:"url" schema:"format=uri"` // that v2/authentication is below
	User   string `json:"user"`
	Source string `json:"source,omitempty"` // of applications that name none
	// for how many seconds a partner's site waits for the service's own answer
	Wait int `json:"waitSeconds" schema:"minimum=0 maximum=30"`
	// for how many hours an application is sent again while the service is away
	TryFor int        `json:"tryForHours" schema:"minimum=1 maximum=336"`
	Keep   int        `json:"keepDays" schema:"minimum=0 maximum=90"` // what an applicant sent, after it was delivered
	Rate   model.Rate `json:"rate"`                                   // of what each gateway sends to the service
	// of the service's job feed, which has the jobs' titles; absent: forms show their codes
	Feed string `json:"feed,omitempty" schema:"format=uri"`
}

// ApplyUpstreamInput has a tenant's applications relayed to the Apply API of a service.
type ApplyUpstreamInput struct {
	URL  string `json:"url" schema:"format=uri"` // that v2/authentication is below
	User string `json:"user"`
	// left out: it stays, as no answer shows it; not where the address or the user is another
	Password string      `json:"password,omitzero"`
	Source   string      `json:"source,omitzero" schema:"maxLength=255"`              // of applications that name none
	Wait     *int        `json:"waitSeconds,omitzero" schema:"minimum=0 maximum=30"`  // left out: 5
	TryFor   *int        `json:"tryForHours,omitzero" schema:"minimum=1 maximum=336"` // left out: 168
	Keep     *int        `json:"keepDays,omitzero" schema:"minimum=0 maximum=90"`     // left out: 7
	Rate     *model.Rate `json:"rate,omitzero"`                                       // null or left out: 5/s burst 10
	// of the service's job feed, which has the jobs' titles; empty or left out: forms show their codes
	Feed string `json:"feed,omitzero"`
}

// ApplyUpstreamTest says whether the service lets the user sign in.
type ApplyUpstreamTest struct {
	SignedIn bool   `json:"signedIn"`
	Reason   string `json:"reason,omitempty"` // a sentence that says what to correct; absent: nothing
}

// TenantSecretInput gives a tenant another inbound secret.
type TenantSecretInput struct {
	Secret string `json:"secret,omitzero"` // that the service has; empty or left out: one is made
}

// TenantSecret is an inbound secret that a tenant was given.
type TenantSecret struct {
	Number int    `json:"number" schema:"minimum=1"` // among the secrets of the tenant, in their order
	Secret string `json:"secret,omitempty"`          // only where it was made here: keep it, since nothing shows it again
}

// TenantSecretEnd ends an inbound secret of a tenant at a time, on all nodes.
type TenantSecretEnd struct {
	EndsAt time.Time `json:"endsAt,omitzero"` // what is signed with it is refused from then on; left out or null: it goes on
}

// TenantRemoval answers the removal of a tenant.
type TenantRemoval struct {
	Kept []string `json:"kept"` // what stays of the tenant, in words, such as exports or candidates
}

// Signatures says what the exports of a tenant are signed with. It changes with each export, and the entity tag of the
// tenant does not.
type Signatures struct {
	Secrets []SecretUse       `json:"secrets"`
	Refused RefusedSignatures `json:"refused"`
}

// SecretUse says when one of a tenant's inbound secrets was last used. It is stored once a minute.
type SecretUse struct {
	Number     int       `json:"number" schema:"minimum=1"` // among the secrets of the tenant, in their order
	LastUsedAt time.Time `json:"lastUsedAt,omitzero"`       // absent: it was not used
	EndsAt     time.Time `json:"endsAt,omitzero"`           // when it ends, or has ended; absent: it goes on
}

// RefusedSignatures counts the requests at the hook whose signature matched no secret (401).
type RefusedSignatures struct {
	Count  int64     `json:"count" schema:"minimum=0"`
	LastAt time.Time `json:"lastAt,omitzero"` // absent: there was none
}

// ReceivedCounts counts the requests at a tenant's hook, of all gateways. What came in the last seconds may be missing.
type ReceivedCounts struct {
	Since time.Time `json:"since,omitzero"` // when the first of these requests came; absent: none did
	// by result: accepted, quarantined, repeated, verified, or why a request was refused, such as signature; a result that
	// was absent for 90 days begins again
	Results map[string]int64 `json:"results"`
	// the verification events that were answered with 200; absent: none was
	Verified *Verified `json:"verified,omitempty"`
	// what was remarkable lately about the exports that came
	Remarks []Remark `json:"remarks"`
}

// Verified counts verification events that a tenant's service sent, and that were answered with 200.
type Verified struct {
	Count int64     `json:"count" schema:"minimum=1"`
	Since time.Time `json:"since"`
	Last  time.Time `json:"last"`
}

// Remark counts exports of a tenant that were signed right, and were refused or had a deviation.
type Remark struct {
	Tenant string           `json:"tenant" schema:"ref=ShortName"`
	Kind   model.RemarkKind `json:"kind" schema:"enum=refused|deviation"`
	// of the deviation; of a refusal its result, such as invalid
	Name  string    `json:"name"`
	Note  string    `json:"note"` // what was the matter, for people: of the last one, if it is a refusal
	Count int64     `json:"count" schema:"minimum=1"`
	Since time.Time `json:"since"` // when the first one came
	Last  time.Time `json:"last"`
	// where in the body of the last one it was (RFC 6901); absent: nowhere
	Pointer string `json:"pointer,omitzero"`
}

// SampleExport is an invented export that was sent to the address at which a tenant's exports come in, and the answer.
type SampleExport struct {
	UUID       string  `json:"uuid" schema:"pattern=^test-"`
	Accepted   bool    `json:"accepted"` // it was answered with 2xx, and is an export like any other
	DurationMs float64 `json:"durationMs"`
	Status     int     `json:"status,omitzero"`  // absent: no answer came
	Answer     string  `json:"answer,omitempty"` // the head of an answer that is not 2xx
	Error      string  `json:"error,omitempty"`  // why no answer came
}

// PortalInput asks for a link to a tenant's portal.
type PortalInput struct {
	Label  string `json:"label,omitzero" schema:"maxLength=255"` // who gets it, for people
	Bodies bool   `json:"bodies,omitzero"`                       // the bodies of exports, which are personal data, may be seen as well
}

// PortalLink is a link to a tenant's portal that is valid, without the link itself.
type PortalLink struct {
	ID        string       `json:"id"`              // what its visitors do is in the audit under portal: and this id
	Label     string       `json:"label,omitempty"` // who has it
	Bodies    bool         `json:"bodies"`
	MadeBy    model.Author `json:"madeBy"`
	CreatedAt time.Time    `json:"createdAt"`
	ExpiresAt time.Time    `json:"expiresAt"`
	OpenedAt  time.Time    `json:"openedAt,omitzero"` // the last time, to the minute; absent: never
}

// Portal is a link with which a client sees its exports.
type Portal struct {
	ID        string    `json:"id"`                      // what its visitors do is in the audit under portal: and this id
	URL       string    `json:"url" schema:"format=uri"` // opens the portal for everyone who has it
	Bodies    bool      `json:"bodies"`
	ExpiresAt time.Time `json:"expiresAt"`
}
