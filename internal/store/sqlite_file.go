package store

import (
	"fmt"
	"os"
	"sync/atomic"
)

// openedFile is the file of a database that is open. SQLite itself does not notice that it was moved, deleted or replaced: it would go
// on writing to what nobody finds any more.
type openedFile struct {
	path string
	was  atomic.Pointer[os.FileInfo] // nil: not opened yet
}

// check fails when the file at the path is not the one that it was at the first call.
func (f *openedFile) check() error {
	is, err := os.Stat(f.path)
	was := f.was.Load()
	switch {
	case was == nil && err == nil:
		f.was.Store(&is)
		return nil
	case was == nil, err == nil && os.SameFile(*was, is):
		return nil
	}
	return fmt.Errorf("the file %s was moved, deleted or replaced while it was open: stop the gateway, put the file back with its -wal beside it, and start", f.path)
}
