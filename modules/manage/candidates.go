package manage

import (
	"net/http"
	"time"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

var candidates = kind[hiring.Candidate]{
	word: "candidate", path: "candidates",
	id:     func(c *hiring.Candidate) *string { return &c.ID },
	row:    func(c *hiring.Candidate) *hiring.Row { return &c.Row },
	get:    (*store.DB).Candidate,
	find:   (*store.Tx).Candidate,
	put:    (*store.Tx).PutCandidate,
	remove: (*store.Tx).DeleteCandidate,
	check:  (*hiring.Candidate).Check,
	clear: func(tx *store.Tx, c *hiring.Candidate, _ time.Time) error {
		all, err := tx.JobApplicationsOf(c.Tenant, c.ID, 1)
		if err != nil || len(all) == 0 {
			return err
		}
		return problem.New(http.StatusConflict, "the candidate has job applications: delete those first")
	},
}

// listCandidates lists a tenant's candidates, or those with an e-mail address.
func (r *request) listCandidates() (any, error) {
	q, page, err := r.page("candidate", "email")
	if err != nil {
		return nil, err
	}
	t, err := r.tenant()
	if err != nil {
		return nil, err
	}
	rows, next, err := r.db.Candidates(r.Context(), t.Name, q.Get("email"), page.rows())
	if err != nil {
		return nil, err
	}
	return listed(page, rows, next, itself), nil
}

func itself[T any](v T) T { return v }
