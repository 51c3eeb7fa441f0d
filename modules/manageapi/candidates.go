package manageapi

import (
	"net/http"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

var candidates = kind[model.Candidate]{
	word: "candidate", path: "candidates", list: "candidate", personal: true, filters: []string{"email"},
	missing: problem.New(http.StatusNotFound, "this tenant has no candidate of that id"),
	rows: func(r *request) ([]*model.Candidate, string, error) {
		return r.db.ListCandidates(r.Context(), r.tenant.Name, r.query.Get("email"), r.page.rows())
	},
	id:     func(c *model.Candidate) *string { return &c.ID },
	row:    func(c *model.Candidate) *model.Row { return &c.Row },
	get:    (*store.DB).Candidate,
	find:   (*store.Tx).Candidate,
	put:    (*store.Tx).UpsertCandidate,
	remove: (*store.Tx).DeleteCandidate,
	check:  (*model.Candidate).Validate,
	clear: func(tx *store.Tx, c *model.Candidate, _ time.Time) error {
		all, err := tx.ListJobApplicationsOf(c.Tenant, c.ID, 1)
		if err != nil || len(all) == 0 {
			return err
		}
		return problem.New(http.StatusConflict, "the candidate has job applications: delete those first")
	},
}
