package documents

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gabriel-vasile/mimetype"
)

// temporary is a file that is being stored: filled, and then either kept or discarded.
type temporary struct {
	files *Files
	name  string
	path  string // the final path
	file  *os.File
	digest
}

// temporary creates a file that gets its name once it is complete.
func (f *Files) temporary(name string) (*temporary, error) {
	path, err := f.path(name)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making a folder in the document store: %w", full(err))
	}
	file, err := os.OpenFile(path+temporarySuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making a file in the document store: %w", full(err))
	}
	return &temporary{files: f, name: name, path: path, file: file}, nil
}

// fill reads r to its end, into the file.
func (t *temporary) fill(ctx context.Context, r io.Reader, limit int64) error {
	w, err := t.files.sealing(t.name, t.file)
	if err != nil {
		return err
	}
	if t.digest, err = copyAll(ctx, w, r, limit); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("writing a document: %w", full(err))
	}
	return nil
}

// keep syncs the file and renames it. Syncing the folder makes the name durable; syncing the root does so for a folder
// that was just created.
func (t *temporary) keep() (Blob, error) {
	folder := filepath.Dir(t.path)
	if err := errors.Join(t.file.Sync(), t.file.Close()); err != nil {
		return Blob{}, fmt.Errorf("writing a document: %w", full(err))
	}
	if err := os.Rename(t.file.Name(), t.path); err != nil {
		return Blob{}, fmt.Errorf("naming a document: %w", full(err))
	}
	if err := errors.Join(syncFolder(folder), syncFolder(t.files.root)); err != nil {
		_ = os.Remove(t.path) // the first error counts
		return Blob{}, fmt.Errorf("writing the folder of a document: %w", full(err))
	}
	return Blob{Name: t.name, SHA256: [32]byte(t.sum.Sum(nil)), Size: t.size, Detected: detect(t.head)}, nil
}

// discard removes the file, unless it was kept.
func (t *temporary) discard() {
	_ = t.file.Close()           // already closed when it was kept
	_ = os.Remove(t.file.Name()) // already renamed when it was kept; otherwise Prepare takes it later
}

// digest collects size, hash and first bytes of a content while it passes.
type digest struct {
	sum  hash.Hash
	size int64
	head []byte // the part by which its type is detected
}

const headSize = 3072

// copyAll copies r to w, up to limit bytes.
func copyAll(ctx context.Context, w io.Writer, r io.Reader, limit int64) (digest, error) {
	d := digest{sum: sha256.New()}
	r = io.LimitReader(r, limit+1)
	buf := make([]byte, 64<<10)
	for {
		if err := ctx.Err(); err != nil {
			return d, fmt.Errorf("writing a document: %w", ctx.Err())
		}
		n, readErr := r.Read(buf)
		part := buf[:n]
		if d.size += int64(n); d.size > limit {
			return d, ErrTooLarge
		}
		if _, err := w.Write(part); err != nil {
			return d, fmt.Errorf("writing a document: %w", full(err))
		}
		d.sum.Write(part)
		d.head = append(d.head, part[:min(n, headSize-len(d.head))]...)
		if readErr == io.EOF {
			return d, nil
		}
		if readErr != nil {
			return d, fmt.Errorf("reading a document: %w", readErr)
		}
	}
}

// detect returns the media type of a content, without parameters.
func detect(head []byte) string {
	mediaType, _, _ := strings.Cut(mimetype.Detect(head).String(), ";")
	return mediaType
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
