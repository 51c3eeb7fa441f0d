package manageapi

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/workflows/export"
)

// exportItem is an export in a list: nothing of the candidate but an id, nothing of what a partner answered.
type exportItem struct {
	ID           string     `json:"id"` // its X-Service-UUID, or what stands in for it
	Tenant       string     `json:"tenant"`
	Removed      bool       `json:"tenantRemoved,omitzero"` // no tenant of that name is configured any more
	ReceivedAt   time.Time  `json:"receivedAt"`
	Candidate    string     `json:"candidate"` // person.id.value
	Attachments  int        `json:"attachments"`
	Fetched      int        `json:"fetched"` // how many of these are stored here
	Size         int64      `json:"size"`    // of the body, in bytes
	SHA256       string     `json:"sha256"`
	Round        int        `json:"round"` // 0 at first; each redelivery or release begins the next
	Workflow     string     `json:"workflow"`
	State        string     `json:"state"`            // waiting (for Temporal), dispatched or fault, of the current round
	Reason       string     `json:"reason,omitempty"` // why it is waiting
	DispatchedAt time.Time  `json:"dispatchedAt,omitzero"`
	Fault        string     `json:"fault,omitempty"`   // why Temporal will never have it
	Quarantined  bool       `json:"quarantined"`       // it breaks the schema, and goes nowhere before it is released
	ErasedAt     time.Time  `json:"erasedAt,omitzero"` // when what it held of its candidate was removed, see retention
	Deliveries   []delivery `json:"deliveries"`
	// Findings are how it breaks the schema, also after its release; none of a valid one.
	Findings json.RawMessage `json:"findings,omitempty"`
}

type delivery struct {
	Integration string        `json:"integration"`
	Round       int           `json:"round"`
	Current     bool          `json:"current"` // no later round went to this integration
	Outcome     model.Outcome `json:"outcome"`
	Class       model.Class   `json:"class"`
	Attempts    int           `json:"attempts"`
	Reason      string        `json:"reason,omitempty"`
	UpdatedAt   time.Time     `json:"updatedAt"`
	NextAt      time.Time     `json:"nextAt,omitzero"`      // of the next attempt
	BegunBy     string        `json:"begunBy,omitempty"`    // the actor who asked for its round; absent: nobody did
	Redelivery  string        `json:"redelivery,omitempty"` // id of the redelivery of a range that began it
}

// exportDetail is an export with all that is known of its way.
type exportDetail struct {
	exportItem
	WorkflowURL string           `json:"workflowUrl,omitempty"` // in Temporal's UI, where its address is configured
	Deliveries  []deliveryDetail `json:"deliveries"`
	Documents   []document       `json:"documents"` // none before their fetching began
	// DocumentsTill is when the URLs of the documents end, as they came with the export.
	DocumentsTill time.Time `json:"documentsTill"`
	// Author is who triggered it; nil: it was received, or that was more than 400 days ago.
	Author *model.Author `json:"author,omitempty"`
	// Audit is who did what to it, the newest first; at most the last 50.
	Audit []model.AuditEntry `json:"audit"`
}

type deliveryDetail struct {
	delivery
	History []attempt `json:"history"` // the attempts, the first one first; at most the last 100
}

type attempt struct {
	Number     int         `json:"number"`
	StartedAt  time.Time   `json:"startedAt"`
	DurationMs float64     `json:"durationMs"`
	Status     int         `json:"status,omitzero"` // absent: no answer came
	Class      model.Class `json:"class,omitempty"` // what the status says; absent: no answer came
	Error      string      `json:"error,omitempty"`
	Answer     string      `json:"answer"`            // the head of what the partner answered, at most 64 KiB
	Header     string      `json:"header,omitempty"`  // of the answer, a line each, at most 8 KiB and without Set-Cookie
	Address    string      `json:"address,omitempty"` // that it was sent to
	Phases     phases      `json:"phases"`
	Manual     bool        `json:"manual"` // somebody asked for it
}

// phases are parts of an attempt; those that it did not come to, or that an open connection spared it, are left out.
type phases struct {
	DNS       float64 `json:"dnsMs,omitzero"`
	Connect   float64 `json:"connectMs,omitzero"`
	TLS       float64 `json:"tlsMs,omitzero"`
	FirstByte float64 `json:"firstByteMs,omitzero"`
}

// document leaves out the file's name, which may hold a candidate's, and its source, which is a credential.
type document struct {
	Position  int                 `json:"position"`
	State     model.DocumentState `json:"state"`
	Reason    string              `json:"reason,omitempty"`
	Tries     int                 `json:"tries"`
	Size      int64               `json:"size"`
	MimeType  string              `json:"mimeType,omitempty"`
	SHA256    string              `json:"sha256,omitempty"`
	FetchedAt time.Time           `json:"fetchedAt,omitzero"`
}

// waiting is the state of an export whose workflow is not started yet.
const waiting = "waiting"

// stateOf tells where an export is on its way to Temporal.
func stateOf(e *model.Export) string {
	switch {
	case e.Fault != "":
		return "fault"
	case e.DispatchedAt.IsZero():
		return waiting
	}
	return "dispatched"
}

func (r *request) itemOf(e *model.Export) exportItem {
	_, configured := r.gateway.Config.Tenant(e.Tenant)
	item := exportItem{
		ID: e.Key, Tenant: e.Tenant, Removed: !configured, ReceivedAt: e.ReceivedAt, Candidate: e.CandidateID,
		Attachments: e.Attachments, Size: e.Size,
		SHA256: hex.EncodeToString(e.SHA256[:]), Round: e.Round, Workflow: e.WorkflowID, State: stateOf(e),
		DispatchedAt: e.DispatchedAt, Fault: e.Fault,
		Quarantined: e.Quarantined, Findings: e.Findings, ErasedAt: e.ErasedAt,
		Deliveries: []delivery{},
	}
	if item.State == waiting {
		item.Reason = r.gateway.Runtime.Dispatcher.Undispatched(e, r.gateway.Config)
	}
	return item
}

func deliveryOf(d *model.Delivery) delivery {
	return delivery{
		Integration: d.Integration, Round: d.Round, Outcome: d.Outcome, Class: d.Class(), Attempts: d.Attempts,
		Reason:    d.Reason,
		UpdatedAt: d.UpdatedAt, NextAt: d.NextAt, BegunBy: d.BegunBy, Redelivery: d.Redelivery,
	}
}

func attemptOf(a model.Attempt) attempt {
	shown := attempt{
		Number: a.Number, StartedAt: a.StartedAt, DurationMs: milliseconds(a.Duration), Status: a.Status,
		Error: a.Error, Answer: text(a.Answer), Header: text(a.Header), Address: a.Address, Manual: a.Manual,
		Phases: phases{DNS: milliseconds(a.Phases.DNS), Connect: milliseconds(a.Phases.Connect),
			TLS: milliseconds(a.Phases.TLS), FirstByte: milliseconds(a.Phases.FirstByte)},
	}
	switch {
	case a.Status == 0:
	case a.Status/100 == 2 && a.Error == "":
		shown.Class = model.ClassDelivered
	default:
		shown.Class = model.FaultOf(a.Status)
	}
	return shown
}

// waitingOf is deliveryOf for one of all deliveries of an export, which are ordered by round. It says what it waits for,
// if it is not final.
func waitingOf(e *model.Export, d *model.Delivery, all []*model.Delivery, waits *export.Waits) delivery {
	shown := deliveryOf(d)
	shown.Current = d == model.LatestDelivery(all, d.Integration)
	if !d.Outcome.Final() {
		wait := waits.For(e, d)
		shown.Reason, shown.NextAt = wait.Reason, wait.NextAt
	}
	return shown
}

// export returns the export that the path names, also of a tenant that is removed.
func (r *request) export() (*model.Export, error) {
	err := store.ErrNotFound
	var e *model.Export
	if uuid, ok := webhook.KeyOfSegment(r.PathValue("uuid")); ok {
		e, err = r.db.ExportByKey(r.Context(), r.PathValue("tenant"), uuid)
	}
	if errors.Is(err, store.ErrNotFound) {
		if _, err := r.configuredTenant(); err != nil {
			return nil, err
		}
		return nil, noExport
	}
	if err == nil {
		r.object = model.ExportObject(e)
	}
	return e, err
}

var noExport = problem.New(http.StatusNotFound, "this tenant has no export of that UUID")

func findExport(r *request) (any, error) {
	e, err := r.export()
	if err != nil {
		return nil, err
	}
	deliveries, err := r.db.ListDeliveries(r.Context(), e.ID)
	if err != nil {
		return nil, err
	}
	deliveries = append(deliveries, e.Pending(deliveries)...)
	waits, err := r.gateway.Runtime.Waits(r.Context(), r.gateway.Config, r.now(), e)
	if err != nil {
		return nil, err
	}
	detail := exportDetail{exportItem: r.itemOf(e), Deliveries: []deliveryDetail{}, Documents: []document{},
		DocumentsTill: e.DocumentsTill}
	if at := r.gateway.Config.Workflows; at != "" && !e.DispatchedAt.IsZero() {
		detail.WorkflowURL = at + url.PathEscape(e.WorkflowID)
	}
	for _, d := range deliveries {
		attempts, err := r.db.ListAttempts(r.Context(), d.ID)
		if err != nil {
			return nil, err
		}
		one := deliveryDetail{delivery: waitingOf(e, d, deliveries, waits), History: []attempt{}}
		for _, a := range attempts {
			one.History = append(one.History, attemptOf(a))
		}
		detail.Deliveries = append(detail.Deliveries, one)
	}
	documents, err := r.db.ListDocuments(r.Context(), e.ID)
	if err != nil {
		return nil, err
	}
	for _, d := range documents {
		if d.State == model.Fetched {
			detail.Fetched++
		}
		detail.Documents = append(detail.Documents, document{
			Position: d.Position, State: d.State, Reason: d.Reason, Tries: d.Tries, Size: d.Size, MimeType: d.MediaType(),
			SHA256: hex.EncodeToString(d.SHA256), FetchedAt: d.FetchedAt,
		})
	}
	about := store.AuditFilter{Tenant: e.Tenant, Object: model.ExportObject(e)}
	if detail.Audit, _, err = r.db.ListAudit(r.Context(), about); err != nil || e.Origin != model.Triggered {
		return detail, err
	}
	about.Action, about.Limit = model.ActionExport, 1
	triggered, _, err := r.db.ListAudit(r.Context(), about)
	if err == nil && len(triggered) > 0 {
		detail.Author = &triggered[0].Author
	}
	return detail, err
}

const maxAnswer = 64 << 10

// text is what a partner answered, as at most 64 KiB of valid UTF-8.
func text(answer []byte) string { return textUpTo(answer, maxAnswer) }

func textUpTo(answer []byte, most int) string {
	s := strings.ToValidUTF8(string(answer), string(utf8.RuneError))
	if len(s) <= most {
		return s
	}
	end := most
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
