package model

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DocumentWindow is how long the public URLs of an export's documents live (contract, "Limits").
const DocumentWindow = 2*time.Hour + 30*time.Minute

// DeliveryWindow is how long delivery of a received export is tried.
const DeliveryWindow = 72 * time.Hour

// LinkWindow is how long a re-hosted document can be downloaded, counted from the reception, or from a later
// redelivery.
const LinkWindow = 96 * time.Hour

// UnkeyedWindow is how long a body's SHA-256 stands in for a missing X-Service-UUID.
const UnkeyedWindow = 10 * time.Minute

// MaxHops bounds how often an export may come back as another one, from a tenant's integration to a tenant here.
const MaxHops = 3

// Origin is the way in which an export was made.
type Origin string

// An export is received from a service's webhook, or triggered here.
const (
	Received  Origin = "received"
	Triggered Origin = "triggered"
)

// Export is one CANDIDATE-EXPORT event.
type Export struct {
	ID            int64
	Tenant        string
	Key           string // the X-Service-UUID, or what stands in for it
	Keyed         bool   // false: the sender gave no UUID
	Origin        Origin
	SHA256        [sha256.Size]byte // of Body
	Size          int64
	CandidateID   string // person.id.value; in the store as CandidateKey has it
	Attachments   int    // how many attachment URLs the body has
	LeftOut       int    // how many job applications the body has no room for; of one that is just triggered alone
	Hops          int    // how many exports of ours it follows from; written, not read back
	Receipt       string // unguessable; what the sender asks with
	ReceivedAt    time.Time
	DocumentsTill time.Time // end of the sender's document URLs
	DeliverTill   time.Time // end of the current round's attempts

	Body          []byte // exact bytes
	Link          []byte // header values as they came; nil: absent
	ExportContext []byte
	// these three, as the store keeps them where it seals what exports hold; nil: not sealed yet, if at all
	Sealed []byte

	Round         int      // 0 for the acceptance; each redelivery or release starts the next
	Integrations  []string // whom the current round is for
	ForNobody     bool     // its tenant had no integration when it came; known while it is accepted, not stored
	WorkflowID    string   // of the current round
	Group         int64    // ID of the first member of the group that carries round 0; 0: none does, or none yet
	GroupWorkflow string   // the workflow of that group, once a later round began; see RoundWorkflowID
	Alone         bool     // a workflow of its own carries round 0, and no group may
	DispatchedAt  time.Time
	Fault         string // why Temporal will never start it; empty: nothing is wrong

	Quarantined bool   // it breaks the schema, and nobody released it: it goes to no integration
	Findings    []byte // how it breaks the schema, as JSON, also after its release; nil: it does not

	Traceparent string // of its acceptance, as in the header of W3C Trace Context; empty: it has no trace

	ErasedAt time.Time // when what it held of its candidate was removed; zero: it is there
}

// ExportTrigger names the job application, and the step that it entered, for which an export was triggered.
type ExportTrigger struct {
	Application string // the id of the job application that it is about
	Step        string // the id of the step that this entered; empty: a person exported the candidate
}

// LeftOutSentence says how many job applications the body has no room for; empty: it has all.
func (e *Export) LeftOutSentence() string {
	if e.LeftOut == 0 {
		return ""
	}
	return fmt.Sprintf("left out %d of the candidate's job applications, the oldest ones: there is no room for them", e.LeftOut)
}

// UUID is the header value to send on: nil when the sender gave none.
func (e *Export) UUID() []byte {
	if !e.Keyed {
		return nil
	}
	return []byte(e.Key)
}

// TraceID returns the trace of the export: 32 hexadecimal digits; empty: it has none.
func (e *Export) TraceID() string {
	if parts := strings.Split(e.Traceparent, "-"); len(parts) == 4 {
		return parts[1]
	}
	return ""
}

// Distinct are the names of integrations, ordered, each of them once: an integration is delivered to once in a round. It
// is never nil.
func Distinct(names []string) []string {
	distinct := append([]string{}, names...)
	slices.Sort(distinct)
	return slices.Compact(distinct)
}

// maxCandidateKey keeps a candidate's id, in bytes, well below what PostgreSQL takes into an index.
const maxCandidateKey = 1024

// CandidateKey is a candidate's id as exports are listed by it. An id is any text; U+0000, which JSON can hold and
// PostgreSQL can't, becomes U+FFFD, and what goes beyond 1 KiB is left out.
func CandidateKey(id string) string {
	id = strings.ReplaceAll(id, "\x00", "\ufffd")
	if len(id) > maxCandidateKey {
		id = strings.ToValidUTF8(id[:maxCandidateKey], "")
	}
	return id
}

// WorkflowID names the workflow that carries a round of an export: export/<tenant>/<key>, and …/redelivery/<round>
// after the first.
func WorkflowID(tenant, key string, round int) string {
	id := "export/" + tenant + "/" + workflowIDPart(key)
	if round > 0 {
		id += "/redelivery/" + strconv.Itoa(round)
	}
	return id
}

// GroupWorkflowID names the workflow that carries round 0 of several exports, in the order of their IDs:
// exports/<tenant>/<when the first came>/<its ID>. It is stored with its members before it is started.
func GroupWorkflowID(members []*Export) string {
	first, tenant := members[0], members[0].Tenant
	if slices.ContainsFunc(members, func(e *Export) bool { return e.Tenant != tenant }) {
		tenant = "several"
	}
	return fmt.Sprintf("exports/%s/%s/%d", tenant, first.ReceivedAt.UTC().Format(time.RFC3339), first.ID)
}

// InGroup reports whether a group carries a round of the export.
func (e *Export) InGroup(round int) bool { return round == 0 && e.Group != 0 }

// RoundWorkflowID names the workflow that carries a round of the export.
func (e *Export) RoundWorkflowID(round int) string {
	switch {
	case !e.InGroup(round):
		return WorkflowID(e.Tenant, e.Key, round)
	case e.Round == 0:
		return e.WorkflowID
	}
	return cmp.Or(e.GroupWorkflow, "exports/"+strconv.FormatInt(e.Group, 10)) // a gateway of an earlier version began the later round
}

const maxWorkflowIDPart = 128

// workflowIDPart makes of an opaque key what Temporal takes as a part of an id: everything but [A-Za-z0-9._:-] is
// percent-encoded, and what is then longer than 128 bytes is replaced by its SHA-256.
func workflowIDPart(key string) string {
	part := key
	if !plain(key) { // hardly ever
		var b strings.Builder
		for i := 0; i < len(key); i++ {
			if plain(key[i : i+1]) {
				b.WriteByte(key[i])
			} else {
				fmt.Fprintf(&b, "%%%02X", key[i])
			}
		}
		part = b.String()
	}
	if len(part) > maxWorkflowIDPart {
		sum := sha256.Sum256([]byte(part))
		return hex.EncodeToString(sum[:])
	}
	return part
}

// plain reports whether nothing in the key has to be encoded.
func plain(key string) bool {
	for i := 0; i < len(key); i++ {
		switch c := key[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == ':', c == '-':
		default:
			return false
		}
	}
	return true
}
