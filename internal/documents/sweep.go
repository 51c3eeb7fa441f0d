package documents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hiregate/hiregate/internal/store"
)

// UploadTime is how long an upload takes at most. What is older belongs to nobody, on whatever node it was begun.
const UploadTime = time.Hour

const uploadsAtOnce = 100

// Sweep removes the files of uploads that were begun before a time and that came to nothing, with their rows.
func (a *Archive) Sweep(ctx context.Context, before time.Time) error {
	for {
		names, err := a.Store.Uploads(ctx, before, uploadsAtOnce)
		if err != nil || len(names) == 0 {
			return err
		}
		if err := a.Forget(ctx, names); err != nil {
			return err
		}
	}
}

// Begin notes an upload, and names the file it is to be put as.
func (a *Archive) Begin(ctx context.Context) (name string, err error) {
	name, now := NewName(), a.Now()
	err = a.Store.Write(ctx, func(tx *store.Tx) error { return tx.AddUpload(name, now) })
	return name, err
}

// Take makes the file of an upload that of something that the transaction writes. The error says that the sweep came first.
func Take(tx *store.Tx, name string) error {
	ended, err := tx.EndUpload(name)
	if err == nil && !ended {
		err = errors.New("its file was swept away: it took too long")
	}
	return err
}

// Forget removes the files of uploads that came to nothing, with their rows. Whether they came to nothing the rows tell: another node,
// whose clock says otherwise, may just have taken one. It stays.
func (a *Archive) Forget(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	var lost []string
	err := a.Store.Write(ctx, func(tx *store.Tx) error {
		lost = nil
		for _, name := range names {
			given, err := tx.GiveUpUpload(name)
			if err != nil {
				return err
			}
			if given {
				lost = append(lost, name)
			}
		}
		return nil
	})
	if err != nil || len(lost) == 0 {
		return err
	}
	for _, name := range lost {
		if err := a.Files.Discard(name); err != nil {
			return fmt.Errorf("removing an upload: %w", err)
		}
	}
	return a.Store.Write(ctx, func(tx *store.Tx) error {
		for _, name := range lost {
			if err := tx.RemovedUpload(name); err != nil {
				return err
			}
		}
		return nil
	})
}
