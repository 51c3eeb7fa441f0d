package documents

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/gabriel-vasile/mimetype"
)

// temporary is a file that is being stored: filled, and then either kept or discarded.
type temporary struct {
	files *Files
	name  string
	file  draft
	digest
}

// temporary creates a file that gets its name once it is complete.
func (f *Files) temporary(name string) (*temporary, error) {
	if err := validName(name); err != nil {
		return nil, err
	}
	file, err := f.medium.create(name)
	if err != nil {
		return nil, err
	}
	return &temporary{files: f, name: name, file: file}, nil
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

// keep stores the file under its name.
func (t *temporary) keep(ctx context.Context) (Blob, error) {
	if err := t.file.keep(ctx); err != nil {
		return Blob{}, err
	}
	return Blob{Name: t.name, SHA256: [32]byte(t.sum.Sum(nil)), Size: t.size, Detected: detect(t.head)}, nil
}

// discard removes the file, unless it was kept.
func (t *temporary) discard() { t.file.discard() }

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
