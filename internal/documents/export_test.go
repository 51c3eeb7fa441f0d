package documents

import (
	"context"
	"io"
)

// PutNew is Put under a new name.
func (f *Files) PutNew(ctx context.Context, r io.Reader, limit int64) (Blob, error) {
	return f.Put(ctx, f.NewName(), r, limit)
}

// temporaryOf makes a file of a new name.
func temporaryOf(f *Files) (*temporary, error) {
	name := f.NewName()
	return f.temporary(name)
}
