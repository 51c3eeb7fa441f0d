package recruiting

import (
	"errors"
	"net/http"
	"time"

	"github.com/hiregate/hiregate/internal/erasure"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

var candidates = rest.Stored[model.Candidate]{
	Word: "candidate", Path: "candidates", List: "candidate", Personal: true, Filters: []string{"name", "email", "phone"},
	Missing: problem.New(http.StatusNotFound, "this tenant has no candidate of that id"),
	Rows: func(r *rest.Request) ([]*model.Candidate, string, error) {
		q := r.Query
		f := store.CandidateFilter{Name: q.Get("name"), Email: q.Get("email"), Phone: q.Get("phone")}
		if err := checkSearch(r, f != (store.CandidateFilter{})); err != nil {
			return nil, "", err
		}
		page, next, err := r.DB.ListCandidates(r.Context(), r.Tenant.Name, f, r.Page.Rows())
		return page, next, otherSearch(err)
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
	Clear: func(tx *store.Tx, c *model.Candidate, now time.Time) error {
		tx.TellCandidateErased(c, now)
		all, err := tx.ListJobApplicationsOf(c.Tenant, c.ID, 1)
		if err != nil || len(all) == 0 {
			return err
		}
		return problem.New(http.StatusConflict, "the candidate has job applications: delete those first")
	},
}

// checkSearch refuses the cursor of a list by id in a search, and the other way round.
func checkSearch(r *rest.Request, search bool) error {
	if r.Page.After != "" && store.IsSearch(r.Page.After) != search {
		return rest.OtherList()
	}
	return nil
}

// otherSearch is the problem of a cursor of another search.
func otherSearch(err error) error {
	if errors.Is(err, store.ErrOtherSearch) {
		return rest.OtherList()
	}
	return err
}
