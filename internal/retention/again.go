package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/erasure"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Enter returns a function that enters the erasure of something in the list of erasures, if there is one. It is called
// last in the transaction that erases, so that nothing is entered that was refused. If the commit fails nevertheless, the
// next start carries the entry out.
func (r *Retention) Enter(kind erasure.Kind, tenant, id string) func(*store.Tx) error {
	enter := r.entering()
	return func(tx *store.Tx) error { return enter(tx, kind, tenant, id) }
}

// entering is Enter for what is known only in the transaction. A transaction that runs again appends nothing again.
func (r *Retention) entering() func(tx *store.Tx, kind erasure.Kind, tenant, id string) error {
	at, number := r.Now(), int64(0)
	return func(tx *store.Tx, kind erasure.Kind, tenant, id string) (err error) {
		if r.List == nil {
			return nil
		}
		if number == 0 {
			if number, err = r.List.Append(kind, tenant, model.CandidateKey(id), at); err != nil {
				return err
			}
		}
		return tx.AdvanceErasures(r.List.ID(), number)
	}
}

// removeFiles removes files that were released, except those that something else refers to. What can't be removed is left
// to the sweep.
func (r *Retention) removeFiles(ctx context.Context, names []string) {
	if r.Archive == nil {
		return
	}
	if err := r.Archive.DiscardUploads(context.WithoutCancel(ctx), names); err != nil {
		r.Log.Warn("files of what was erased could not be removed; the sweep tries again in a quarter of an hour", zap.Error(err))
	}
}

// Again says what was erased again at a start, because the database was older than the list of erasures.
type Again struct {
	At      time.Time // zero: the database was not older
	Entries int64     // that the database did not know
	// What it held, and was erased.
	Exports, Candidates, Submissions int
}

// EraseAgain carries out the entries of the list of erasures that the database does not know, as after a backup was put
// back. An entry reaches what was stored before its time.
func (r *Retention) EraseAgain(ctx context.Context) (done Again, err error) {
	if r.List == nil {
		return done, nil
	}
	positions, err := r.Store.ErasurePositions(ctx)
	if err != nil {
		return done, err
	}
	position, known := positions[r.List.ID()]
	if known && position == r.List.Len() {
		return done, nil
	}
	if !known && len(positions) > 0 && r.Store.Exclusive() {
		r.Log.Warn("the database knows another list of erasures: what only that one has is not erased again after a backup was " +
			"put back; name that list in the option erasures, if it is still there")
	}
	listed, entries, err := r.List.After(position)
	if err != nil {
		return done, err
	}
	if entries > 0 {
		done.At, done.Entries = r.Now(), entries
		if err := r.eraseListed(ctx, listed, &done); err != nil {
			return done, fmt.Errorf("erasing again what the list of erasures says: %w", err)
		}
		r.Log.Warn("the database was older than the list of erasures: what had been erased was erased again",
			zap.Int64("entries", done.Entries), zap.Int("exports", done.Exports), zap.Int("candidates", done.Candidates),
			zap.Int("submissions", done.Submissions))
	}
	return done, r.Store.Write(ctx, func(tx *store.Tx) error {
		return tx.SetErasurePosition(r.List.ID(), position+entries)
	})
}

func (r *Retention) eraseListed(ctx context.Context, listed *erasure.Listed, done *Again) error {
	covered := func(at, stored time.Time) bool { return !at.IsZero() && !stored.After(at) }
	// The candidates first: their job applications trigger exports.
	err := r.Store.EachCandidate(ctx, func(page []store.Held) error {
		for _, h := range page {
			at := listed.Candidate(h.Tenant, model.CandidateKey(h.Candidate))
			if !covered(at, h.At) {
				continue
			}
			if _, err := r.eraseCandidate(ctx, h.Tenant, h.Candidate, at, func(*store.Tx) error { return nil }); err != nil {
				return err
			}
			done.Candidates++
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = r.Store.EachUnerasedSubmission(ctx, func(page []*model.Submission) error {
		for _, s := range page {
			if !covered(listed.Submission(s.Tenant, s.ID), s.ReceivedAt) {
				continue
			}
			if _, err := r.EraseSubmission(ctx, s, func(*store.Tx) error { return nil }); err != nil {
				return err
			}
			done.Submissions++
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.Store.EachUnerased(ctx, func(page []store.Held) error {
		for _, h := range page {
			if !covered(listed.Export(h.Tenant, model.CandidateKey(h.Key), h.Candidate), h.At) {
				continue
			}
			if _, _, err := r.eraseAgain(ctx, h.ID); err != nil {
				return err
			}
			done.Exports++
		}
		return nil
	})
}

// eraseAgain erases an export, whatever is still to come of it, and returns the names of its files and the deliveries that
// were not final.
func (r *Retention) eraseAgain(ctx context.Context, id int64) (files []string, ended []*model.Delivery, err error) {
	err = r.Store.Write(ctx, func(tx *store.Tx) error {
		e, left, err := tx.LockRemainder(id)
		if err != nil || !e.ErasedAt.IsZero() {
			return err
		}
		ended = left.Deliveries
		if files, err = tx.ListFiles(id); err != nil {
			return err
		}
		return tx.EraseNow(e, left, r.Now())
	})
	if err == nil {
		metrics.Erased(1)
		r.removeFiles(ctx, files)
	}
	return files, ended, err
}

// attemptsAtCandidate is how often the erasure of a candidate is tried while other requests change what it erases.
const attemptsAtCandidate = 5

// eraseCandidate erases what was stored of a candidate up to a time, except exports. note writes beside it, last in the
// transaction.
func (r *Retention) eraseCandidate(ctx context.Context, tenant, id string, stored time.Time,
	note func(*store.Tx) error) (erased store.ErasedCandidate, err error) {
	for range attemptsAtCandidate {
		err = r.Store.Write(ctx, func(tx *store.Tx) (err error) {
			if erased, err = tx.EraseCandidate(tenant, id, stored, r.Now()); err != nil {
				return err
			}
			return note(tx)
		})
		if !errors.Is(err, store.ErrStale) {
			break
		}
	}
	if err == nil {
		r.removeFiles(ctx, erased.Files())
	}
	return erased, err
}
