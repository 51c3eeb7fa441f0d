package store

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
)

// maxKeys is more than are ever published.
const maxKeys = 100

// AddKey adds the next generation of an algorithm's keys. It reports false when another node was quicker.
func (tx *Tx) AddKey(k *identity.Key) (bool, error) {
	n, err := tx.sql.Exec(`INSERT INTO signing_keys (algorithm, generation, id, sealed, signs_from, created_at) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
		string(k.Algorithm), k.Generation, k.ID, k.Sealed, micros(k.SignsFrom), micros(k.CreatedAt))
	return n == 1, err
}

// DropKeys removes the keys of an algorithm before a generation.
func (tx *Tx) DropKeys(a identity.Algorithm, before int) error {
	_, err := tx.sql.Exec(`DELETE FROM signing_keys WHERE algorithm = $1 AND generation < $2`, string(a), before)
	return err
}

// Keys reads all keys, by algorithm and generation.
func (db *DB) Keys(ctx context.Context) ([]*identity.Key, error) {
	return query(ctx, db, func(r row) (*identity.Key, error) {
		var k identity.Key
		err := r.Scan(&k.Algorithm, &k.Generation, &k.ID, &k.Sealed, moment{&k.SignsFrom}, moment{&k.CreatedAt})
		return &k, err
	}, `SELECT algorithm, generation, id, sealed, signs_from, created_at FROM signing_keys ORDER BY algorithm, generation LIMIT $1`, maxKeys)
}

// logKept is how long the log of sign-ins goes back.
const logKept = 90 * 24 * time.Hour

// LogSignin adds an entry to the log of sign-ins, and removes some that are too old.
func (tx *Tx) LogSignin(e *identity.Entry) error {
	if _, err := tx.sql.Exec(`DELETE FROM signin_log WHERE id IN (SELECT id FROM signin_log WHERE at <= $1 ORDER BY at LIMIT $2)`, micros(e.At.Add(-logKept)), sweep); err != nil {
		return err
	}
	_, err := tx.sql.Exec(`INSERT INTO signin_log (at, event, result, issuer, client, user_id, address) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		micros(e.At), e.Event, e.Result, e.Issuer, e.Client, e.UserID, e.Address)
	return err
}

// SigninLog lists the log of sign-ins, the newest first: the entries before one, or from the newest on when before is 0.
func (db *DB) SigninLog(ctx context.Context, before int64, limit int) (page []*identity.Entry, next int64, err error) {
	p := Page{Limit: limit}
	where, args := ``, []any{p.limit() + 1}
	if before > 0 {
		where, args = ` WHERE id < $2`, append(args, before)
	}
	page, err = query(ctx, db, func(r row) (*identity.Entry, error) {
		var e identity.Entry
		err := r.Scan(&e.ID, moment{&e.At}, &e.Event, &e.Result, &e.Issuer, &e.Client, &e.UserID, &e.Address)
		return &e, err
	}, `SELECT id, at, event, result, issuer, client, user_id, address FROM signin_log`+where+` ORDER BY id DESC LIMIT $1`, args...)
	if err == nil && len(page) > p.limit() {
		page = page[:p.limit()]
		next = page[len(page)-1].ID
	}
	return page, next, err
}
