package store

import (
	"context"
	"time"
)

// AddUpload notes the name of a file before it is made: it is removed with the row, should nobody take it. What is noted already stays
// so.
func (tx *Tx) AddUpload(blob string, now time.Time) error {
	return tx.exec(`INSERT INTO uploads (blob, begun_at) VALUES ($1, $2) ON CONFLICT DO NOTHING`, blob, micros(now))
}

// EndUpload says that a file belongs to something now. It reports false when somebody else said so, or gave it up.
func (tx *Tx) EndUpload(blob string) (bool, error) {
	return tx.changed(`DELETE FROM uploads WHERE blob = $1 AND begun_at > 0`, blob)
}

// GiveUpUpload says that a file is about to be removed: nobody takes it any more, and until RemovedUpload it is before all others that
// nobody has taken. It reports false when somebody took it.
func (tx *Tx) GiveUpUpload(blob string) (bool, error) {
	return tx.changed(`UPDATE uploads SET begun_at = 0 WHERE blob = $1`, blob)
}

// RemovedUpload says that a file that was given up is gone.
func (tx *Tx) RemovedUpload(blob string) error {
	return tx.exec(`DELETE FROM uploads WHERE blob = $1`, blob)
}

// Uploads are the names of files that were begun before a time and that nobody has taken, at most limit: first those that were given up,
// then the oldest. Behind is how many of the first are left out.
func (db *DB) Uploads(ctx context.Context, before time.Time, behind, limit int) ([]string, error) {
	return query(ctx, db, scanned[string], `SELECT blob FROM uploads WHERE begun_at < $1 ORDER BY begun_at, blob LIMIT $2 OFFSET $3`, micros(before), limit, behind)
}
