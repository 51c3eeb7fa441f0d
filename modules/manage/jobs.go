package manage

import (
	"net/http"

	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// jobs are known by their job board code; their id is another.
var jobs = kind[hiring.Job]{
	word: "job", path: "jobs",
	id:     func(j *hiring.Job) *string { return &j.BoardCode },
	row:    func(j *hiring.Job) *hiring.Row { return &j.Row },
	get:    (*store.DB).Job,
	find:   (*store.Tx).Job,
	put:    (*store.Tx).PutJob,
	remove: (*store.Tx).DeleteJob,
	check:  compliance.Check,
	clear: func(tx *store.Tx, j *hiring.Job) (*problem.Problem, error) {
		used, err := tx.JobIsUsed(j.Tenant, j.BoardCode)
		if err != nil || !used {
			return nil, err
		}
		return problem.New(http.StatusConflict, "there are job applications for this job: delete those first"), nil
	},
}

func (r *request) listJobs() (any, *problem.Problem) {
	_, page, p := r.page("job")
	if p != nil {
		return nil, p
	}
	t, p := r.tenant()
	if p != nil {
		return nil, p
	}
	rows, next, err := r.db.Jobs(r.Context(), t.Name, page.rows())
	if err != nil {
		return nil, r.storeAway(err)
	}
	return listed(page, rows, next, itself), nil
}
