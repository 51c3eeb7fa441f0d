package apply

import (
	"net/http"

	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// backend is where a tenant's jobs come from, and what becomes of the applications for them, of one request.
type backend interface {
	// questions returns what an open job asks; the error is errNoJob when there is no such job.
	questions(w http.ResponseWriter, code string) ([]model.Question, error)
	// openJob returns an open job with all that is asked; nil if there is no such job.
	openJob(code string) (*model.Job, error)
	// notice returns what applicants read before the questions of a compliance group; false: nothing is known of the group.
	notice(group string) (model.ComplianceNotice, bool)
	// sheet makes the sheet of an open job; nil if there is no such job.
	sheet(code string) (*sheet, error)
	// maxFiles returns how many files the job asks for that asks for most.
	maxFiles() (int, error)
	// store stores an application whose answers are valid, with its Idempotency-Key.
	store(s *receivedAnswers, sheet *sheet) error
	// repeated is called before a repeat of an Idempotency-Key is answered as the application of this id was.
	repeated(key *store.Once, id string) error
}

// backendOf returns the backend of a tenant for a request.
func (a *API) backendOf(tenant string, r *http.Request) backend {
	if u := a.Gateway.Runtime.Relay.Upstream(tenant); u != nil {
		return &relayed{a, tenant, r, u}
	}
	return &taken{a, tenant, r}
}

// taken is the backend of a tenant whose applications are taken here: its jobs are in the store.
type taken struct {
	api    *API
	tenant string
	r      *http.Request
}

func (b *taken) questions(_ http.ResponseWriter, code string) ([]model.Question, error) {
	job, err := b.openJob(code)
	if err == nil && job == nil {
		err = errNoJob
	}
	if err != nil {
		return nil, err
	}
	return job.Questions, nil
}

func (b *taken) openJob(code string) (*model.Job, error) {
	job, err := b.api.openJob(b.r.Context(), b.api.db().Job, b.tenant, code)
	if job == nil || err != nil {
		return nil, err
	}
	for _, group := range job.ComplianceGroups {
		b.api.noteExpiry(group)
	}
	shown := *job
	shown.Questions = compliance.Ask(job)
	return &shown, nil
}

func (b *taken) notice(group string) (model.ComplianceNotice, bool) { return ownNotice(group) }

// ownNotice returns what this gateway has applicants read.
func ownNotice(group string) (n model.ComplianceNotice, known bool) {
	form, known := compliance.Find(group)
	if known {
		n = form.Notice()
	}
	return n, known
}

func (b *taken) maxFiles() (int, error) { return b.api.db().MaxFiles(b.r.Context(), b.tenant) }

func (b *taken) repeated(*store.Once, string) error { return nil }
