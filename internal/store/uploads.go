package store

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/store/rows"
)

// InsertUpload inserts the name of a file before it is made: the sweep removes both, unless ClaimUpload claims the
// file. A name that is there already stays.
func (tx *Tx) InsertUpload(blob string, now time.Time) error {
	return tx.sql.Run(`INSERT INTO uploads (blob, begun_at) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
		blob, rows.Micros(now))
}

// ClaimUpload claims a file: it belongs to a row now. It reports false when it was claimed or given up before.
func (tx *Tx) ClaimUpload(blob string) (bool, error) {
	return tx.sql.Changed(`DELETE FROM uploads WHERE blob = $1 AND begun_at > 0`, blob)
}

// IsUpload reports whether a file that was begun after a time is there, and nothing has claimed it.
func (db *DB) IsUpload(ctx context.Context, blob string, after time.Time) (bool, error) {
	found, err := rows.Query(ctx, db.reads, rows.Value[int64], `SELECT 1 FROM uploads WHERE blob = $1 AND begun_at > $2`,
		blob, rows.Micros(after))
	return len(found) > 0, err
}

// AbandonUpload gives a file up before it is removed: nobody can claim it any more, and until DeleteUpload it comes
// first in Uploads. It reports false when it was claimed.
func (tx *Tx) AbandonUpload(blob string) (bool, error) {
	return tx.sql.Changed(`UPDATE uploads SET begun_at = 0 WHERE blob = $1`, blob)
}

// DeleteUpload deletes the row of a file that was given up, once the file is gone.
func (tx *Tx) DeleteUpload(blob string) error {
	return tx.sql.Run(`DELETE FROM uploads WHERE blob = $1`, blob)
}

// ListUploads lists the names of unclaimed files that were begun before a time, at most limit, after an offset: first
// those that were given up, then the oldest.
func (db *DB) ListUploads(ctx context.Context, before time.Time, offset, limit int) ([]string, error) {
	return rows.Query(ctx, db.reads, rows.Value[string], `SELECT blob FROM uploads WHERE begun_at < $1 ORDER BY begun_at, blob
		LIMIT $2 OFFSET $3`, rows.Micros(before), limit, offset)
}
