package database

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hiregate/hiregate/internal/filelock"
	"github.com/hiregate/hiregate/internal/platform"
)

// fileLock is the lock of a SQLite file, with the information on its own file at the time: to read it again would be
// another system call of each commit.
type fileLock struct {
	*os.File
	was os.FileInfo
}

// Close releases the lock.
func (l *fileLock) Close() error {
	return errors.Join(filelock.Unlock(l.File), l.File.Close())
}

// lockFile makes sure that a SQLite file has one writing process. The lock ends with the process, however it ends.
func lockFile(path string) (*fileLock, error) {
	lock, err := acquireLock(path)
	if err != nil {
		return nil, err
	}
	// It has personal data: no other user may read it, whatever the umask. SQLite gives its other files the same mode.
	if db, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err == nil {
		db.Close() // SQLite reports the error when it opens the file
	}
	return lock, nil
}

// acquireLock locks without opening the database: closing its file would release the locks that SQLite has on it in
// this process.
func acquireLock(path string) (*fileLock, error) {
	name := path + ".lock"
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the folder %s does not exist: make it, writable for this user", filepath.Dir(path))
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("the folder %s can't be written by this user: change its owner, or choose another "+
			"path for the database", filepath.Dir(path))
	case err != nil:
		if limit := platform.FilesExhausted(err); limit != "" {
			err = fmt.Errorf("%w; %s", err, limit)
		}
		return nil, fmt.Errorf("locking the database: %w", err)
	}
	if err := filelock.Try(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("the database %s is in use by %s: stop that one, or give this one a file of its own",
			path, lockHolder(name))
	}
	// The process id is only for the message above.
	if err := f.Truncate(0); err == nil {
		f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	}
	was, err := f.Stat()
	lock := &fileLock{f, was}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("locking the database: %w", err)
	}
	return lock, nil
}
