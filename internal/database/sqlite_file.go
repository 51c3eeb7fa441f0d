package database

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/platform"
)

// resolveLinks follows the symbolic links of a path to a file, which need not exist yet: the lock lies beside the file,
// and so do SQLite's own files. A path whose links form a cycle stays as it is, and opening the file fails.
func resolveLinks(path string) string {
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

// checkLinks refuses a file that has another name, a hard link. Neither our lock nor SQLite's log would be known by the
// other name: what two programs write by the two is lost, or damages the file.
func checkLinks(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // which opening it says, too
	}
	if platform.HasHardLink(info) {
		return fmt.Errorf("the database %s has another name, a hard link, by which another program could write to it at "+
			"the same time: remove that one, which find / -xdev -samefile %s shows", path, path)
	}
	return nil
}

// databaseFile is the file of an open database, and its lock. SQLite itself does not notice that the file was moved,
// deleted or replaced: it would go on writing to a file without a name. Nor does a lock work whose file was deleted.
type databaseFile struct {
	path string
	was  atomic.Pointer[os.FileInfo] // nil: not opened yet
	lock atomic.Pointer[fileLock]    // nil: not taken
}

func (f *databaseFile) claim(context.Context, *zap.Logger) (io.Closer, error) {
	lock, err := claimFile(f.path)
	if err != nil {
		return nil, err
	}
	f.lock.Store(lock)
	return f, nil
}

// Close releases the lock.
func (f *databaseFile) Close() error { return f.lock.Load().Close() }

// present fails when the file at the path is not the one that it was at the first call, or is another process's by now.
func (f *databaseFile) present() error {
	is, err := os.Stat(f.path)
	was := f.was.Load()
	switch {
	case was == nil && err == nil:
		f.was.Store(&is)
	case was != nil && (err != nil || !os.SameFile(*was, is)):
		return fmt.Errorf("the file %s was moved, deleted or replaced while it was open: stop the gateway, put the file "+
			"back with its -wal beside it, and start", f.path)
	}
	return f.checkLock()
}

// checkLock locks again when the lock's file was deleted, unless another process did so first. Where one did and has
// ended, the error makes the writer open the database again: it has to read what that process wrote.
func (f *databaseFile) checkLock() error {
	lock := f.lock.Load()
	if lock == nil {
		return nil
	}
	is, err := os.Stat(lock.Name())
	if err == nil && os.SameFile(lock.was, is) {
		return nil
	}
	next, failed := acquireLock(f.path)
	if failed != nil {
		return failed
	}
	f.lock.Store(next)
	lock.Close()
	if err == nil {
		return fmt.Errorf("another process had %s in use meanwhile, since somebody deleted its .lock: leave "+
			"that file where it is", f.path)
	}
	return nil
}
