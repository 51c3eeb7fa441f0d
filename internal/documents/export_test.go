package documents

import (
	"context"
	"io"
)

// Put is PutAs under a new name.
func (f *Files) Put(ctx context.Context, r io.Reader, limit int64) (Blob, error) {
	return f.PutAs(ctx, f.NewName(), r, limit)
}

// temporaryOf makes a file of a new name.
func temporaryOf(f *Files) (*temporary, error) {
	name := f.NewName()
	return f.temporary(name, name)
}
