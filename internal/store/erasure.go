package store

import (
	"context"
	"errors"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// ErrErased says that the content of an export was erased, so that it can't be delivered again.
var ErrErased = errors.New("the content of this export was erased")

// finished is the condition on an export e that it was dispatched before $1, and that every document is fetched or given
// up. An export that is in quarantine, waits for Temporal or was rejected by it is not finished: it was accepted, and an
// operator has to look at it.
const finished = `e.dispatched_at < $1 AND e.fault = '' AND NOT e.quarantined AND e.deliver_till <= $2
	AND e.attachments <= (SELECT count(*) FROM documents o WHERE o.export_id = e.id
	AND o.state IN ('fetched', 'given_up'))`

// quiet is the condition on an export e that all its deliveries are final and were before $1, and that none of its
// public URLs lives at $2.
const quiet = `NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.export_id = e.id
	AND (d.outcome NOT IN ('delivered', 'failed', 'expired') OR d.updated_at >= $1))
	AND NOT EXISTS (SELECT 1 FROM documents o JOIN document_links l ON l.document_id = o.id WHERE o.export_id = e.id
	AND l.till > $2)`

// erasable is the condition on an export e that it has content, that nothing more is to be done with it, and that
// nothing was since $1.
const erasable = `e.erased_at IS NULL AND ` + finished + ` AND ` + quiet

// Due is a page of the exports whose time is over.
type Due struct {
	IDs    []int64   // of those that are finished
	Oldest time.Time // when the first of them came
	Next   int64     // the ID to continue after, 0 at the end
	Left   int       // how many exports come after the page, whether finished or not: at most MaxDue
}

// MaxDue is up to how many exports are counted that are still to be looked at.
const MaxDue = 10_000

// listDue lists the exports e before a time of which a condition holds, among the next thousand of a table after an ID,
// which a column has. $1 of the condition is before, and $2 now.
func (db *DB) listDue(ctx context.Context, table, column, condition string, after int64,
	before, now time.Time) (d Due, err error) {
	ids, end := `SELECT `+column+` FROM `+table+` WHERE `+column+` > $1 AND `+column+` < $2 ORDER BY `+column+` LIMIT `,
		model.FirstID(before)
	last, err := rows.Query(ctx, db.reads, rows.Value[int64], ids+`1 OFFSET $3`, after, end, unfinishedPage-1)
	if err != nil {
		return d, err
	}
	if len(last) == 1 {
		d.Next = last[0]
		d.Left, err = rows.QueryOne(ctx, db.reads, rows.Value[int], `SELECT count(*) FROM (`+ids+`$3) later`,
			d.Next, end, MaxDue)
		if err != nil {
			return d, err
		}
		end = d.Next + 1
	}
	d.IDs, err = rows.Query(ctx, db.reads, rows.Value[int64], `SELECT e.id FROM `+table+` WHERE `+column+` > $3
		AND `+column+` < $4 AND `+condition+` ORDER BY `+column, rows.Micros(before), rows.Micros(now), after, end)
	if len(d.IDs) > 0 {
		d.Oldest = model.TimeOfID(d.IDs[0])
	}
	return d, err
}

// ListErasable lists the exports that nothing was done with since before, among the next thousand bodies after an ID.
func (db *DB) ListErasable(ctx context.Context, after int64, before, now time.Time) (Due, error) {
	return db.listDue(ctx, "export_bodies b JOIN exports e ON e.id = b.export_id", "b.export_id", erasable,
		after, before, now)
}

// Erase removes the personal data of exports: the received and the delivered body, the headers, the candidate's id, the
// documents' URLs, names and hashes, and the receivers' answers. Files that no other row references become unclaimed
// uploads, which the sweep removes. The rest stays: key and hash, which detect a repeat, receipt, deliveries and
// attempts. It returns those that it erased: of the others, some are not erasable (any more), see ListErasable, and
// some are in use on another node at this moment.
func (tx *Tx) Erase(ids []int64, before, now time.Time) (erased []int64, err error) {
	erased, err = tx.lockDue(ids, erasable, before, now)
	if err != nil || len(erased) == 0 {
		return nil, err
	}
	return erased, tx.erase(erased, now)
}

// lockDue locks those of some exports of which a condition holds. $1 of it is before, and $2 now.
func (tx *Tx) lockDue(ids []int64, condition string, before, now time.Time) (due []int64, err error) {
	in, args := oneOf(ids)
	due, err = rows.QueryTx(tx.sql, rows.Value[int64], `SELECT id FROM exports WHERE id IN (`+in+`) ORDER BY id`+
		tx.sql.SkipLocked(), args...)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	// Apart, so that it sees what those wrote who had the locks before.
	in, args = oneOf(due, rows.Micros(before), rows.Micros(now))
	return rows.QueryTx(tx.sql, rows.Value[int64], `SELECT e.id FROM exports e WHERE e.id IN (`+in+`)
		AND `+condition+` ORDER BY e.id`, args...)
}

// erase removes the content of exports that the transaction has locked.
func (tx *Tx) erase(ids []int64, now time.Time) error {
	if err := tx.releaseFiles(ids, now); err != nil {
		return err
	}
	in, args := oneOf(ids, rows.Micros(now))
	err := tx.sql.Run(`UPDATE exports SET erased_at = $1, candidate_id = '' WHERE id IN (`+in+`)`, args...)
	if err != nil {
		return err
	}
	in, args = oneOf(ids, []byte{})
	if err := tx.sql.Run(`UPDATE documents SET source_url = $1, blob = '', sha256 = NULL, file_name = '', sealed = NULL
		WHERE export_id IN (`+in+`)`, args...); err != nil {
		return err
	}
	in, args = oneOf(ids)
	return tx.sql.RunAll([]string{
		`DELETE FROM export_bodies WHERE export_id IN (` + in + `)`,
		`DELETE FROM outgoing_bodies WHERE export_id IN (` + in + `)`,
		`DELETE FROM export_triggers WHERE export_id IN (` + in + `)`,
		`DELETE FROM document_links WHERE document_id IN (SELECT id FROM documents WHERE export_id IN (` + in + `))`,
		`UPDATE attempts SET answer = NULL, sealed = NULL WHERE delivery_id IN (SELECT id FROM deliveries
			WHERE export_id IN (` + in + `))`,
	}, args...)
}

// ErasedReason is why what was still to come of an export ended.
const ErasedReason = "what the export held was erased, as somebody asked"

// Remainder is the unfinished work of an export.
type Remainder struct {
	Deliveries []*model.Delivery // that are not final
	Documents  int               // that are neither fetched nor given up
}

// LockRemainder reads an export, with a lock on its row until the transaction ends, and what of it is still to come.
func (tx *Tx) LockRemainder(id int64) (e *model.Export, left Remainder, err error) {
	if err := tx.lockExport(id); err != nil {
		return nil, left, err
	}
	if e, err = tx.export(id); err != nil {
		return nil, left, err
	}
	all, err := rows.QueryTx(tx.sql, scanDelivery, deliveriesOfExport, id)
	if err != nil {
		return nil, left, err
	}
	for _, d := range all {
		if !d.Outcome.Final() {
			left.Deliveries = append(left.Deliveries, d)
		}
	}
	var settled int
	_, err = tx.sql.Scan([]any{&settled}, `SELECT count(*) FROM documents WHERE export_id = $1
		AND state IN ('fetched', 'given_up')`, id)
	left.Documents = e.Attachments - settled
	return e, left, err
}

// EraseNow ends what of an export is still to come, and removes what Erase removes. The export and its remainder are
// those that the transaction read. Its workflow then finds everything ended.
func (tx *Tx) EraseNow(e *model.Export, left Remainder, now time.Time) error {
	if left.Documents > 0 { // insert the missing ones, so that no attempt follows
		err := tx.sql.Run(`
			WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < $1)
			INSERT INTO documents (export_id, tenant, position, source_url, state, reason, tries, blob, size, declared,
			detected, file_name, created_at)
			SELECT $2, $3, n, $4, $5, '', 0, '', 0, '', '', '', $6 FROM n WHERE TRUE
			ON CONFLICT (export_id, position) DO NOTHING`,
			e.Attachments, e.ID, e.Tenant, []byte{}, string(model.Fetching), rows.Micros(now))
		if err != nil {
			return err
		}
	}
	for _, one := range []struct {
		statement string
		args      []any
	}{
		// An attempt that is being written on another node is there first, or sees that the export was erased.
		{`UPDATE deliveries SET attempts = attempts WHERE export_id = $1`, []any{e.ID}},
		{`UPDATE deliveries SET outcome = 'failed', fault = 'our_fault', reason = $1, parked = $2, held_since = NULL,
			next_at = NULL, updated_at = $3
			WHERE export_id = $4 AND outcome IN ('pending', 'retrying', 'held')`,
			[]any{ErasedReason, false, rows.Micros(now), e.ID}},
		{`UPDATE documents SET state = 'given_up', reason = $1, next_at = NULL WHERE export_id = $2
			AND state IN ('fetching', 'scanning')`, []any{ErasedReason, e.ID}},
		{`UPDATE exports SET quarantined = $1 WHERE id = $2`, []any{false, e.ID}},
		// no workflow is started for it
		{`UPDATE exports SET fault = $1 WHERE id = $2 AND coalesce(dispatched_at, 0) = 0 AND fault = ''`,
			[]any{ErasedReason, e.ID}},
	} {
		if err := tx.sql.Run(one.statement, one.args...); err != nil {
			return err
		}
	}
	return tx.erase([]int64{e.ID}, now)
}

// lockContent keeps the content of an export from being erased until the transaction ends; ErrErased when it was.
func (tx *Tx) lockContent(id int64) error {
	return tx.sql.RunOr(ErrErased, `UPDATE exports SET round = round WHERE id = $1 AND erased_at IS NULL`, id)
}

// releaseFiles leaves the files of exports to the sweep, except those of other documents. There may be thousands of
// them: it takes no statement for each.
func (tx *Tx) releaseFiles(ids []int64, now time.Time) error {
	in, args := oneOf(ids)
	shelves, err := rows.QueryTx(tx.sql, rows.Value[string], `SELECT DISTINCT substr(blob, 1, 1) FROM documents
		WHERE export_id IN (`+in+`) AND blob <> '' ORDER BY 1`, args...)
	if err != nil || len(shelves) == 0 {
		return err
	}
	for _, shelf := range shelves {
		if err := tx.lockFiles(shelf); err != nil {
			return err
		}
	}
	in, args = oneOf(ids, rows.Micros(now))
	return tx.sql.Run(`INSERT INTO uploads (blob, begun_at) SELECT DISTINCT d.blob, CAST($1 AS BIGINT) FROM documents d
		WHERE d.export_id IN (`+in+`) AND d.blob <> ''
		AND NOT EXISTS (SELECT 1 FROM documents o WHERE o.blob = d.blob AND o.blob <> '' AND o.export_id NOT IN (`+in+`))
		AND NOT EXISTS (SELECT 1 FROM application_documents a WHERE a.blob = d.blob) ON CONFLICT DO NOTHING`, args...)
}

// lockFiles waits for those who let go of the same file, on whatever node: of two that take it from its last two
// documents, the second has to see what the first did. A transaction has room for few locks, so that files with the
// same first character share one.
func (tx *Tx) lockFiles(blob string) error { return tx.lockKey("file", blob[:min(1, len(blob))]) }

// releaseFile leaves a file to the sweep, unless a document still refers to it.
func (tx *Tx) releaseFile(blob string, now time.Time) error {
	if err := tx.lockFiles(blob); err != nil {
		return err
	}
	taken, err := tx.sql.Scan([]any{&blob}, `SELECT blob FROM documents WHERE blob = $1 AND blob <> ''
		UNION ALL SELECT blob FROM application_documents WHERE blob = $1 LIMIT 1`, blob)
	if err != nil || taken {
		return err
	}
	return tx.InsertUpload(blob, now)
}
