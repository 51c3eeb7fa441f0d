package store

import (
	"context"
	"errors"
	"time"

	"github.com/hiregate/hiregate/internal/hiring"
)

// ErrErased says that what an export held of its candidate was removed, so that it can't be delivered again.
var ErrErased = errors.New("the content of this export was erased")

// erasable is the condition on an export e that nothing more is to be done with it, and nothing was since $1: every delivery of its
// current round is there and all deliveries are final, every document is fetched or given up, and none of its public URLs lives at $2.
// What is in quarantine, waits for Temporal, or was refused by it, is not: it was accepted, and somebody has to look at it.
const erasable = `e.erased_at IS NULL AND e.dispatched_at < $1 AND e.fault = '' AND NOT e.quarantined AND e.deliver_till <= $2
	AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.export_id = e.id AND (d.outcome NOT IN ('delivered', 'failed', 'expired') OR d.updated_at >= $1))
	AND (e.integrations = '' OR length(e.integrations) - length(replace(e.integrations, ' ', '')) + 1 <=
		(SELECT count(*) FROM deliveries d WHERE d.export_id = e.id AND d.round = e.round))
	AND e.attachments <= (SELECT count(*) FROM documents o WHERE o.export_id = e.id AND o.state IN ('fetched', 'given_up'))
	AND NOT EXISTS (SELECT 1 FROM documents o JOIN document_links l ON l.document_id = o.id WHERE o.export_id = e.id AND l.till > $2)`

// Erasable lists those of the next thousand bodies behind an ID whose exports have had nothing to do since before. It gives the ID to
// go on behind, 0 after the last one.
func (db *DB) Erasable(ctx context.Context, behind int64, before, now time.Time) (found []int64, next int64, err error) {
	until := hiring.FirstID(before)
	last, err := query(ctx, db, scanID, `SELECT export_id FROM export_bodies WHERE export_id > $1 AND export_id < $2 ORDER BY export_id LIMIT 1 OFFSET $3`,
		behind, until, unfinishedPage-1)
	if err != nil {
		return nil, 0, err
	}
	if len(last) == 1 {
		next, until = last[0], last[0]+1
	}
	found, err = query(ctx, db, scanID, `SELECT e.id FROM export_bodies b JOIN exports e ON e.id = b.export_id
		WHERE b.export_id > $3 AND b.export_id < $4 AND `+erasable+` ORDER BY b.export_id`, micros(before), micros(now), behind, until)
	return found, next, err
}

// Erase removes what an export holds of its candidate: the body as it came and as it went out, the headers, the candidate's id, what is
// known of its documents beside what became of them, and what its receivers answered. The files that nothing else refers to become
// uploads that nobody takes, for the sweep. It keeps what tells of the export itself: its key and hash, which know a repeat, its
// receipt, deliveries and attempts. It reports false, and changes nothing, when the export is not erasable (any more); see Erasable.
func (tx *Tx) Erase(id int64, before, now time.Time) (bool, error) {
	if err := tx.lockExport(id); err != nil {
		return false, err
	}
	ok, err := tx.one([]any{&id}, `SELECT e.id FROM exports e WHERE e.id = $3 AND `+erasable, micros(before), micros(now), id)
	if err != nil || !ok {
		return false, err
	}
	blobs, err := rowsOf(tx, scanBlob, `SELECT DISTINCT blob FROM documents WHERE export_id = $1 AND blob <> '' ORDER BY blob`, id)
	if err != nil {
		return false, err
	}
	if _, err := tx.exec(`UPDATE exports SET erased_at = $1, candidate_id = '' WHERE id = $2`, micros(now), id); err != nil {
		return false, err
	}
	if _, err := tx.exec(`UPDATE documents SET source_url = $1, blob = '', sha256 = NULL, file_name = '' WHERE export_id = $2`, []byte{}, id); err != nil {
		return false, err
	}
	for _, statement := range []string{
		`DELETE FROM export_bodies WHERE export_id = $1`,
		`DELETE FROM outgoing_bodies WHERE export_id = $1`,
		`DELETE FROM document_links WHERE document_id IN (SELECT id FROM documents WHERE export_id = $1)`,
		`UPDATE attempts SET answer = NULL WHERE delivery_id IN (SELECT id FROM deliveries WHERE export_id = $1)`,
	} {
		if _, err := tx.exec(statement, id); err != nil {
			return false, err
		}
	}
	for _, blob := range blobs {
		if err := tx.releaseFile(blob, now); err != nil {
			return false, err
		}
	}
	return true, nil
}

// releaseFile leaves a file to the sweep, unless a document still has it. Of two nodes that take a file from its last two documents, the
// second has to see what the first did.
func (tx *Tx) releaseFile(blob string, now time.Time) error {
	if err := tx.queue("file", blob); err != nil {
		return err
	}
	taken, err := tx.one([]any{&blob}, `SELECT blob FROM documents WHERE blob = $1 AND blob <> ''
		UNION ALL SELECT blob FROM application_documents WHERE blob = $1 LIMIT 1`, blob)
	if err != nil || taken {
		return err
	}
	return tx.AddUpload(blob, now)
}

func scanBlob(r row) (blob string, err error) {
	err = r.Scan(&blob)
	return blob, err
}
