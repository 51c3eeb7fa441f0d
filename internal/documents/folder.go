package documents

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/platform"
)

// leftover is the age, since its last change, from which a temporary file counts as left by a crash: the folder may be
// shared with a process that is writing just now.
const leftover = 15 * time.Minute

const (
	temporarySuffix = ".tmp"     // a temporary file lies beside the file that it becomes
	scratchPrefix   = "scratch-" // of a file of Scratch
	fanOut          = 2          // a file lies in a folder of the first characters of its name
)

// folder is the medium in a folder of a file system, which nodes may share.
type folder string

// prepare creates the folder if it is missing, readable only for us, checks that it can be written to, and removes
// temporary files that a crash has left and that are older than a quarter of an hour. It may be called again at any
// time, also while files are written.
func (f folder) prepare() error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return f.unusable(err)
	}
	if err := f.probe(nil); err != nil {
		return f.unusable(err)
	}
	return f.removeLeftovers(time.Now().Add(-leftover))
}

func (f folder) unusable(err error) error {
	if limit := platform.FilesExhausted(err); limit != "" {
		return fmt.Errorf("the document store %s can't be used: %s: %w", string(f), limit, err)
	}
	return fmt.Errorf("the document store %s can't be used; give user id %d the right to write there, or "+
		"name another folder: %w",
		string(f), os.Getuid(), err)
}

// removeLeftovers removes what crashes left: temporary files last written before a time, and the names of scratch
// files, which a crash left between the creation of the file and the removal of its name. A process that has a scratch
// file open, on this node or another, keeps its content. Folders that are not ours, such as lost+found on a volume of
// its own, are not touched.
func (f folder) removeLeftovers(before time.Time) error {
	err := fs.WalkDir(os.DirFS(string(f)), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path != ".":
			return nil // removed since the folder was read
		case err != nil:
			return err
		case entry.IsDir() && path != "." && len(path) != fanOut:
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		if !strings.HasPrefix(path, scratchPrefix) {
			name, left := strings.CutSuffix(entry.Name(), temporarySuffix)
			if !left || validName(name) != nil {
				return nil
			}
			if info, err := entry.Info(); err != nil || !info.ModTime().Before(before) {
				return ignoreNotExist(err)
			}
		}
		return remove(filepath.Join(string(f), path))
	})
	if err != nil {
		return fmt.Errorf("removing what a crash left in the document store: %w", err)
	}
	return nil
}

// remove removes a file; one that is not there is no error.
func remove(path string) error { return ignoreNotExist(os.Remove(path)) }

func ignoreNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (f folder) path(name string) string { return filepath.Join(string(f), name[:fanOut], name) }

func (f folder) open(name string) (opened, int64, error) {
	file, err := os.Open(f.path(name))
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

func (f folder) list(_ context.Context, begin string) (map[string]int64, error) {
	folders, err := os.ReadDir(string(f))
	if err != nil {
		return nil, err
	}
	files := map[string]int64{}
	for _, in := range folders {
		if !strings.HasPrefix(in.Name(), begin) || len(in.Name()) != fanOut {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(string(f), in.Name()))
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if validName(entry.Name()) != nil {
				continue
			}
			info, err := entry.Info()
			if ignoreNotExist(err) != nil {
				return nil, err
			}
			if err == nil {
				files[entry.Name()] = info.Size()
			}
		}
	}
	return files, nil
}

func (f folder) remove(name string) error {
	return errors.Join(remove(f.path(name)+temporarySuffix), remove(f.path(name)))
}

func (f folder) temporaryFolder() string { return string(f) }

// folderDraft is a file under a temporary name.
type folderDraft struct {
	*os.File
	root, path string // path: the final one
}

func (f folder) create(name string) (draft, error) {
	path := f.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making a folder in the document store: %w", full(err))
	}
	file, err := os.OpenFile(path+temporarySuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making a file in the document store: %w", full(err))
	}
	return &folderDraft{File: file, root: string(f), path: path}, nil
}

// keep syncs the file and renames it. Syncing the folder makes the name durable; syncing the root does so for a folder
// that was just created.
func (d *folderDraft) keep(context.Context) error {
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("writing a document: %w", full(err))
	}
	if err := os.Rename(d.Name(), d.path); err != nil {
		return fmt.Errorf("naming a document: %w", full(err))
	}
	if err := errors.Join(platform.SyncFolder(filepath.Dir(d.path)), platform.SyncFolder(d.root)); err != nil {
		_ = os.Remove(d.path) // the first error counts
		return fmt.Errorf("writing the folder of a document: %w", full(err))
	}
	return nil
}

func (d *folderDraft) discard() {
	_ = d.Close()           // already closed when it was kept
	_ = os.Remove(d.Name()) // already renamed when it was kept; otherwise prepare takes it later
}

// probed is the content that check writes: enough to need disk space, which an empty file does not.
var probed = make([]byte, 64<<10)

// check returns nil if a document of the largest size could be stored now. Errors: ErrFull, wrapped, and those of the
// file system.
func (f folder) check() error {
	if err := f.probe(probed); err != nil {
		return fmt.Errorf("the document store %s can't be written: %w", string(f), err)
	}
	if free, err := f.free(); err == nil && free < MaxSize { // if it is not known, the probe decides
		return fmt.Errorf("%w: it has %d bytes left, and a document may have %d: make room, or enlarge it",
			ErrFull, free, int64(MaxSize))
	}
	return nil
}

// free returns the free space of the document store for us, in bytes, or errors.ErrUnsupported if that is not known.
func (f folder) free() (int64, error) {
	free, err := platform.FreeSpace(string(f))
	if err != nil {
		return 0, fmt.Errorf("asking how much room the document store %s has: %w", string(f), err)
	}
	return free, nil
}

// probe writes a file and removes it.
func (f folder) probe(content []byte) error {
	file, err := os.OpenFile(filepath.Join(string(f), newName()+temporarySuffix), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return full(err)
	}
	_, err = file.Write(content)
	return full(errors.Join(err, file.Sync(), file.Close(), os.Remove(file.Name())))
}
