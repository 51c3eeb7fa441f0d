package store

import (
	"context"
	"errors"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// The reasons of an export's documents that can't be downloaded.
const (
	refusedReason = "a scanner found something harmful in it"
	deletedReason = "it was deleted before it was scanned"
)

// offeredState returns the state in which a document of a job application becomes one of an export. One whose scan is
// pending stays so until the transaction ends: the scan, which may end on another node at this moment, then finds the
// export's document as well.
func (tx *Tx) offeredState(d *model.ApplicationDocument) (state model.DocumentState, reason string, err error) {
	scan := d.Scan
	if scan == model.ScanPending {
		// The row is locked by being written; what it says now is what counts.
		there, err := tx.sql.Scan([]any{&scan}, `UPDATE application_documents SET scan = scan WHERE key = $1
			RETURNING scan`, d.Key)
		if err != nil {
			return "", "", err
		}
		if !there {
			return model.GivenUp, deletedReason, nil
		}
	}
	switch scan {
	case model.ScanPending:
		return model.Scanning, "", nil
	case model.Refused:
		return model.GivenUp, refusedReason, nil
	}
	return model.Fetched, "", nil
}

// FinishScan writes what a scanner says of a document: nothing found, it is clean; else it is refused, in every export
// as well, and its file is entered among the uploads that came to nothing, for removal. It reports false when the scan
// had ended before, or the document is gone.
func (tx *Tx) FinishScan(d *model.ApplicationDocument, found string, now time.Time) (bool, error) {
	scan, state, reason := model.Clean, model.Fetched, ""
	if found != "" {
		scan, state, reason = model.Refused, model.GivenUp, refusedReason
	}
	n, err := tx.sql.Exec(`UPDATE application_documents SET scan = $1, finding = $2, scan_at = NULL WHERE key = $3
		AND scan = 'pending'`, string(scan), found, d.Key)
	if err != nil || n == 0 {
		return false, err
	}
	tx.applicationChanged(d.Tenant, d.Application, now)
	if err := tx.sql.Run(`UPDATE documents SET state = $1, reason = $2 WHERE scan_of = $3 AND state = 'scanning'`,
		string(state), reason, d.Key); err != nil {
		return false, err
	}
	if found == "" {
		return true, nil
	}
	return true, tx.InsertUpload(d.Blob, now)
}

// PostponeScan sets when a scan is started again if it has not ended by then.
func (tx *Tx) PostponeScan(key int64, again time.Time) error {
	return tx.sql.Run(`UPDATE application_documents SET scan_at = $1 WHERE key = $2 AND scan = 'pending'`,
		rows.Micros(again), key)
}

// ListDueScans lists the documents whose scan is to be started, those that waited longest first.
func (db *DB) ListDueScans(ctx context.Context, now time.Time, limit int) ([]int64, error) {
	return rows.Query(ctx, db.reads, func(r row) (key int64, err error) {
		err = r.Scan(&key)
		return key, err
	}, `SELECT key FROM application_documents WHERE scan = 'pending' AND scan_at <= $1 ORDER BY scan_at, key LIMIT $2`,
		rows.Micros(now), limit)
}

// CountPendingScans counts the documents whose scan has not ended.
func (db *DB) CountPendingScans(ctx context.Context) (int64, error) {
	return rows.QueryOne(ctx, db.reads, func(r row) (n int64, err error) {
		err = r.Scan(&n)
		return n, err
	}, `SELECT count(*) FROM application_documents WHERE scan = 'pending'`)
}

// DocumentToScan reads a document by its key; nil when its scan has ended, or it is gone.
func (db *DB) DocumentToScan(ctx context.Context, key int64) (*model.ApplicationDocument, error) {
	d, err := db.applicationDocument(ctx, `key = $1 AND scan = 'pending'`, key)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return d, err
}
