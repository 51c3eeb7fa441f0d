package documents

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
)

// A sealed file has the format of age (C2SP's age.md): pieces of 64 KiB, each with a tag; the last one is marked as
// such. So a truncated or changed file fails before the end of a read. Each file has its own key, in its header, sealed
// for the file's name: under another name it does not open.

// sealedSuffix ends the name of a sealed file. The content does not show whether it is sealed: a document may itself be
// a file of age.
const sealedSuffix = ".sealed"

// Keys seals the keys of files. *store.DB implements it.
type Keys interface {
	// Sealing reports whether there is a key to seal with.
	Sealing() bool
	// SealFileKey seals the key of a file for its name.
	SealFileKey(name string, key []byte) ([]byte, error)
	// OpenFileKey opens what SealFileKey sealed.
	OpenFileKey(ctx context.Context, name string, sealed []byte) ([]byte, error)
}

// NewName returns an unused name for Put. If there is a key, the name ends in .sealed, and its file is sealed.
func (f *Files) NewName() string {
	if f.Keys != nil && f.Keys.Sealing() {
		return newName() + sealedSuffix
	}
	return newName()
}

func isSealed(name string) bool { return strings.HasSuffix(name, sealedSuffix) }

// fileKey seals and opens the key of one file.
type fileKey struct {
	keys Keys
	name string
}

// stanza is the type of the header of a file, which holds the sealed key.
const stanza = "hiregate"

// Wrap implements age.Recipient.
func (k fileKey) Wrap(key []byte) ([]*age.Stanza, error) {
	sealed, err := k.keys.SealFileKey(k.name, key)
	return []*age.Stanza{{Type: stanza, Body: sealed}}, err
}

// Unwrap implements age.Identity.
func (k fileKey) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	if len(stanzas) != 1 || stanzas[0].Type != stanza {
		return nil, age.ErrIncorrectIdentity
	}
	key, err := k.keys.OpenFileKey(context.Background(), k.name, stanzas[0].Body)
	if err != nil {
		return nil, &unavailable{err}
	}
	return key, nil
}

// unavailable marks an error in reading a sealed file that does not mean that the file is damaged.
type unavailable struct{ error }

// Unwrap has errors.Is and errors.As find the cause.
func (u *unavailable) Unwrap() error { return u.error }

// unsealing reads a sealed file, and marks the errors of the disk or the bucket.
type unsealing struct{ opened }

// ReadAt implements io.ReaderAt.
func (u unsealing) ReadAt(p []byte, off int64) (int, error) {
	n, err := u.opened.ReadAt(p, off)
	if err != nil && err != io.EOF {
		err = &unavailable{err}
	}
	return n, err
}

// damaged is the error in opening what is sealed: errDamaged, unless it is unavailable.
func damaged(err error) error {
	if err == nil || err == io.EOF || errors.As(err, new(*unavailable)) {
		return err
	}
	return fmt.Errorf("%w: %w", errDamaged, err)
}

// unsealedContent reads what is sealed, and marks what was damaged.
type unsealedContent struct{ io.ReaderAt }

// ReadAt implements io.ReaderAt.
func (u unsealedContent) ReadAt(p []byte, off int64) (int, error) {
	n, err := u.ReaderAt.ReadAt(p, off)
	return n, damaged(err)
}

var errNoKeys = errors.New("nothing is there to open it with: the gateway is only starting")

// sealing returns a writer to a file that seals under a name, or does not seal.
func (f *Files) sealing(name string, file io.Writer) (io.WriteCloser, error) {
	if !isSealed(name) {
		return unsealed{file}, nil
	}
	if f.Keys == nil {
		return nil, errNoKeys
	}
	w, err := age.Encrypt(file, fileKey{f.Keys, name})
	if err != nil {
		return nil, fmt.Errorf("sealing a document: %w", full(err))
	}
	return w, nil
}

// unsealed is a writer whose Close does not close the file.
type unsealed struct{ io.Writer }

func (unsealed) Close() error { return nil }

// Content reads a file as it was stored. *os.File implements it.
type Content interface {
	io.ReadCloser
	io.ReaderAt
}

// readerContent is the Content of a file that is sealed, or is no os.File.
type readerContent struct {
	io.Reader
	io.ReaderAt
	io.Closer
}

// pieceSize is the length of a piece of a sealed file, in bytes.
const pieceSize = 64 << 10

// opened returns the content of a file, which may be sealed under a name, and its size.
func (f *Files) opened(name string, file opened, size int64) (Content, int64, error) {
	if !isSealed(name) {
		if content, ok := file.(Content); ok {
			return content, size, nil
		}
		whole := io.NewSectionReader(file, 0, size)
		return readerContent{whole, whole, file}, size, nil
	}
	if f.Keys == nil {
		return nil, 0, errNoKeys
	}
	content, size, err := age.DecryptReaderAt(unsealing{file}, size, fileKey{f.Keys, name})
	if err != nil {
		return nil, 0, fmt.Errorf("opening what is sealed: %w", damaged(err))
	}
	whole := io.NewSectionReader(unsealedContent{content}, 0, size)
	// in pieces, so that each is opened once
	return readerContent{bufio.NewReaderSize(whole, pieceSize), whole, file}, size, nil
}
