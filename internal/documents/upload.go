package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Put stores the content of r, at most limit bytes, under a name of NewName. It returns when file and folder are
// synced. On an error it leaves nothing. Errors: ErrTooLarge, ErrFull, and those of r and ctx, all wrapped.
func (f *Files) Put(ctx context.Context, name string, r io.Reader, limit int64) (Blob, error) {
	t, err := f.temporary(name)
	if err != nil {
		return Blob{}, err
	}
	defer t.discard()
	if err := t.fill(ctx, r, limit); err != nil {
		return Blob{}, err
	}
	return t.keep(ctx)
}

// Scratch creates a file without a name: it disappears when the process ends, also by a crash.
func (f *Files) Scratch() (*Scratch, error) {
	file, err := os.CreateTemp(f.medium.temporaryFolder(), scratchPrefix+"*"+temporarySuffix)
	if err != nil {
		return nil, fmt.Errorf("making a file in the document store: %w", full(err))
	}
	if err := remove(file.Name()); err != nil {
		file.Close()
		return nil, fmt.Errorf("taking the name of a file in the document store: %w", err)
	}
	s := &Scratch{file: file}
	if f.Keys != nil && f.Keys.Sealing() {
		s.encrypt()
	}
	return s, nil
}

// InsertDocument inserts an uploaded file as a document of a job application. If documents are scanned, it can't be
// downloaded before the scan finds it clean. It reports false if the job application already has a document of this id.
func (a *Archive) InsertDocument(tx *store.Tx, d *model.ApplicationDocument) (bool, error) {
	if c := a.InForce.Current(); c != nil && c.Scanner != nil {
		d.Scan = model.ScanPending
	}
	return tx.InsertApplicationDocument(d)
}

// IsFull reports whether an error means that the disk of the document store is full.
func IsFull(err error) bool { return errors.Is(full(err), ErrFull) }
