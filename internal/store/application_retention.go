package store

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// keptFrom is from when the retention of a job application counts, as it stands beside it.
type keptFrom struct{ *model.JobApplication }

// Value implements driver.Valuer.
func (a keptFrom) Value() (driver.Value, error) { return a.KeptFrom().UnixMicro(), nil }

// erasesAt is when the retention of its job or tenant erases a row of application_list, keep_until aside; NULL: none does.
const erasesAt = `(SELECT CASE WHEN r.former > 0 AND application_list.kept_from + r.former < r.effective_at
	THEN application_list.kept_from + r.former
	WHEN application_list.kept_from + r.kept > r.effective_at THEN application_list.kept_from + r.kept
	ELSE r.effective_at END
	FROM application_retention r WHERE r.tenant = application_list.tenant AND r.job = COALESCE((SELECT o.job
		FROM application_retention o WHERE o.tenant = application_list.tenant AND o.job = application_list.job), '')
	AND application_list.kept_from IS NOT NULL)`

// ErasesAt returns when retention erases those of some job applications that it does.
func (db *DB) ErasesAt(ctx context.Context, tenant string, ids ...string) (map[string]time.Time, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	in, args := oneOf(ids, tenant)
	return rows.QueryMap(ctx, db.reads, func(r row) (id string, at time.Time, err error) {
		var until time.Time
		err = r.Scan(&id, rows.Time(&at), rows.Time(&until))
		if until.After(at) {
			at = until
		}
		return id, at, err
	}, `SELECT id, at, keep_until FROM (SELECT id, keep_until, `+erasesAt+` AS at FROM application_list
		WHERE tenant = $1 AND stored IS NOT NULL AND id IN (`+in+`)) erased WHERE at IS NOT NULL`, args...)
}

// ListApplicationRetentions lists for how long job applications are kept, by tenant and job.
func (db *DB) ListApplicationRetentions(ctx context.Context) ([]model.ApplicationRetention, error) {
	return rows.Query(ctx, db.reads, func(r row) (a model.ApplicationRetention, err error) {
		var kept, former int64
		err = r.Scan(&a.Tenant, &a.Job, &kept, &former, rows.Time(&a.EffectiveAt), &a.Announced)
		a.Kept, a.Former = time.Duration(kept)*time.Microsecond, time.Duration(former)*time.Microsecond
		return a, err
	}, `SELECT tenant, job, kept, former, effective_at, announced FROM application_retention ORDER BY tenant, job`)
}

// UpsertApplicationRetention writes for how long job applications are kept.
func (tx *Tx) UpsertApplicationRetention(a model.ApplicationRetention) error {
	return tx.sql.Run(`INSERT INTO application_retention (tenant, job, kept, former, effective_at, announced)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (tenant, job) DO UPDATE SET kept = excluded.kept,
		former = excluded.former, effective_at = excluded.effective_at, announced = excluded.announced`,
		a.Tenant, a.Job, a.Kept.Microseconds(), a.Former.Microseconds(), rows.Micros(a.EffectiveAt), a.Announced)
}

// DeleteApplicationRetention has job applications be kept as the others of the tenant; those of the tenant for ever.
func (tx *Tx) DeleteApplicationRetention(a model.ApplicationRetention) error {
	return tx.sql.Run(`DELETE FROM application_retention WHERE tenant = $1 AND job = $2`, a.Tenant, a.Job)
}

// JobRetention says for how many days the applications of a job are kept.
type JobRetention struct {
	Tenant, Job string
	Days        int
}

// ListJobRetentions lists the jobs that say for how long their applications are kept.
func (db *DB) ListJobRetentions(ctx context.Context) ([]JobRetention, error) {
	return rows.Query(ctx, db.reads, func(r row) (j JobRetention, err error) {
		return j, r.Scan(&j.Tenant, &j.Job, &j.Days)
	}, `SELECT tenant, id, kept FROM jobs WHERE kept > 0 ORDER BY tenant, id`)
}

// ErasableApplication is a job application whose time is over.
type ErasableApplication struct {
	ID       string
	KeptFrom time.Time
}

// ListErasableApplications lists up to a page of a tenant's job applications whose time is over, after one of them. shortest
// is the shortest time for which any of the tenant's are kept.
func (db *DB) ListErasableApplications(ctx context.Context, tenant string, after ErasableApplication, shortest time.Duration,
	now time.Time) ([]ErasableApplication, error) {
	begin := int64(-1)
	if !after.KeptFrom.IsZero() {
		begin = after.KeptFrom.UnixMicro()
	}
	return rows.Query(ctx, db.reads, func(r row) (a ErasableApplication, err error) {
		return a, r.Scan(&a.ID, rows.Time(&a.KeptFrom))
	}, listErasable, tenant, begin, after.ID, rows.Micros(now.Add(-shortest)), rows.Micros(now), MaxPage)
}

const listErasable = `SELECT id, kept_from FROM application_list WHERE tenant = $1 AND stored IS NOT NULL
	AND (kept_from, id) > ($2, $3) AND kept_from <= $4 AND keep_until <= $5 AND ` + erasesAt + ` <= $5
	ORDER BY kept_from, id LIMIT $6`

// EraseApplication erases a job application whose time is over with all that belongs to it, and its candidate if it was the
// last one. It reports which it erased, and returns the candidate's id. ErrStale when another request changed one of them.
func (tx *Tx) EraseApplication(tenant, id string, now time.Time) (application, candidate bool, of string, err error) {
	a, there, err := tx.JobApplication(tenant, id)
	if err != nil || !there {
		return false, false, "", err
	}
	due, err := tx.sql.Scan([]any{new(int)}, `SELECT 1 FROM application_list WHERE tenant = $1 AND id = $2
		AND stored IS NOT NULL AND keep_until <= $3 AND `+erasesAt+` <= $3`, tenant, id, rows.Micros(now))
	if err != nil || !due {
		return false, false, "", err
	}
	if err := tx.DeleteJobApplication(a); err != nil {
		return false, false, "", err
	}
	if err := tx.ClearJobApplication(a, now); err != nil {
		return false, false, "", err
	}
	left, err := tx.ListJobApplicationsOf(tenant, a.Candidate, 1)
	if err != nil || len(left) > 0 {
		return true, false, a.Candidate, err
	}
	c, there, err := tx.Candidate(tenant, a.Candidate)
	if err != nil || !there {
		return true, false, a.Candidate, err
	}
	return true, true, c.ID, tx.eraseAlone(c, now)
}

// listKeptFrom completes a row that a release from before retention wrote: it counts from the last change.
func (tx *Tx) listKeptFrom(a resourceRef) error {
	return tx.sql.RunAll([]string{
		`UPDATE job_applications SET kept_from = updated_at WHERE tenant = $1 AND id = $2 AND kept_from IS NULL`,
		`UPDATE application_list SET kept_from = (SELECT kept_from FROM job_applications WHERE tenant = $1 AND id = $2)
			WHERE tenant = $1 AND id = $2 AND kept_from IS NULL`,
	}, a.tenant, a.id)
}
