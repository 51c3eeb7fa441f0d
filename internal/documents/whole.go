package documents

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"

	"github.com/hiregate/hiregate/internal/store"
)

// errDamaged says that a file is not what was stored, however often it is read.
var errDamaged = fmt.Errorf("the file of a document is damaged: %w", store.ErrUnreadable)

// Whole reads the content of a document from its beginning, and compares it with the hash that was stored. The read that
// would complete another content fails with store.ErrUnreadable instead, so that nobody has all of it.
type Whole struct {
	content Content
	size    int64
	sha256  []byte
	left    int64
	sum     hash.Hash
}

// OpenWhole opens a file like Open, of which size and SHA-256 are known. The error is store.ErrUnreadable when it is
// damaged.
func (f *Files) OpenWhole(name string, size int64, sum []byte) (*Whole, error) {
	content, found, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	if found != size {
		_ = content.Close() // it was only read
		return nil, fmt.Errorf("%w: it has %d bytes instead of %d", errDamaged, found, size)
	}
	return newWhole(content, size, sum), nil
}

// WholeOf returns a content that is in memory.
func WholeOf(raw []byte) *Whole {
	sum, content := sha256.Sum256(raw), bytes.NewReader(raw)
	return newWhole(readerContent{content, content, io.NopCloser(content)}, content.Size(), sum[:])
}

func newWhole(content Content, size int64, sum []byte) *Whole {
	return &Whole{content: content, size: size, sha256: sum, left: size, sum: sha256.New()}
}

// Read implements io.Reader.
func (w *Whole) Read(p []byte) (int, error) {
	if w.left == 0 {
		return 0, io.EOF
	}
	n, err := w.content.Read(p[:min(int64(len(p)), w.left)])
	_, _ = w.sum.Write(p[:n]) // never fails
	if w.left -= int64(n); w.left == 0 {
		if !bytes.Equal(w.sum.Sum(nil), w.sha256) {
			return 0, errDamaged
		}
		return n, nil
	}
	if err == io.EOF { // it was cut off since it was opened
		err = errDamaged
	}
	return n, err
}

// Close implements io.Closer.
func (w *Whole) Close() error { return w.content.Close() }
