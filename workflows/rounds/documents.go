package rounds

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/export"
)

// FetchDocuments has the documents of an export tried now that are still to be fetched, and returns how many these are. begun
// runs in the transaction that makes them due, and may run more than once. The error is a *RefusedError where there is
// nothing to fetch, or no more time.
func (r *Redeliverer) FetchDocuments(ctx context.Context, e *model.Export, now time.Time, begun func(*store.Tx) error) (n int64, err error) {
	switch {
	case !e.ErasedAt.IsZero():
		return 0, errErased
	case e.Origin == model.Triggered:
		return 0, &RefusedError{"this export was triggered here: its documents are those of its candidate, and are not fetched"}
	case !now.Before(e.DocumentsTill):
		return 0, &RefusedError{fmt.Sprintf("the URLs of its documents ended at %s: only a new export of the candidate by the service "+
			"has new ones", e.DocumentsTill.UTC().Format(time.RFC3339))}
	}
	err = r.Store.Write(ctx, func(tx *store.Tx) error {
		if n, err = tx.HurryDocuments(e.ID); err != nil || n == 0 {
			return err
		}
		return begun(tx)
	})
	switch {
	case err != nil:
		return 0, fmt.Errorf("making documents due: %w", err)
	case n == 0:
		return 0, &RefusedError{"no document of this export is still to be fetched: hiregate export show says what became of each"}
	}
	// What has no activity is fetched by the loop that does without Temporal, or by the one that finds lost workflows.
	err = workflows.RunNow(ctx, r.Client, r.Namespace, e.RoundWorkflowID(e.Round), export.FetchDocumentsName)
	if err != nil && !errors.Is(err, workflows.ErrNotRunning) && !errors.Is(err, workflows.ErrNoActivity) &&
		!errors.Is(err, workflows.ErrTaskUnderWay) {
		r.Log.Warn("the documents of an export are due, and Temporal could not be asked to fetch them now", zap.Int64("export", e.ID),
			zap.Error(err))
	}
	return n, nil
}
