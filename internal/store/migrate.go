package store

import (
	"bytes"
	"context"
	"embed"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date.
func migrate(ctx context.Context, e *engine) error {
	db, err := e.connect(writing)
	if err != nil {
		return err
	}
	defer db.Close()
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(e.goose, db, typed{files, e.types}, e.migrate...)
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// typed is a file system whose files name column types as $ID (given by the database), $ROWID (given by us), $BYTES and $KEY; reading gives those of a database.
type typed struct {
	fs.FS
	types *strings.Replacer
}

// Open implements fs.FS.
func (t typed) Open(name string) (fs.File, error) {
	f, err := t.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return f, err
	}
	defer f.Close()
	raw, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	text := t.types.Replace(string(raw))
	return &typedFile{bytes.NewReader([]byte(text)), name, int64(len(text))}, nil
}

// ReadDir implements fs.ReadDirFS.
func (t typed) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(t.FS, name) }

type typedFile struct {
	*bytes.Reader
	name string
	size int64
}

func (f *typedFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *typedFile) Close() error               { return nil }
func (f *typedFile) Name() string               { return f.name }
func (f *typedFile) Size() int64                { return f.size }
func (f *typedFile) Mode() fs.FileMode          { return 0o444 }
func (f *typedFile) ModTime() time.Time         { return time.Time{} }
func (f *typedFile) IsDir() bool                { return false }
func (f *typedFile) Sys() any                   { return nil }
