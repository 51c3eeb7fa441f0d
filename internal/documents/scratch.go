package documents

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"os"
	"slices"
)

// Scratch is a file that is gone with the process. Where files are sealed the disk has nothing that can be read of it: its key is in memory alone.
// There is no tag that tells a change, which nobody can make who has no name to open it by. Each place of it must be written once only.
type Scratch struct {
	file *os.File
	key  cipher.Block // nil: it is kept as it is
}

func (s *Scratch) hide() {
	key := make([]byte, 32)
	_, _ = rand.Read(key)         // never fails
	s.key, _ = aes.NewCipher(key) // nor does this, with a key of that length
}

// WriteAt implements io.WriterAt.
func (s *Scratch) WriteAt(p []byte, off int64) (int, error) {
	if s.key != nil {
		p = slices.Clone(p)
		s.pass(p, off)
	}
	return s.file.WriteAt(p, off)
}

// ReadAt implements io.ReaderAt.
func (s *Scratch) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.file.ReadAt(p, off)
	if s.key != nil {
		s.pass(p[:n], off)
	}
	return n, err
}

// pass takes what lies at a place from plain to hidden, or back: AES in counter mode, where the place is the counter.
func (s *Scratch) pass(p []byte, off int64) {
	counter := make([]byte, aes.BlockSize)
	binary.BigEndian.PutUint64(counter[8:], uint64(off/aes.BlockSize))
	stream, before := cipher.NewCTR(s.key, counter), make([]byte, off%aes.BlockSize)
	stream.XORKeyStream(before, before)
	stream.XORKeyStream(p, p)
}

// Close ends it.
func (s *Scratch) Close() error { return s.file.Close() }
