package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/hiregate/hiregate/internal/store/rows"
)

var (
	// ErrRunning says that a request of the same Idempotency-Key is being answered.
	ErrRunning = errors.New("it is being answered")
	// ErrOtherRequest says that an Idempotency-Key was used for something else.
	ErrOtherRequest = errors.New("the key was used for something else")
	// ErrLeaseLost says that a request took too long, and that its repeat has taken it over.
	ErrLeaseLost = errors.New("its repeat has taken it over")
)

// Once is a request that carries an Idempotency-Key. The store keeps it with the location of what the request made.
type Once struct {
	ID          [sha256.Size]byte // who asks for what, and the key
	Fingerprint [sha256.Size]byte // of what is sent
	Lease       time.Time         // until then nobody else may answer it
	Till        time.Time         // until then its repeats are recognized
}

// Begin begins a request, or returns the location of what it made before. A request whose lease is over, because its
// process ended, begins again; so does one that is kept no longer. Errors: ErrRunning, ErrOtherRequest, and those of
// the database.
func (db *DB) Begin(ctx context.Context, o *Once, now time.Time) (location string, err error) {
	err = db.Write(ctx, func(tx *Tx) (err error) {
		location, err = tx.beginOnce(o, now)
		return err
	})
	return location, err
}

// Known returns the location of what a request made before, and begins nothing; empty: nothing was made. Errors:
// ErrOtherRequest, and those of the database.
func (db *DB) Known(ctx context.Context, o *Once, now time.Time) (location string, err error) {
	var fingerprint []byte
	location, err = rows.QueryOne(ctx, db.reads, func(r row) (s string, err error) { return s, r.Scan(&fingerprint, &s) },
		`SELECT fingerprint, location FROM idempotency WHERE id = $1 AND till > $2`, o.ID[:], rows.Micros(now))
	switch {
	case errors.Is(err, ErrNotFound):
		return "", nil
	case err == nil && !bytes.Equal(fingerprint, o.Fingerprint[:]):
		return "", ErrOtherRequest
	}
	return location, err
}

func (tx *Tx) beginOnce(o *Once, now time.Time) (location string, err error) {
	if err := rows.DeleteExpired(tx.sql, "idempotency", "id", "till", rows.Sweep, now); err != nil {
		return "", err
	}
	if err := tx.sql.Run(`DELETE FROM idempotency WHERE id = $1 AND till <= $2`, o.ID[:], rows.Micros(now)); err != nil {
		return "", err
	}
	n, err := tx.sql.Exec(`INSERT INTO idempotency (id, fingerprint, location, lease, till)
		VALUES ($1, $2, '', $3, $4) ON CONFLICT DO NOTHING`,
		o.ID[:], o.Fingerprint[:], rows.Micros(o.Lease), rows.Micros(o.Till))
	if err != nil || n == 1 {
		return "", err
	}
	var fingerprint []byte
	var lease time.Time
	if _, err := tx.sql.Scan([]any{&fingerprint, &location, rows.Time(&lease)},
		`SELECT fingerprint, location, lease FROM idempotency WHERE id = $1`, o.ID[:]); err != nil {
		return "", err
	}
	switch {
	case !bytes.Equal(fingerprint, o.Fingerprint[:]):
		return "", ErrOtherRequest
	case location != "":
		return location, nil
	case lease.After(now):
		return "", ErrRunning
	}
	n, err = tx.sql.Exec(`UPDATE idempotency SET lease = $1 WHERE id = $2 AND lease = $3`,
		rows.Micros(o.Lease), o.ID[:], rows.Micros(lease))
	if err == nil && n == 0 {
		err = ErrRunning // another node was quicker
	}
	return "", err
}

// Complete stores the location of what a request makes, in the transaction that makes it: its repeats don't make it
// again. The error is ErrLeaseLost when a repeat has taken the request over.
func (tx *Tx) Complete(o *Once, location string) error {
	return tx.sql.RunOr(ErrLeaseLost, `UPDATE idempotency SET location = $1 WHERE id = $2 AND lease = $3`,
		location, o.ID[:], rows.Micros(o.Lease))
}

// EndLease ends the lease of a request, so that its repeat may begin at once.
func (db *DB) EndLease(ctx context.Context, o *Once, now time.Time) error {
	return db.Write(ctx, func(tx *Tx) error {
		return tx.sql.Run(`UPDATE idempotency SET lease = $1 WHERE id = $2 AND lease = $3`,
			rows.Micros(now), o.ID[:], rows.Micros(o.Lease))
	})
}

// Do is Begin and Complete in one transaction: it returns the location of what the request made before; where that is
// empty, location is stored, and the caller makes what is there. Errors are those of Begin.
func (tx *Tx) Do(o *Once, location string, now time.Time) (before string, err error) {
	before, err = tx.beginOnce(o, now)
	if err != nil || before != "" {
		return before, err
	}
	return "", tx.sql.Run(`UPDATE idempotency SET location = $1 WHERE id = $2`, location, o.ID[:])
}

// CountMade counts the kept requests that made something at or below some locations.
func (db *DB) CountMade(ctx context.Context, locations []string) (n int64, err error) {
	for _, at := range locations {
		first, end := below(at)
		one, err := rows.QueryOne(ctx, db.reads, rows.Value[int64], `SELECT count(*) FROM idempotency WHERE location = $1
			OR location >= $2 AND location < $3`, at, first, end)
		if err != nil {
			return 0, err
		}
		n += one
	}
	return n, nil
}
