package store

import (
	"encoding/binary"

	"github.com/hiregate/hiregate/internal/digest"
	"github.com/hiregate/hiregate/internal/hiring"
)

// Nodes that share a database run their transactions side by side. Whoever writes something that relies on a resource holds that
// first; whoever deletes a resource looks only then at what relies on it: its deletion has waited for those who held it, and who
// comes later does not find it any more.

// HoldCandidate is Candidate, and nobody deletes them until the transaction ends.
func (tx *Tx) HoldCandidate(tenant, id string) (*hiring.Candidate, bool, error) {
	return candidates.hold(tx, tenant, id)
}

// HoldJob is Opening, and nobody deletes the job until the transaction ends.
func (tx *Tx) HoldJob(tenant, boardCode string) (*hiring.Job, bool, error) {
	return openings.hold(tx, tenant, boardCode)
}

// HoldJobApplication is JobApplication, and nobody deletes it until the transaction ends.
func (tx *Tx) HoldJobApplication(tenant, id string) (*hiring.JobApplication, bool, error) {
	return applications.hold(tx, tenant, id)
}

// HoldApplicationDocuments is ApplicationDocuments, and nobody deletes them until the transaction ends.
func (tx *Tx) HoldApplicationDocuments(tenant, application string, limit int) ([]*hiring.ApplicationDocument, error) {
	return tx.applicationDocuments(tx.sql.KeyShare(), tenant, application, limit)
}

// HoldCandidateByEmail finds the candidate whose first e-mail address this is; of several, the one of the smallest id. Until the
// transaction ends nobody deletes them, nor does anybody else come past here with this address: of two who make a candidate where
// there is none, the second finds the first one's.
func (tx *Tx) HoldCandidateByEmail(tenant, email string) (*hiring.Candidate, bool, error) {
	key := emailKey(email)
	if err := tx.queue("candidate", tenant, key); err != nil {
		return nil, false, err
	}
	for after := ""; ; {
		page, err := candidates.rows(tx, ` AND email = $2 AND id > $3 ORDER BY id LIMIT $4`, tenant, key, after, DefaultPage)
		if err != nil {
			return nil, false, err
		}
		for _, c := range page {
			if !goesBy(c, email) {
				continue
			}
			if c, ok, err := candidates.hold(tx, tenant, c.ID); ok || err != nil {
				return c, ok, err
			}
		}
		if len(page) < DefaultPage {
			return nil, false, nil
		}
		after = page[len(page)-1].ID
	}
}

// queue waits for the transactions of other nodes that came here with the same words, and has the next ones wait for this.
func (tx *Tx) queue(words ...string) error {
	sum := digest.Of(words...)
	return tx.sql.LockKey(int64(binary.BigEndian.Uint64(sum[:])))
}
