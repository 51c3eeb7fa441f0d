package store

import (
	"encoding/binary"

	"github.com/hiregate/hiregate/internal/digest"
	"github.com/hiregate/hiregate/internal/model"
)

// Nodes that share a database run their transactions side by side. A write that references a candidate, a job or a job
// application locks its row first. A deletion waits for these locks and looks for references after it: a write that
// comes later does not find the row any more.

// LockCandidate is Candidate with a lock on the row until the transaction ends: nobody deletes it. The other methods
// are alike.
func (tx *Tx) LockCandidate(tenant, id string) (*model.Candidate, bool, error) {
	return candidates.lock(tx, tenant, id)
}

// LockJob is JobWithoutQuestions with a row lock.
func (tx *Tx) LockJob(tenant, boardCode string) (*model.Job, bool, error) {
	return openings.lock(tx, tenant, boardCode)
}

// LockJobApplication is JobApplication with a row lock.
func (tx *Tx) LockJobApplication(tenant, id string) (*model.JobApplication, bool, error) {
	return applications.lock(tx, tenant, id)
}

// LockApplicationDocuments is ListApplicationDocuments with row locks.
func (tx *Tx) LockApplicationDocuments(tenant, application string, limit int) ([]*model.ApplicationDocument, error) {
	return tx.applicationDocuments(tx.sql.KeyShare(), tenant, application, limit)
}

// LockCandidateByEmail finds and locks the candidate with this first e-mail address; of several, the one of the
// smallest id. It locks the address as well: of two transactions that insert a candidate where there is none, the
// second finds the first one's.
func (tx *Tx) LockCandidateByEmail(tenant, email string) (*model.Candidate, bool, error) {
	if err := tx.lockKey("candidate", tenant, emailKey(email)); err != nil {
		return nil, false, err
	}
	keys, err := tx.db.dataKeys.emailKeys(tenant, email)
	if err != nil {
		return nil, false, err
	}
	for after := ""; ; {
		in, args := oneOf(keys, tenant, after, DefaultPage)
		page, err := candidates.rows(tx, ` AND email IN (`+in+`) AND id > $2 ORDER BY id LIMIT $3`, args...)
		if err != nil {
			return nil, false, err
		}
		for _, c := range page {
			if !hasEmail(c.Email[:min(1, len(c.Email))], email) {
				continue
			}
			if c, ok, err := candidates.lock(tx, tenant, c.ID); ok || err != nil {
				return c, ok, err
			}
		}
		if len(page) < DefaultPage {
			return nil, false, nil
		}
		after = page[len(page)-1].ID
	}
}

// lockKey waits until no other transaction holds the lock of these words, and holds it until the transaction ends.
func (tx *Tx) lockKey(words ...string) error {
	sum := digest.Of(words...)
	return tx.sql.LockKey(int64(binary.BigEndian.Uint64(sum[:])))
}
