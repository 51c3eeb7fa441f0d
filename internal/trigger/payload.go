package trigger

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/hropen"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/schemas"
)

// What an export holds of a candidate's job applications: all of them, if they are within these bounds. Beyond, it holds
// the one that it is about and the newest.
const (
	maxApplications = 1000
	maxBody         = 4 << 20 // bytes
)

// payload builds the body of a candidate's export, and collects the public URLs in it.
type payload struct {
	tx           *store.Tx
	config       *config.Config
	all          int           // of the candidate's job applications
	applications []application // the one that the export is about, then the newest first; in a body the oldest first
}

// application is a job application with the documents of its attachments.
type application struct {
	hropen.Application
	documents []offered
}

// offered is a document and the hash of its public URL.
type offered struct {
	*model.ApplicationDocument
	hash [sha256.Size]byte
}

// load reads the candidate's job applications with their jobs and documents; about is the id of the one that the export
// is about, if it is about one.
func (p *payload) load(candidate *model.Candidate, about string) error {
	all, err := p.tx.ListNewestApplicationsOf(candidate.Tenant, candidate.ID, maxApplications)
	if err != nil {
		return err
	}
	if p.all = len(all); p.all == maxApplications {
		if p.all, err = p.tx.CountApplicationsOf(candidate.Tenant, candidate.ID); err != nil {
			return err
		}
	}
	if n := slices.IndexFunc(all, func(a *model.JobApplication) bool { return a.ID == about }); n >= 0 {
		first := all[n]
		all = slices.Insert(slices.Delete(all, n, n+1), 0, first)
	} else if about != "" {
		first, ok, err := p.tx.JobApplication(candidate.Tenant, about)
		if err != nil {
			return err
		}
		if ok && first.Candidate == candidate.ID && first.VersionOf == "" {
			all = slices.Insert(all, 0, first)
		}
	}
	for _, a := range all {
		if err := p.add(a); err != nil {
			return err
		}
	}
	return nil
}

// add adds a job application.
func (p *payload) add(a *model.JobApplication) error {
	one := application{Application: hropen.Application{JobApplication: a}}
	job, ok, err := p.tx.JobWithoutQuestions(a.Tenant, a.Job)
	if err != nil {
		return err
	}
	if ok {
		one.Job = job
	}
	docs, err := p.tx.LockApplicationDocuments(a.Tenant, cmp.Or(a.Chosen, a.ID), maxDocuments)
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
		one.documents = append(one.documents, offered{d, hash})
	}
	p.applications = append(p.applications, one)
	return nil
}

// documents returns those of all job applications, in the order of the body's attachments.
func (p *payload) documents() (all []offered) {
	for _, a := range p.applications {
		all = append(all, a.documents...)
	}
	return all
}

// context is the job board code that the export's context header names: of the named job application or the only one;
// empty when there is none.
func (p *payload) context(about string) (string, error) {
	switch {
	case about != "" && (len(p.applications) == 0 || p.applications[0].ID != about):
		return "", fmt.Errorf("%w: the candidate has no job application of that id", ErrNotFound)
	case len(p.applications) == 0:
		return "", nil
	case about != "", len(p.applications) == 1:
		return p.applications[0].JobApplication.Job, nil
	}
	return "", &RefusedError{Ambiguous: true,
		Reason: "the candidate has several job applications: name the one that the export is about"}
}

// about returns the id of the job application that the export is about: the named or the only one; empty: there is none.
func (p *payload) about(named string) string {
	if named == "" && len(p.applications) == 1 {
		return p.applications[0].ID
	}
	return named
}

// build makes the body of as many job applications as it has room for, and makes sure that it is what we would accept.
// The payload keeps those, the oldest first.
func (t *Trigger) build(candidate *model.Candidate, p *payload) ([]byte, error) {
	body, doc, err := t.body(candidate, p.applications)
	var other error
	if tooMuch(body, err) && len(p.applications) > 1 {
		fewer := sort.Search(len(p.applications)-2, func(n int) bool {
			body, _, err := t.body(candidate, p.applications[:n+2])
			if !tooMuch(body, err) {
				other = cmp.Or(other, err)
				return false
			}
			return true
		}) + 1
		p.applications = p.applications[:fewer]
		body, doc, err = t.body(candidate, p.applications)
	}
	if err = cmp.Or(other, err); err != nil {
		return nil, err
	}
	if findings := t.Validator.Export(doc); len(findings) > 0 {
		return nil, unbuilt(fmt.Errorf("it breaks the schema at %s (%s)", findings[0].Pointer, findings[0].Rule))
	}
	p.applications = oldestFirst(p.applications)
	return body, nil
}

// tooMuch reports whether a body, or the error of making it, says that it has too many job applications.
func tooMuch(body []byte, err error) bool {
	refused := new(schemas.GuardError)
	return len(body) > maxBody || errors.As(err, &refused)
}

func oldestFirst(all []application) []application {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b application) int {
		return cmp.Or(cmp.Compare(a.CreatedAt.UnixMicro(), b.CreatedAt.UnixMicro()), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// body makes the body of some job applications.
func (t *Trigger) body(candidate *model.Candidate, of []application) ([]byte, *schemas.Document, error) {
	sorted := oldestFirst(of)
	applications := make([]hropen.Application, len(sorted))
	for n, a := range sorted {
		applications[n] = a.Application
	}
	body, err := hropen.Build(t.Config.Names, candidate, applications)
	if err != nil {
		return nil, nil, unbuilt(err)
	}
	doc, err := schemas.Guard(body)
	if refused := new(schemas.GuardError); errors.As(err, &refused) {
		return nil, nil, &RefusedError{cause: err,
			Reason: "there is more about the candidate than an export may hold: " + refused.Reason}
	}
	if err != nil {
		return nil, nil, unbuilt(err)
	}
	return body, doc, nil
}

// unbuilt says that no export can be made of what is stored.
func unbuilt(err error) error {
	return &RefusedError{cause: err, Reason: "no export can be made of what is stored: " + err.Error()}
}
