package access

import (
	"context"
	"math"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// maxKeys is more than are ever published.
const maxKeys = 100

// InsertKey inserts the next generation of an algorithm's keys. It reports false when another node was quicker.
func (tx *Tx) InsertKey(k *identity.Key) (bool, error) {
	return tx.sql.Changed(`INSERT INTO signing_keys (algorithm, generation, id, sealed, signs_from, created_at)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
		string(k.Algorithm), k.Generation, k.ID, k.Sealed, rows.Micros(k.SignsFrom), rows.Micros(k.CreatedAt))
}

// DeleteKeys deletes the keys of an algorithm before a generation.
func (tx *Tx) DeleteKeys(a identity.Algorithm, before int) error {
	return tx.sql.Run(`DELETE FROM signing_keys WHERE algorithm = $1 AND generation < $2`, string(a), before)
}

// ListKeys reads all keys, by algorithm and generation.
func (db *DB) ListKeys(ctx context.Context) ([]*identity.Key, error) {
	return rows.Query(ctx, db.reads, func(r row) (*identity.Key, error) {
		var k identity.Key
		err := r.Scan(&k.Algorithm, &k.Generation, &k.ID, &k.Sealed, rows.Time(&k.SignsFrom), rows.Time(&k.CreatedAt))
		return &k, err
	}, `SELECT algorithm, generation, id, sealed, signs_from, created_at FROM signing_keys
		ORDER BY algorithm, generation LIMIT $1`, maxKeys)
}

// logKept is how long the log of sign-ins goes back.
const logKept = 90 * 24 * time.Hour

// InsertSigninEntry adds an entry to the log of sign-ins, and removes some that are too old.
func (tx *Tx) InsertSigninEntry(e *identity.Entry) error {
	if err := rows.DeleteExpired(tx.sql, "signin_log", "id", "at", rows.Sweep, e.At.Add(-logKept)); err != nil {
		return err
	}
	return tx.sql.Run(`INSERT INTO signin_log (at, event, result, issuer, client, user_id, address)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		rows.Micros(e.At), e.Event, e.Result, e.Issuer, e.Client, e.UserID, e.Address)
}

// ListSigninEntries lists the log of sign-ins, the newest first: the entries before one, or from the newest on when
// before is 0.
func (db *DB) ListSigninEntries(ctx context.Context, before int64, limit int) ([]*identity.Entry, int64, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	return rows.QueryPage(ctx, db.reads, func(r row) (*identity.Entry, error) {
		var e identity.Entry
		err := r.Scan(&e.ID, rows.Time(&e.At), &e.Event, &e.Result, &e.Issuer, &e.Client, &e.UserID, &e.Address)
		return &e, err
	}, func(e *identity.Entry) int64 { return e.ID }, rows.Page{Limit: limit}.Size(),
		`SELECT id, at, event, result, issuer, client, user_id, address FROM signin_log WHERE id < $1 ORDER BY id DESC`,
		before)
}
