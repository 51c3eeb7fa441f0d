package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// What is brought in from elsewhere keeps its version and its times. What is there stays as it is.

// restore inserts a resource with the row that it has. It reports false when one of this id is there.
func (c collection[T]) restore(tx *Tx, v *T) (bool, error) {
	id, row, values := c.of(v)
	data, err := json.Marshal(v)
	if err != nil {
		return false, fmt.Errorf("writing a row of %s: %w", c.table, err)
	}
	kept, values, err := c.stored(&tx.db.dataKeys, row.Tenant, id, data, values)
	if err != nil {
		return false, err
	}
	added, err := tx.sql.Changed(c.insert(), append([]any{row.Tenant, id, kept, row.Version, rows.Micros(row.CreatedAt),
		rows.Micros(row.UpdatedAt)}, values...)...)
	if err == nil && !added {
		if _, there, err := c.find(tx, row.Tenant, id); err != nil || !there {
			return false, cmp.Or(err, ErrTaken)
		}
	}
	if err != nil || !added || c.words == nil {
		return added, err
	}
	return true, c.insertWords(tx, v)
}

// RestoreCandidate inserts a candidate with its version and times. It reports false when one of this id is there. The
// other methods that restore resources are alike.
func (tx *Tx) RestoreCandidate(c *model.Candidate) (bool, error) { return candidates.restore(tx, c) }

// RestoreJob inserts a job. ErrTaken when another job of the tenant has its id.
func (tx *Tx) RestoreJob(j *model.Job) (bool, error) { return jobs.restore(tx, j) }

// RestoreStep inserts a step.
func (tx *Tx) RestoreStep(s *model.Step) (bool, error) { return steps.restore(tx, s) }

// RestoreJobApplication inserts a job application. In lists it comes last: cursors have passed its time.
func (tx *Tx) RestoreJobApplication(a *model.JobApplication) (bool, error) {
	a.ErasesAt = time.Time{} // it is computed
	added, err := applications.restore(tx, a)
	if added {
		c := tx.applicationChanged(a.Tenant, a.ID, a.UpdatedAt)
		c.erased, c.imported = false, true
	}
	return added, err
}

// RestoreTransition inserts a transition with its id, or with another one where that is taken.
func (tx *Tx) RestoreTransition(t *model.Transition) error {
	taken := 0
	if _, err := tx.sql.Scan([]any{&taken}, `SELECT count(*) FROM transitions WHERE id = $1`, t.ID); err != nil {
		return err
	}
	if t.ID == 0 || taken > 0 {
		t.ID = model.NewID(t.Status.EnteredAt)
	}
	return tx.InsertTransition(t)
}

// IsErasedApplication reports whether lists have the id of a job application as an erased one.
func (tx *Tx) IsErasedApplication(tenant, id string) (bool, error) {
	return tx.sql.Scan([]any{&id}, `SELECT id FROM application_list WHERE tenant = $1 AND id = $2 AND stored IS NULL`,
		tenant, id)
}
