package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"time"
)

var (
	// ErrRunning says that a request of the same Idempotency-Key is being answered.
	ErrRunning = errors.New("it is being answered")
	// ErrOtherRequest says that an Idempotency-Key was used for something else.
	ErrOtherRequest = errors.New("the key was used for something else")
	// ErrLeaseLost says that a request took too long, and that its repeat has taken it over.
	ErrLeaseLost = errors.New("its repeat has taken it over")
)

// Once is a request that carries an Idempotency-Key.
type Once struct {
	ID          [sha256.Size]byte // who asks for what, and the key
	Fingerprint [sha256.Size]byte // of what is sent
	Lease       time.Time         // until then nobody else may answer it
	Till        time.Time         // until then its answer is kept
}

// Kept is what is known of a request that came before.
type Kept struct {
	Answered bool
	Answer   []byte
	Effect   string // what the request brought about before its process ended without an answer; empty: nothing
}

// sweep is how many outlived requests each new one removes: more than one, so that they don't pile up.
const sweep = 20

// Begin begins a request, or tells what became of it before. A request whose lease is over, because its process ended, is
// begun anew; so is one that is kept no longer. Errors: ErrRunning, ErrOtherRequest, and those of the database.
func (db *DB) Begin(ctx context.Context, o *Once, now time.Time) (kept Kept, err error) {
	err = db.Write(ctx, func(tx *Tx) (err error) {
		kept, err = tx.beginOnce(o, now)
		return err
	})
	return kept, err
}

// Known tells what became of a request before, and begins nothing. Errors: ErrOtherRequest, and those of the database.
func (db *DB) Known(ctx context.Context, o *Once, now time.Time) (Kept, error) {
	var fingerprint []byte
	kept, err := queryOne(ctx, db, func(r row) (k Kept, err error) {
		return k, r.Scan(&fingerprint, &k.Effect, &k.Answered, &k.Answer)
	}, `SELECT fingerprint, effect, answered, answer FROM idempotency WHERE id = $1 AND till > $2`, o.ID[:], micros(now))
	switch {
	case errors.Is(err, ErrNotFound):
		return Kept{}, nil
	case err == nil && !bytes.Equal(fingerprint, o.Fingerprint[:]):
		return Kept{}, ErrOtherRequest
	}
	return kept, err
}

func (tx *Tx) beginOnce(o *Once, now time.Time) (Kept, error) {
	if _, err := tx.exec(`DELETE FROM idempotency WHERE id IN (SELECT id FROM idempotency WHERE till <= $1 ORDER BY till LIMIT $2)`, micros(now), sweep); err != nil {
		return Kept{}, err
	}
	if _, err := tx.exec(`DELETE FROM idempotency WHERE id = $1 AND till <= $2`, o.ID[:], micros(now)); err != nil {
		return Kept{}, err
	}
	n, err := tx.exec(`INSERT INTO idempotency (id, fingerprint, effect, answered, lease, till) VALUES ($1, $2, '', $3, $4, $5) ON CONFLICT DO NOTHING`,
		o.ID[:], o.Fingerprint[:], false, micros(o.Lease), micros(o.Till))
	if err != nil || n == 1 {
		return Kept{}, err
	}
	var kept Kept
	var fingerprint []byte
	var lease time.Time
	if _, err := tx.one([]any{&fingerprint, &kept.Effect, &kept.Answered, &kept.Answer, moment{&lease}},
		`SELECT fingerprint, effect, answered, answer, lease FROM idempotency WHERE id = $1`, o.ID[:]); err != nil {
		return Kept{}, err
	}
	switch {
	case !bytes.Equal(fingerprint, o.Fingerprint[:]):
		return Kept{}, ErrOtherRequest
	case kept.Answered:
		return kept, nil
	case lease.After(now):
		return Kept{}, ErrRunning
	}
	n, err = tx.exec(`UPDATE idempotency SET lease = $1 WHERE id = $2 AND lease = $3`, micros(o.Lease), o.ID[:], micros(lease))
	if err == nil && n == 0 {
		err = ErrRunning // another node was quicker
	}
	return kept, err
}

// NoteEffect writes what a request brings about, in the transaction that does it: should the process end before the request is
// answered, its repeat does not do it again. ErrLeaseLost when somebody else is at it by now, who must not be forestalled.
func (tx *Tx) NoteEffect(o *Once, effect string) error {
	n, err := tx.exec(`UPDATE idempotency SET effect = $1 WHERE id = $2 AND lease = $3 AND answered = $4`, effect, o.ID[:], micros(o.Lease), false)
	if err == nil && n == 0 {
		return ErrLeaseLost
	}
	return err
}

// Finish keeps the answer of a request; without one, the request may be made again at once. What it brought about stays noted.
func (db *DB) Finish(ctx context.Context, o *Once, answer []byte, now time.Time) error {
	return db.Write(ctx, func(tx *Tx) error {
		var err error
		if answer != nil {
			_, err = tx.exec(`UPDATE idempotency SET answered = $1, answer = $2 WHERE id = $3 AND lease = $4 AND answered = $5`, true, answer, o.ID[:], micros(o.Lease), false)
		} else {
			_, err = tx.exec(`UPDATE idempotency SET lease = $1 WHERE id = $2 AND lease = $3 AND answered = $4`, micros(now), o.ID[:], micros(o.Lease), false)
		}
		return err
	})
}

// Do is a request that is done in one transaction, with its answer: Begin and Finish at once. It tells what became of it before;
// where that is nothing, answer is kept, and the caller goes on. Errors are those of Begin.
func (tx *Tx) Do(o *Once, answer []byte, now time.Time) (Kept, error) {
	kept, err := tx.beginOnce(o, now)
	if err != nil || kept.Answered {
		return kept, err
	}
	_, err = tx.exec(`UPDATE idempotency SET answered = $1, answer = $2 WHERE id = $3`, true, answer, o.ID[:])
	return kept, err
}
