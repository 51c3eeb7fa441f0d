package recruiting

import (
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// complianceReport counts what applicants for a job, or for all of a tenant's, answered to the compliance groups'
// questions. Who read it is logged: it is the only way to these answers.
func complianceReport(r *rest.Request) (any, error) {
	t := r.Tenant
	var job *string
	if code := r.Query.Get("job"); code != "" {
		_, err := r.DB.Job(r.Context(), t.Name, code)
		if errors.Is(err, store.ErrNotFound) {
			return nil, noJob
		}
		if err != nil {
			return nil, err
		}
		job = &code
	}
	counts, err := r.DB.CountComplianceAnswers(r.Context(), t.Name, "")
	if err != nil {
		return nil, err
	}
	r.Logged = append(r.Logged, zap.String("job", r.Query.Get("job")))
	return api.ComplianceReport{Tenant: t.Name, Job: job, At: r.Gateway.Now().UTC().Truncate(time.Second),
		Groups: compliance.Summarize(counts, r.Query.Get("job"))}, nil
}
