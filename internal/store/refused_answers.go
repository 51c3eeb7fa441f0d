package store

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// RefusedAnswers counts the answers to a question of a job that were refused.
type RefusedAnswers struct {
	Question string // empty: the job does not ask it
	Format   model.Format
	Count    int64
	LastHour time.Time // in which the latest one was refused
}

// CountRefusedAnswers adds to what was refused in the hour of LastHour. It does nothing for a job that is not there any
// more. Of a job and an hour there are no more rows than questions.
func (tx *Tx) CountRefusedAnswers(tenant, job string, r RefusedAnswers) error {
	return tx.sql.Run(`INSERT INTO answer_refusals (tenant, job, question, format, hour, count)
		SELECT tenant, id, $3, $4, $5, $6 FROM jobs WHERE tenant = $1 AND id = $2
		ON CONFLICT (tenant, job, question, format, hour) DO UPDATE SET count = answer_refusals.count + excluded.count`,
		tenant, job, r.Question, string(r.Format), rows.Micros(r.LastHour.UTC().Truncate(time.Hour)), r.Count)
}

// ListRefusedAnswers lists what was refused of the answers for a job since a time, the most frequent first.
func (db *DB) ListRefusedAnswers(ctx context.Context, tenant, job string, since time.Time) ([]RefusedAnswers, error) {
	return rows.Query(ctx, db.reads, func(r row) (a RefusedAnswers, err error) {
		return a, r.Scan(&a.Question, &a.Format, &a.Count, rows.Time(&a.LastHour))
	}, `SELECT question, format, CAST(sum(count) AS BIGINT) AS n, max(hour) FROM answer_refusals
		WHERE tenant = $1 AND job = $2 AND hour >= $3 GROUP BY question, format ORDER BY n DESC, question, format`,
		tenant, job, rows.Micros(since.Truncate(time.Hour)))
}

// DeleteRefusedAnswers deletes up to 500 hours that ended before a time, the oldest first, and returns how many.
func (tx *Tx) DeleteRefusedAnswers(before time.Time) (int64, error) {
	return tx.sql.Exec(`DELETE FROM answer_refusals WHERE (tenant, job, question, format, hour) IN (
		SELECT tenant, job, question, format, hour FROM answer_refusals WHERE hour < $1 ORDER BY hour LIMIT 500)`,
		rows.Micros(before.Add(-time.Hour)))
}

// Received is how many job applications there are for a job, and when the latest one came.
type Received struct {
	Count  int64
	Latest time.Time
}

// CountJobApplications counts the job applications for a job.
func (db *DB) CountJobApplications(ctx context.Context, tenant, job string) (Received, error) {
	return rows.QueryOne(ctx, db.reads, func(r row) (n Received, err error) {
		return n, r.Scan(&n.Count, rows.Time(&n.Latest))
	}, `SELECT count(*), max(created_at) FROM job_applications WHERE tenant = $1 AND job = $2`, tenant, job)
}
