package manageapi

import (
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/store"
)

// complianceReport counts what applicants for a job, or for all of a tenant's, answered to the compliance groups'
// questions. Who read it is logged: it is the only way to these answers.
func complianceReport(r *request) (any, error) {
	t := r.tenant
	var job *string
	if code := r.query.Get("job"); code != "" {
		_, err := r.db.Job(r.Context(), t.Name, code)
		if errors.Is(err, store.ErrNotFound) {
			return nil, noJob
		}
		if err != nil {
			return nil, err
		}
		job = &code
	}
	counts, err := r.db.CountComplianceAnswers(r.Context(), t.Name, "")
	if err != nil {
		return nil, err
	}
	r.logged = append(r.logged, zap.String("job", r.query.Get("job")))
	return api.ComplianceReport{Tenant: t.Name, Job: job, At: r.gateway.Now().UTC().Truncate(time.Second),
		Groups: compliance.Summarize(counts, r.query.Get("job"))}, nil
}
