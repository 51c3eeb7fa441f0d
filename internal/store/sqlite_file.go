package store

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
)

// followed is where symbolic links lead from a path to a file, which need not be there yet: the lock lies beside it, and so do SQLite's
// own files. Links that go round in circles are left as they are, and opening the file says so.
func followed(path string) string {
	for at, n := path, 0; n < 40; n++ { // as many as Linux follows
		folder, err := filepath.EvalSymlinks(filepath.Dir(at))
		if err != nil {
			return at
		}
		at = filepath.Join(folder, filepath.Base(at))
		next, err := os.Readlink(at)
		if err != nil {
			return at
		}
		if !filepath.IsAbs(next) {
			next = filepath.Join(folder, next)
		}
		at = next
	}
	return path
}

// onlyName refuses a file that has another name, a hard link. Neither our lock nor SQLite's log would be known by the other name: what two
// programs write by the two is lost, or damages the file.
func onlyName(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // which opening it says, too
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink > 1 {
		return fmt.Errorf("the database %s has another name, a hard link, by which another program could write to it at the same time: remove that one, which find / -xdev -samefile %s shows", path, path)
	}
	return nil
}

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
