package scan

import (
	"context"
	"errors"
	"io/fs"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/workflows"
)

const (
	// scanTime is how long a scanner may take for one document.
	scanTime = 5 * time.Minute
	// scansAtOnce is small beside the worker's places, which fetching documents needs as well: a scanner that hangs
	// must not take them all.
	scansAtOnce = 16
	// scanLater is how long a document waits if it finds no place.
	scanLater = 5 * time.Second
	// startAgain is after how long a scan that has not ended is started again: its workflow may be gone.
	startAgain = 10 * time.Minute
	startEvery = time.Second
	startPage  = 100
)

// Activities are the activity of the scan workflow, and the loop that starts it.
type Activities struct {
	Store   *store.DB
	Archive *documents.Archive
	InForce *config.InForce
	Client  client.Client
	Now     func() time.Time
	Log     *zap.Logger

	underway atomic.Int64
}

// Register puts the workflow and its activity on the workers of the two task queues.
func (a *Activities) Register(deliver, fetch worker.Registry) {
	deliver.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: WorkflowName})
	fetch.RegisterActivityWithOptions(a.Scan, activity.RegisterOptions{Name: ScanName})
}

// Scan has a document scanned and writes the result. Until the scanner answers, it asks to be run again.
func (a *Activities) Scan(ctx context.Context, in Input) (Result, error) {
	defer workflows.Beat(ctx)()
	c := a.InForce.Current()
	if c == nil {
		return Result{}, workflows.RetryAfter("stopping", 0, 5*time.Second)
	}
	if c.Scanner == nil {
		a.Log.Warn("a document waits for a scanner, and none is configured: add the option scan again, or delete the document",
			zap.Int64("document", in.Document))
		return Result{}, workflows.RetryAfter("no_scanner", 0, wait.Jittered(time.Minute))
	}
	defer a.underway.Add(-1)
	if a.underway.Add(1) > scansAtOnce {
		return Result{}, workflows.RetryAfter("at_capacity", 0, wait.Jittered(scanLater))
	}
	d, err := a.Store.DocumentToScan(ctx, in.Document)
	if err != nil {
		return Result{}, a.storeAway(err)
	}
	if d == nil {
		return Result{}, nil
	}
	content, err := a.Archive.Files.OpenWhole(d.Blob, d.Size, d.SHA256)
	if errors.Is(err, fs.ErrNotExist) {
		a.Log.Error("a document's file is gone: restore the document store from a backup", zap.Int64("document", d.Key))
		return Result{}, workflows.RetryAfter("file_gone", 0, wait.Jittered(time.Minute))
	}
	if err != nil {
		return Result{}, a.storeAway(err)
	}
	defer content.Close()
	limited, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	found, err := c.Scanner.Scan(limited, content)
	if err != nil {
		if ctx.Err() == nil {
			metrics.Scan("unknown")
			a.Log.Warn("a document could not be scanned; it is not served until it is",
				zap.Int64("document", d.Key), zap.Error(err))
		}
		return Result{}, workflows.RetryAfter("scanner_unavailable", 0, wait.Jittered(10*time.Second))
	}
	return a.end(ctx, d, found)
}

// end writes the result of a scan. found is what the scanner found; empty: nothing.
func (a *Activities) end(ctx context.Context, d *model.ApplicationDocument, found string) (res Result, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	var ended bool
	err = a.Store.Write(ctx, func(tx *store.Tx) (err error) {
		ended, err = tx.FinishScan(d, found, a.Now())
		return err
	})
	if err != nil {
		return res, a.storeAway(err)
	}
	if !ended {
		return res, nil
	}
	if found == "" {
		metrics.Scan(string(model.Clean))
		return Result{Scan: model.Clean}, nil
	}
	metrics.Scan(string(model.Refused))
	a.Log.Warn("a document was refused: the scanner found something in it", zap.String("tenant", d.Tenant),
		zap.String("application", d.Application), zap.Int64("document", d.Key), zap.String("finding", found))
	if err := a.Archive.DiscardUploads(ctx, []string{d.Blob}); err != nil {
		a.Log.Warn("the file of a refused document could not be removed yet", zap.Int64("document", d.Key), zap.Error(err))
	}
	return Result{Scan: model.Refused}, nil
}

func (a *Activities) storeAway(err error) error {
	a.Log.Warn("a scan could not use the store; it runs again", zap.Error(err))
	return workflows.RetryAfter("store_unavailable", 0, wait.Jittered(5*time.Second))
}

// Loop starts the scans that are due. While Temporal is away they wait in the store.
func (a *Activities) Loop() loop.Loop {
	return loop.Loop{Name: "scans", Every: startEvery, Round: a.startDue, Failed: "documents wait for their scan"}
}

func (a *Activities) startDue(ctx context.Context) error {
	pending, err := a.Store.CountPendingScans(ctx)
	if err != nil {
		return err
	}
	metrics.ScansPending(pending)
	if pending == 0 {
		return nil
	}
	for {
		due, err := a.Store.ListDueScans(ctx, a.Now(), startPage)
		if err != nil || len(due) == 0 {
			return err
		}
		for _, key := range due {
			if err := start(ctx, a.Client, key); err != nil {
				return err
			}
			err := a.Store.Write(ctx, func(tx *store.Tx) error { return tx.PostponeScan(key, a.Now().Add(startAgain)) })
			if err != nil {
				return err
			}
		}
	}
}
