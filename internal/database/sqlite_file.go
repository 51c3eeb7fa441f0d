package database

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"go.uber.org/zap"
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
	if hasOtherName(info) {
		return fmt.Errorf("the database %s has another name, a hard link, by which another program could write to it at the same time: remove that one, which find / -xdev -samefile %s shows", path, path)
	}
	return nil
}

// openedFile is the file of a database that is open, and its lock. SQLite itself does not notice that the file was moved, deleted or
// replaced: it would go on writing to what nobody finds any more. Nor does a lock keep anybody out whose file was deleted.
type openedFile struct {
	path string
	was  atomic.Pointer[os.FileInfo] // nil: not opened yet
	lock atomic.Pointer[takenLock]   // nil: not taken
}

func (f *openedFile) claim(context.Context, *zap.Logger) (io.Closer, error) {
	lock, err := sqliteClaim(f.path)
	if err != nil {
		return nil, err
	}
	f.lock.Store(lock)
	return f, nil
}

// Close gives the lock back.
func (f *openedFile) Close() error { return f.lock.Load().Close() }

// present fails when the file at the path is not the one that it was at the first call, or is another process's by now.
func (f *openedFile) present() error {
	is, err := os.Stat(f.path)
	was := f.was.Load()
	switch {
	case was == nil && err == nil:
		f.was.Store(&is)
	case was != nil && (err != nil || !os.SameFile(*was, is)):
		return fmt.Errorf("the file %s was moved, deleted or replaced while it was open: stop the gateway, put the file back with its -wal beside it, and start", f.path)
	}
	return f.checkLock()
}

// checkLock takes the lock anew when somebody deleted its file, unless another process did so first. Where one did and is gone again, the
// error makes the writer open the database anew: it has to read what that one wrote.
func (f *openedFile) checkLock() error {
	lock := f.lock.Load()
	if lock == nil {
		return nil
	}
	is, err := os.Stat(lock.Name())
	if err == nil && os.SameFile(lock.was, is) {
		return nil
	}
	next, failed := takeLock(f.path)
	if failed != nil {
		return failed
	}
	f.lock.Store(next)
	lock.Close()
	if err == nil {
		return fmt.Errorf("another process had %s in use meanwhile, since somebody deleted its .lock: leave that file where it is", f.path)
	}
	return nil
}
