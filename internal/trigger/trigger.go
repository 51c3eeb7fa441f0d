// Package trigger makes the exports that begin here: a person exports a candidate, or a job application enters a step
// whose helper does. The body is built from the store and put through the door in the transaction that triggers it.
package trigger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/tracing"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

// ErrNotFound says that the candidate, the job application or the step is not there.
var ErrNotFound = errors.New("there is no such thing")

// RefusedError says why nothing was triggered: a sentence for the person who asked.
type RefusedError struct {
	Reason string
	// Ambiguous says that the request has to say more; otherwise what is stored stands against it.
	Ambiguous bool
	cause     error
}

func (e *RefusedError) Error() string { return e.Reason }
func (e *RefusedError) Unwrap() error { return e.cause }

// maxDocuments is how many documents of a job application an export has.
const maxDocuments = 1000

// Trigger triggers exports under one configuration.
type Trigger struct {
	Config    *config.Config
	Validator *schemas.Validator
	Now       func() time.Time
	// Traceparent is the span of the request that triggers, as in the header of W3C Trace Context; empty: it has none.
	Traceparent string
}

// Request asks for the export of a candidate.
type Request struct {
	Tenant    string
	Candidate string
	// Integrations are whom it goes to, in whatever state they are: what is for one that takes nothing now is held, and
	// goes out if that ends before the document URLs do. A name that is repeated counts once.
	Integrations []string
	Application  string // the job application it is about; empty: the only one
	Step         string // that this entered; empty: a person asks
}

// Export exports a candidate. It may run more than once for the same request, as what Write runs may. Offer the export
// to the dispatcher once the transaction is committed.
//
// Errors: ErrNotFound, *RefusedError, and those of the store.
func (t *Trigger) Export(tx *store.Tx, r Request) (*model.Export, error) {
	candidate, ok, err := tx.Candidate(r.Tenant, r.Candidate)
	if err == nil && !ok {
		err = fmt.Errorf("%w: the tenant has no candidate of that id", ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	p := &payload{tx: tx, config: t.Config}
	if err := p.load(candidate, r.Application); err != nil {
		return nil, err
	}
	job, err := p.context(r.Application)
	if err != nil {
		return nil, err
	}
	link, err := t.link(candidate)
	if err != nil {
		return nil, err
	}
	body, err := t.build(candidate, p)
	if err != nil {
		return nil, err
	}
	e := t.event(r, body)
	ctx, span := tracing.Begin(tracing.From(context.Background(), t.Traceparent), trace.SpanKindInternal,
		"trigger export", "tenant", e.Tenant, "export", strconv.FormatInt(e.ID, 10))
	defer span.End()
	e.Traceparent = cmp.Or(tracing.Traceparent(ctx), t.Traceparent)
	e.Link = link
	documents := p.documents()
	e.Attachments, e.LeftOut = len(documents), p.all-len(p.applications)
	if job != "" {
		e.ExportContext = []byte(job)
	}
	res, err := inbox.Insert(tx, e)
	if err != nil {
		return nil, err
	}
	if res.Verdict != inbox.Accepted {
		return nil, fmt.Errorf("the door did not take a triggered export: verdict %d", res.Verdict)
	}
	if about := p.about(r.Application); about != "" {
		if err := tx.InsertExportTrigger(e, model.ExportTrigger{Application: about, Step: r.Step}); err != nil {
			return nil, err
		}
	}
	for n, d := range documents {
		if err := tx.InsertOfferedDocument(d.ApplicationDocument, e, n, d.hash); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// link is the header that leads to a candidate, no longer than a receiver of ours takes.
func (t *Trigger) link(candidate *model.Candidate) ([]byte, error) {
	link := strings.NewReplacer("{candidate}", url.PathEscape(candidate.ID), "{tenant}", candidate.Tenant).
		Replace(t.Config.CandidateURL)
	if len(link) > webhook.HeaderBound {
		return nil, &RefusedError{Reason: fmt.Sprintf("the candidate's id makes a Link header of %d bytes, "+
			"and %d are the most: "+
			"shorten candidate_url, or give the candidate a shorter id", len(link), webhook.HeaderBound)}
	}
	return []byte(link), nil
}

// event is the export that a body becomes now.
func (t *Trigger) event(r Request, body []byte) *model.Export {
	e := inbox.NewExport(r.Tenant, uuid.NewString(), body, t.Now())
	e.Origin = model.Triggered
	e.CandidateID = r.Candidate
	e.Integrations = model.Distinct(r.Integrations)
	e.DeliverTill = e.DocumentsTill
	return e
}
