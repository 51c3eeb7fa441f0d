package recruiting

import (
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// jobs serves the jobs of a tenant. Their path has the job board code, which is not their id.
var jobs = rest.Stored[model.Job]{
	Word: "job", Path: "jobs", List: "job", MaxBody: 2 * maxJob,
	Missing: noJob, Filters: []string{"state", "q"},
	Rows: func(r *rest.Request) ([]*model.Job, string, error) {
		f := store.JobFilter{State: r.Query.Get("state"), Text: r.Query.Get("q")}
		if err := checkSearch(r, f != (store.JobFilter{})); err != nil {
			return nil, "", err
		}
		if r.Query.Has("state") && f.State != "open" && f.State != "closed" {
			return nil, "", problem.New(http.StatusBadRequest, "state can only be open or closed: leave it out for both")
		}
		page, next, err := r.DB.ListJobs(r.Context(), r.Tenant.Name, f, r.Page.Rows())
		return page, next, otherSearch(err)
	},
	ID:     func(j *model.Job) *string { return &j.BoardCode },
	Row:    func(j *model.Job) *model.Row { return &j.Row },
	Get:    (*store.DB).Job,
	Find:   (*store.Tx).Job,
	Put:    (*store.Tx).UpsertJob,
	Remove: (*store.Tx).DeleteJob,
	Check:  checkJob,
	Clear: func(tx *store.Tx, j *model.Job, now time.Time) error {
		tx.TellJobRemoved(j, now)
		used, err := tx.IsJobUsed(j.Tenant, j.BoardCode)
		if err != nil || !used {
			return err
		}
		return problem.New(http.StatusConflict, "there are job applications for this job: delete those first")
	},
}

var noJob = problem.New(http.StatusNotFound, "this tenant has no job of that id")

// maxJob is the size of the largest job as JSON, in bytes: several times a list of questions, which is shorter as CSV.
// A body may have twice that size, with other escapes and spaces, so that each job can be sent as it is shown.
const maxJob = 4 << 20

func checkJob(j *model.Job) error {
	if err := compliance.Check(j); err != nil {
		return err
	}
	sent := *j
	sent.Row = model.Row{} // what the store keeps beside it may grow
	raw, err := json.Marshal(&sent)
	if err == nil && len(raw) > maxJob {
		err = &model.InvalidError{Faults: []string{fmt.Sprintf("the job is larger than %d MiB as JSON: "+
			"shorten its questions", maxJob>>20)}}
	}
	return err
}
