package manageapi

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/filetype"
	"github.com/hiregate/hiregate/internal/store"
)

// dumpArchive is the tar archive of a dump while it is written. Its last file is the index.
type dumpArchive struct {
	tar   *tar.Writer
	files *documents.Files
	index api.DumpIndex
}

func newDumpArchive(w io.Writer, files *documents.Files, index api.DumpIndex) *dumpArchive {
	index.Files, index.Missing = []api.DumpFile{}, []api.DumpMissing{}
	return &dumpArchive{tar: tar.NewWriter(w), files: files, index: index}
}

// close writes the index: an archive without one is not whole.
func (a *dumpArchive) close() error {
	raw, err := indented(a.index)
	if err != nil {
		return err
	}
	return errors.Join(a.write(api.DumpIndexName, raw), a.tar.Close())
}

// json adds a value, unless reading it failed.
func (a *dumpArchive) json(name, holds string, v any, err error) error {
	if err != nil {
		return a.lacks(name, err)
	}
	raw, err := indented(v)
	if err != nil {
		return err
	}
	return a.add(name, holds, raw)
}

// bytes adds a file as it is, unless reading it failed. What was erased, or never was, is no file.
func (a *dumpArchive) bytes(name, holds string, raw []byte, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return a.lacks(name, err)
	}
	return a.add(name, holds, raw)
}

// document adds the content of a document, whose name gets the extension of its type. It returns the file's name; empty:
// the content can't be read.
func (a *dumpArchive) document(name, blob string, size int64, sum []byte) (string, error) {
	content, err := a.files.OpenWhole(blob, size, sum)
	if err != nil {
		return "", a.lacks(name, err)
	}
	raw, err := io.ReadAll(content)
	if err := errors.Join(err, content.Close()); err != nil {
		return "", a.lacks(name, err)
	}
	kind, err := filetype.Detect(bytes.NewReader(raw), size)
	if err != nil {
		return "", err
	}
	name += kind.Extension
	return name, a.add(name, "a document", raw)
}

func (a *dumpArchive) add(name, holds string, raw []byte) error {
	a.index.Files = append(a.index.Files, api.DumpFile{Name: name, Holds: holds})
	return a.write(name, raw)
}

func (a *dumpArchive) write(name string, raw []byte) error {
	err := a.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(raw)),
		ModTime: a.index.At.Truncate(time.Second)})
	if err == nil {
		_, err = a.tar.Write(raw)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// lacks notes what is stored and can't be read. An error that may pass ends the dump: it is to be asked for again.
func (a *dumpArchive) lacks(name string, err error) error {
	damaged := errors.Is(err, store.ErrUnreadable) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid)
	if !damaged || errors.Is(err, context.Canceled) {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	a.index.Missing = append(a.index.Missing, api.DumpMissing{Name: name, Reason: err.Error()})
	return nil
}

func indented(v any) ([]byte, error) {
	raw, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), jsontext.WithIndent("  "))
	return append(raw, '\n'), err
}
