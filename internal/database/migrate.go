package database

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"strings"
	"time"

	"go.uber.org/zap"
)

// migrate brings the schema up to date, unless another version of hiregate made one that can't be.
func migrate(ctx context.Context, d dialect, files fs.FS, log *zap.Logger) error {
	known, err := readSteps(files)
	if err != nil {
		return err
	}
	db, err := d.connect(writing)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := known.check(ctx, d, db); err != nil {
		return err
	}
	p, err := d.migrator(db, files, log)
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return err
	}
	return known.check(ctx, d, db) // another node may have brought it further meanwhile
}

// typed is a file system of migrations as one database takes them. They name column types as $ID (given by the
// database), $ROWID (given by us), $BYTES and $KEY; reading gives the database's.
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
	text := t.types.Replace(noted(name, string(raw)))
	return &migration{bytes.NewReader([]byte(text)), name, int64(len(text))}, nil
}

type migration struct {
	*bytes.Reader
	name string
	size int64
}

func (f *migration) Stat() (fs.FileInfo, error) { return f, nil }
func (f *migration) Close() error               { return nil }
func (f *migration) Name() string               { return f.name }
func (f *migration) Size() int64                { return f.size }
func (f *migration) Mode() fs.FileMode          { return 0o444 }
func (f *migration) ModTime() time.Time         { return time.Time{} }
func (f *migration) IsDir() bool                { return false }
func (f *migration) Sys() any                   { return nil }
