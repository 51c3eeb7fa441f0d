package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/store"
)

// PutAs is Put under a name of NewName's.
func (f *Files) PutAs(ctx context.Context, name string, r io.Reader, limit int64) (Blob, error) {
	t, err := f.temporaryAs(name)
	if err != nil {
		return Blob{}, err
	}
	defer t.discard()
	if err := t.fill(ctx, r, limit); err != nil {
		return Blob{}, err
	}
	return t.keep()
}

// Discard removes the file of that name, and what of it is only on its way; nothing being there is no error.
func (f *Files) Discard(name string) error {
	path, err := f.path(name)
	if err != nil {
		return err
	}
	if err := os.Remove(path + temporarySuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing an unfinished document: %w", err)
	}
	return f.Delete(name)
}

const scratchPrefix = "scratch-"

// forgetScratch removes the names that crashes left between the making of a scratch file and the taking of its name. Whoever has one
// open, on this node or another, keeps it.
func (f *Files) forgetScratch() error {
	entries, err := os.ReadDir(f.root)
	if err != nil {
		return f.unusable(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), scratchPrefix) {
			continue
		}
		if err := os.Remove(filepath.Join(f.root, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing what a crash left in the document store: %w", err)
		}
	}
	return nil
}

// Scratch is a file without a name, for what need not outlive the process: it is gone when that ends, however it does.
func (f *Files) Scratch() (*Scratch, error) {
	file, err := os.CreateTemp(f.root, scratchPrefix+"*"+temporarySuffix)
	if err != nil {
		return nil, fmt.Errorf("making a file in the document store: %w", full(err))
	}
	if err := os.Remove(file.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		file.Close()
		return nil, fmt.Errorf("taking the name of a file in the document store: %w", err)
	}
	s := &Scratch{file: file}
	if f.Keys != nil && f.Keys.Sealing() {
		s.hide()
	}
	return s, nil
}

// Add makes a file that was uploaded a document of a job application. Where documents are scanned, nobody gets it before that has
// ended well. It reports false when the job application has a document of this id already.
func (a *Archive) Add(tx *store.Tx, d *hiring.ApplicationDocument) (bool, error) {
	if c := a.InForce.Current(); c != nil && c.Scanner != nil {
		d.Scan = hiring.ScanPending
	}
	return tx.AddApplicationDocument(d)
}

// Full tells whether an error means that there is no room left on the disk of the document store.
func Full(err error) bool { return errors.Is(full(err), ErrFull) }
