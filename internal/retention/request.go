package retention

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/erasure"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// RefusedError says why an export can't be erased now: a sentence for the person who asked.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// EraseExport erases the content of an export, because somebody asked, and gives the export as it then is. What is
// still to come of it is ended first where cancel says so; otherwise the error is a *RefusedError. One that was erased
// before stays as it is. What is being sent at this moment may still arrive. note writes beside it, in the transaction
// that erases.
func (r *Retention) EraseExport(ctx context.Context, id int64, cancel bool,
	note func(*store.Tx) error) (erased *model.Export, err error) {
	now := r.Now().UTC().Truncate(time.Microsecond)
	done, files, enter := false, []string(nil), r.entering()
	err = r.Store.Write(ctx, func(tx *store.Tx) error {
		done = false
		e, left, err := tx.LockRemainder(id)
		if err != nil {
			return err
		}
		erased = e
		if !e.ErasedAt.IsZero() {
			return nil
		}
		if reason := unfinished(e, left); reason != "" && !cancel {
			return &RefusedError{fmt.Sprintf("this export is not finished: %s; have that cancelled with the erasure, or ask "+
				"again once it has ended", reason)}
		}
		done = true
		if files, err = tx.ListFiles(id); err != nil {
			return err
		}
		if err := tx.EraseNow(e, left, now); err != nil {
			return err
		}
		if err := note(tx); err != nil {
			return err
		}
		return enter(tx, erasure.Export, e.Tenant, e.Key)
	})
	if err != nil {
		return nil, fmt.Errorf("erasing the content of an export: %w", err)
	}
	if done {
		erased.ErasedAt, erased.CandidateID = now, ""
		metrics.Erased(1)
		r.removeFiles(ctx, files)
	}
	return erased, nil
}

// unfinished tells what of an export is still to come; empty: nothing. A round that Temporal refused goes nowhere any
// more.
func unfinished(e *model.Export, left store.Remainder) string {
	faulty := e.Fault != ""
	switch {
	case e.Quarantined:
		return "it is in quarantine"
	case e.DispatchedAt.IsZero() && !faulty:
		return "it waits for Temporal"
	}
	var all []string
	for _, d := range left.Deliveries {
		if !faulty || d.Round < e.Round {
			all = append(all, fmt.Sprintf("its delivery to %s is %s", d.Integration, d.Outcome))
		}
	}
	if len(all) > shown {
		all = append(all[:shown], fmt.Sprintf("%d more are on their way", len(all)-shown))
	}
	if left.Documents > 0 && !faulty {
		all = append(all, fmt.Sprintf("%d of its documents are still being fetched or scanned", left.Documents))
	}
	return strings.Join(all, ", ")
}

// shown is how many deliveries a sentence names.
const shown = 3
