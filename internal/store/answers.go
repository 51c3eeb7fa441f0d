package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// InsertSubmission inserts what came with a job application.
func (tx *Tx) InsertSubmission(tenant, application string, s *model.Submission) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return tx.sql.Run(`INSERT INTO application_answers (tenant, application, data) VALUES ($1, $2, $3)`,
		tenant, application, wrapBody(data))
}

// InsertComplianceAnswer inserts an answer to a question of a compliance group.
func (tx *Tx) InsertComplianceAnswer(a *model.JobApplication, c model.ComplianceAnswer, now time.Time) error {
	return tx.sql.Run(`INSERT INTO compliance_answers (tenant, application, question, job, compliance, choice, value,
		answered_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		a.Tenant, a.ID, c.Question, a.Job, c.Group, c.Choice, wrapBody([]byte(c.Value)), rows.Micros(now))
}

// UpdateComplianceJob counts an application's compliance answers with the job that it is for now.
func (tx *Tx) UpdateComplianceJob(a *model.JobApplication) error {
	return tx.sql.Run(`UPDATE compliance_answers SET job = $3 WHERE tenant = $1 AND application = $2`,
		a.Tenant, a.ID, a.Job)
}

// DeleteSubmission deletes all that came with a job application, and what was answered to the compliance groups.
func (tx *Tx) DeleteSubmission(tenant, application string) error {
	return tx.sql.RunAll([]string{
		`DELETE FROM application_answers WHERE tenant = $1 AND application = $2`,
		`DELETE FROM compliance_answers WHERE tenant = $1 AND application = $2`,
	}, tenant, application)
}

// Submission reads what came with a job application; ErrNotFound when it came from elsewhere.
func (db *DB) Submission(ctx context.Context, tenant, application string) (*model.Submission, error) {
	return rows.QueryOne(ctx, db.reads, func(r row) (*model.Submission, error) {
		s := new(model.Submission)
		var kept []byte
		if err := r.Scan(&kept); err != nil {
			return nil, err
		}
		data, err := unwrapBody(kept)
		if err != nil {
			return nil, err
		}
		return s, json.Unmarshal(data, s)
	}, `SELECT data FROM application_answers WHERE tenant = $1 AND application = $2`, tenant, application)
}

// ListComplianceAnswers lists what was answered to the compliance groups' questions with a job application.
func (db *DB) ListComplianceAnswers(ctx context.Context, tenant, application string) ([]model.ComplianceAnswer, error) {
	return rows.Query(ctx, db.reads, func(r row) (a model.ComplianceAnswer, err error) {
		var kept []byte
		if err := r.Scan(&a.Question, &a.Group, &a.Choice, &kept, rows.Time(&a.AnsweredAt)); err != nil {
			return a, err
		}
		value, err := unwrapBody(kept)
		a.Value = string(value)
		return a, err
	}, `SELECT question, compliance, choice, value, answered_at FROM compliance_answers WHERE tenant = $1
		AND application = $2 ORDER BY compliance, question`, tenant, application)
}

// CountComplianceAnswers counts the choices of a tenant's applicants: for one job, or for each when it is empty. What
// is no choice, such as a signature, is not read.
func (db *DB) CountComplianceAnswers(ctx context.Context, tenant, job string) ([]model.ComplianceCount, error) {
	where, args := ``, []any{tenant, true}
	if job != "" {
		where, args = ` AND job = $3`, append(args, job)
	}
	return rows.Query(ctx, db.reads, func(r row) (c model.ComplianceCount, err error) {
		var kept []byte
		if err := r.Scan(&c.Job, &c.Group, &c.Question, &kept, &c.Count); err != nil {
			return c, err
		}
		value, err := unwrapBody(kept)
		c.Value = string(value)
		return c, err
	}, `SELECT job, compliance, question, value, COUNT(*) FROM compliance_answers WHERE tenant = $1
		AND choice = $2`+where+`
		GROUP BY job, compliance, question, value ORDER BY job, compliance, question, value`, args...)
}
