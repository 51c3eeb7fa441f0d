package documents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
)

// UploadTime limits the time of an upload. An older one that was not claimed is left over, on whatever node it began.
const UploadTime = time.Hour

const uploadsAtOnce = 100

// Sweep removes the files of uploads that began before a time and were not claimed, with their rows. It skips files
// that can't be removed; the next sweep tries again.
func (a *Archive) Sweep(ctx context.Context, before time.Time) error {
	stuck, first := 0, error(nil)
	for {
		// uploads that are stuck come first: they were given up before
		names, err := a.Store.ListUploads(ctx, before, stuck, uploadsAtOnce)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			break
		}
		failed, cause, err := a.discard(ctx, names)
		if err != nil {
			return err
		}
		stuck, first = stuck+failed, cmp.Or(first, cause)
	}
	metrics.FilesStuck(stuck)
	if before := a.stuck.Swap(int64(stuck)); int64(stuck) > before { // logged once, and not each quarter of an hour
		a.Log.Error("unused files can't be removed from the document store: check the permissions of "+
			"its folder; the next attempt is in a quarter of an hour",
			zap.Int("files", stuck), zap.Error(first))
	}
	return nil
}

// BeginUpload inserts an upload, and returns the name to store the file under.
func (a *Archive) BeginUpload(ctx context.Context) (name string, err error) {
	names, err := a.BeginUploads(ctx, 1)
	if err != nil {
		return "", err
	}
	return names[0], nil
}

// BeginUploads inserts n uploads, and returns the names to store their files under.
func (a *Archive) BeginUploads(ctx context.Context, n int) ([]string, error) {
	names, now := make([]string, n), a.Now()
	for n := range names {
		names[n] = a.Files.NewName()
	}
	err := a.Store.Write(ctx, func(tx *store.Tx) error {
		for _, name := range names {
			if err := tx.InsertUpload(name, now); err != nil {
				return err
			}
		}
		return nil
	})
	return names, err
}

// ClaimUpload claims the file of an upload for a row that the transaction writes. It fails if the sweep came first.
func ClaimUpload(tx *store.Tx, name string) error {
	ended, err := tx.ClaimUpload(name)
	if err == nil && !ended {
		err = errors.New("its file was swept away: it took too long")
	}
	return err
}

// DiscardUploads removes the files of uploads that were not claimed, with their rows. It keeps a file that another node
// has just claimed. Files that can't be removed are left to the sweep; the first error is returned.
func (a *Archive) DiscardUploads(ctx context.Context, names []string) error {
	_, first, err := a.discard(ctx, names)
	return cmp.Or(err, first)
}

// discard discards uploads like DiscardUploads. stuck counts the files that can't be removed; first is the first error.
func (a *Archive) discard(ctx context.Context, names []string) (stuck int, first, err error) {
	if len(names) == 0 {
		return 0, nil, nil
	}
	var lost []string
	err = a.Store.Write(ctx, func(tx *store.Tx) error {
		lost = nil
		for _, name := range names {
			given, err := tx.AbandonUpload(name)
			if err != nil {
				return err
			}
			if given {
				lost = append(lost, name)
			}
		}
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	removed := slices.DeleteFunc(lost, func(name string) bool {
		err := a.Files.Discard(name)
		if err != nil {
			stuck, first = stuck+1, cmp.Or(first, fmt.Errorf("removing an upload: %w", err))
		}
		return err != nil
	})
	if len(removed) == 0 {
		return stuck, first, nil
	}
	return stuck, first, a.Store.Write(ctx, func(tx *store.Tx) error {
		for _, name := range removed {
			if err := tx.DeleteUpload(name); err != nil {
				return err
			}
		}
		return nil
	})
}
