package recruiting

import (
	"cmp"
	"context"
	"net/http"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

var applications = rest.Stored[model.JobApplication]{
	Word: "job application", Path: "job-applications", List: "job-application", Personal: true,
	Filters: applicationFilters, Missing: noApplication, Page: listApplications, PageAction: "show-answers",
	ID:     func(a *model.JobApplication) *string { return &a.ID },
	Row:    func(a *model.JobApplication) *model.Row { return &a.Row },
	Get:    shownApplication,
	Find:   (*store.Tx).JobApplication,
	Put:    (*store.Tx).UpsertJobApplication,
	Remove: (*store.Tx).DeleteJobApplication,
	Check:  (*model.JobApplication).Validate,
	Settle: settleApplication,
	Clear:  (*store.Tx).ClearJobApplication,
}

// shownApplication reads a job application, with when its retention erases it.
func shownApplication(db *store.DB, ctx context.Context, tenant, id string) (*model.JobApplication, error) {
	a, err := db.JobApplication(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	ends, err := db.ErasesAt(ctx, tenant, id)
	a.ErasesAt = ends[id]
	return a, err
}

// settleApplication finds the candidate and the job, and decides the status: a status that names no step comes from
// elsewhere and is taken over; without a status, the one that is there stays. A job application enters a step only by
// a transition, and does not end here.
func settleApplication(tx *store.Tx, a, before *model.JobApplication) error {
	if a.LanguageCode == "" {
		a.LanguageCode = model.DefaultLanguage
	}
	var now model.Status
	if before != nil {
		now = before.Status
	}
	switch {
	case a.Status.Step != "" && a.Status.Step != now.Step:
		return problem.New(http.StatusUnprocessableEntity, "status.step is not the step that the job application is in: "+
			"leave it out, and have it enter a step with POST …/transitions")
	case a.Status.Step != "" || a.Status == model.Status{}:
		a.Status = now
	}
	a.Status.EnteredAt = a.Status.EnteredAt.UTC()
	var end *model.End
	if before != nil {
		end = before.Ended
	}
	if a.Ended != nil && !a.Ended.Is(end) {
		return problem.New(http.StatusUnprocessableEntity, "ended is not the end that the job application has: leave it out, "+
			"and end it with POST …/end")
	}
	a.Ended = end
	a.VersionOf, a.Chosen = "", ""
	if before != nil {
		a.VersionOf, a.Chosen = before.VersionOf, before.Chosen
	}
	if _, ok, err := tx.LockCandidate(a.Tenant, a.Candidate); err != nil || !ok {
		return cmp.Or[error](err, problem.New(http.StatusUnprocessableEntity,
			"candidate is of no candidate of this tenant: put the candidate first"))
	}
	if a.Job != "" {
		if _, ok, err := tx.LockJob(a.Tenant, a.Job); err != nil || !ok {
			return cmp.Or[error](err, problem.New(http.StatusUnprocessableEntity,
				"jobBoardCode is of no job of this tenant: put the job first"))
		}
	}
	if before != nil && before.Job != a.Job {
		return tx.UpdateComplianceJob(a)
	}
	return nil
}

var noApplication = problem.New(http.StatusNotFound, "this tenant has no job application of that id")
