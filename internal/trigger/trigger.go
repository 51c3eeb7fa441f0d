// Package trigger makes the exports that begin here: a person exports a candidate, or a job application enters a step
// whose helper does. The body is built from the store and put through the door in the transaction that triggers it.
package trigger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/hropen"
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
}

func (e *RefusedError) Error() string { return e.Reason }

const (
	maxApplications = 1000 // of a candidate, in one export
	maxDocuments    = 1000 // of a job application
)

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
	if err := p.load(candidate); err != nil {
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
	e.Attachments = len(p.documents)
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
	for n, d := range p.documents {
		if err := tx.InsertOfferedDocument(d, e, n, p.hashes[n]); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// link is the header that leads to a candidate, no longer than a receiver of ours takes.
func (t *Trigger) link(candidate *model.Candidate) ([]byte, error) {
	link := strings.ReplaceAll(t.Config.CandidateURL, "{candidate}", url.PathEscape(candidate.ID))
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

// build makes the body, and makes sure that it is what we would accept.
func (t *Trigger) build(candidate *model.Candidate, p *payload) ([]byte, error) {
	body, err := hropen.Build(t.Config.Names, candidate, p.applications)
	if err != nil {
		return nil, fmt.Errorf("building an export: %w", err)
	}
	doc, err := schemas.Guard(body)
	if tooMuch := new(schemas.GuardError); errors.As(err, &tooMuch) {
		return nil, &RefusedError{Reason: "there is more about the candidate than an export may hold: " + tooMuch.Reason}
	}
	if err != nil {
		return nil, fmt.Errorf("building an export: %w", err)
	}
	if findings := t.Validator.Export(doc); len(findings) > 0 {
		return nil, fmt.Errorf("building an export: it breaks the schema at %s (%s)", findings[0].Pointer, findings[0].Rule)
	}
	return body, nil
}

// payload builds the body of a candidate's export, and collects the public URLs in it.
type payload struct {
	tx           *store.Tx
	config       *config.Config
	applications []hropen.Application
	documents    []*model.ApplicationDocument // in the order of the body's attachments
	hashes       [][sha256.Size]byte          // of their URLs
}

// load reads the candidate's job applications, oldest first, with their jobs and documents.
func (p *payload) load(candidate *model.Candidate) error {
	all, err := p.tx.ListJobApplicationsOf(candidate.Tenant, candidate.ID, maxApplications+1)
	if err != nil {
		return err
	}
	if len(all) > maxApplications {
		return &RefusedError{Reason: fmt.Sprintf("the candidate has more than %d job applications, too many for one export",
			maxApplications)}
	}
	slices.SortStableFunc(all, func(a, b *model.JobApplication) int {
		return cmp.Compare(a.CreatedAt.UnixMicro(), b.CreatedAt.UnixMicro())
	})
	for _, a := range all {
		one := hropen.Application{JobApplication: a}
		job, ok, err := p.tx.JobWithoutQuestions(a.Tenant, a.Job)
		if err != nil {
			return err
		}
		if ok {
			one.Job = job
		}
		docs, err := p.tx.LockApplicationDocuments(a.Tenant, a.ID, maxDocuments)
		if err != nil {
			return err
		}
		for _, d := range docs {
			if d.Scan == model.Refused {
				continue
			}
			token, hash := documents.NewToken()
			one.Attachments = append(one.Attachments, hropen.Attachment{ID: d.ID, Descriptions: d.Descriptions,
				URL: documents.URL(p.config.PublicURL, token)})
			p.documents, p.hashes = append(p.documents, d), append(p.hashes, hash)
		}
		p.applications = append(p.applications, one)
	}
	return nil
}

// context is the job board code that the export's context header names: of the named job application or the only one;
// empty when there is none.
func (p *payload) context(application string) (string, error) {
	switch {
	case application != "":
		for _, a := range p.applications {
			if a.ID == application {
				return a.JobApplication.Job, nil
			}
		}
		return "", fmt.Errorf("%w: the candidate has no job application of that id", ErrNotFound)
	case len(p.applications) == 0:
		return "", nil
	case len(p.applications) == 1:
		return p.applications[0].JobApplication.Job, nil
	}
	return "", &RefusedError{Ambiguous: true,
		Reason: "the candidate has several job applications: name the one that the export is about"}
}
