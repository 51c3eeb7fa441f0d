package recruiting

import (
	"net/http"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// showAnswers shows what an applicant sent. It is a POST, because it leaves an entry in the audit: no answer is shown
// without one. Those to the questions of compliance groups are kept apart, and shown by nothing.
func showAnswers(r *rest.Request) (any, error) {
	a, err := applicationOf(r)
	if err != nil {
		return nil, err
	}
	sent, err := r.DB.ApplicationAnswers(r.Context(), a.Tenant, a.ID)
	if err != nil {
		return nil, rest.NotFound(err, noAnswers)
	}
	if err := r.AuditAlone(); err != nil {
		return nil, err
	}
	return sentAnswers(a, sent), nil
}

func sentAnswers(a *model.JobApplication, sent *model.ApplicationAnswers) *api.Answers {
	return &api.Answers{Source: sent.Source, APIUser: sent.APIUser, ReceivedAt: a.CreatedAt, Answers: sent.Answers}
}

var noAnswers = problem.New(http.StatusNotFound,
	"this job application has no answers: it did not come by the Apply API, but was put here by a recruiting system")
