package manageapi

import (
	"net/http"
	"time"

	"github.com/hiregate/hiregate/internal/erasure"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

var candidates = rest.Stored[model.Candidate]{
	Word: "candidate", Path: "candidates", List: "candidate", Personal: true, Filters: []string{"email"},
	Missing: problem.New(http.StatusNotFound, "this tenant has no candidate of that id"),
	Rows: func(r *rest.Request) ([]*model.Candidate, string, error) {
		return r.DB.ListCandidates(r.Context(), r.Tenant.Name, r.Query.Get("email"), r.Page.Rows())
	},
	ID:     func(c *model.Candidate) *string { return &c.ID },
	Row:    func(c *model.Candidate) *model.Row { return &c.Row },
	Get:    (*store.DB).Candidate,
	Find:   (*store.Tx).Candidate,
	Put:    (*store.Tx).UpsertCandidate,
	Remove: (*store.Tx).DeleteCandidate,
	Check:  (*model.Candidate).Validate,
	Enter: func(r *rest.Request, id string) func(*store.Tx) error {
		return r.Gateway.Runtime.Retention.Enter(erasure.Candidate, r.Tenant.Name, id)
	},
	Clear: func(tx *store.Tx, c *model.Candidate, _ time.Time) error {
		all, err := tx.ListJobApplicationsOf(c.Tenant, c.ID, 1)
		if err != nil || len(all) == 0 {
			return err
		}
		return problem.New(http.StatusConflict, "the candidate has job applications: delete those first")
	},
}
