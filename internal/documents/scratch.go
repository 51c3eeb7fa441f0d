package documents

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"os"
	"slices"
)

// Scratch is a file that disappears with the process. If files are sealed it is encrypted with a key that exists only
// in memory. It is not authenticated: without a name no other process can open and change it. Each byte of it must be
// written only once.
type Scratch struct {
	file *os.File
	key  cipher.Block // nil: it is not encrypted
}

func (s *Scratch) encrypt() {
	key := make([]byte, 32)
	_, _ = rand.Read(key)         // never fails
	s.key, _ = aes.NewCipher(key) // nor does this, with a key of that length
}

// WriteAt implements io.WriterAt.
func (s *Scratch) WriteAt(p []byte, off int64) (int, error) {
	if s.key != nil {
		p = slices.Clone(p)
		s.xor(p, off)
	}
	return s.file.WriteAt(p, off)
}

// ReadAt implements io.ReaderAt.
func (s *Scratch) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.file.ReadAt(p, off)
	if s.key != nil {
		s.xor(p[:n], off)
	}
	return n, err
}

// xor encrypts or decrypts the bytes at an offset: AES in counter mode, with the offset as the counter.
func (s *Scratch) xor(p []byte, off int64) {
	counter := make([]byte, aes.BlockSize)
	binary.BigEndian.PutUint64(counter[8:], uint64(off/aes.BlockSize))
	stream, before := cipher.NewCTR(s.key, counter), make([]byte, off%aes.BlockSize)
	stream.XORKeyStream(before, before)
	stream.XORKeyStream(p, p)
}

// Close closes the file, which removes it.
func (s *Scratch) Close() error { return s.file.Close() }
