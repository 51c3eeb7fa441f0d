package documents

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// MaxSize limits a document, in decoded bytes (docs/behaviour.md, "Documents").
const MaxSize = 25 << 20

// leftover is the age, since its last change, from which a temporary file counts as left by a crash: the folder may be
// shared with a process that is writing just now.
const leftover = 15 * time.Minute

const (
	temporarySuffix = ".tmp"     // a temporary file lies beside the file that it becomes
	scratchPrefix   = "scratch-" // of a file of Scratch
	fanOut          = 2          // a file lies in a folder of the first characters of its name
)

var (
	// ErrTooLarge is returned by Put when the content is larger than its limit.
	ErrTooLarge = errors.New("the document is larger than allowed")
	// ErrFull is returned by Put when the disk, the quota or the limit on files (ulimit -f) is used up.
	ErrFull = errors.New("the disk that holds the documents is full")
)

// Files keeps the content of documents in a folder: one file each, under a random name, never changed. It may be used
// by several goroutines at once.
type Files struct {
	root string
	// Keys seal the files. Nil: files are not sealed.
	Keys Keys
}

// Blob describes a stored file.
type Blob struct {
	Name     string   // for Open and Discard: 26 characters of base32, lower case, with .sealed if it is sealed
	SHA256   [32]byte // of the content
	Size     int64    // in bytes
	Detected string   // media type by content, without parameters
}

// OpenFiles returns the document store at rawURL: file:///absolute/folder, file:relative/folder or a plain path. It
// touches no file; Prepare does.
func OpenFiles(rawURL string) (*Files, error) {
	root, err := Identity(rawURL)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("the document store %s is not a folder; name a folder", root)
	}
	return &Files{root: root}, nil
}

// Identity returns the absolute path of rawURL: two spellings of one folder have one identity.
func Identity(rawURL string) (string, error) {
	path := rawURL
	scheme, _, isURL := strings.Cut(rawURL, "://")
	switch {
	case strings.HasPrefix(strings.ToLower(rawURL), "file:"):
		var err error
		if path, err = filePath(rawURL); err != nil {
			return "", err
		}
	case isURL:
		return "", fmt.Errorf("a document store can't be of scheme %q yet; write file:///a/folder", scheme)
	}
	if path == "" {
		return "", errors.New("the document store has no path; write file:///a/folder")
	}
	root, err := filepath.Abs(filepath.FromSlash(path))
	if err != nil {
		return "", fmt.Errorf("finding the document store: %w", err)
	}
	return root, nil
}

func filePath(rawURL string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", fmt.Errorf("the document store is not a valid URL; write file:///a/folder: %w", err)
	}
	if u.Host != "" && u.Host != "localhost" {
		return "", fmt.Errorf("the document store names a host, %s; write file:///a/folder with three slashes", u.Host)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("the document store takes no options; write file:///a/folder and nothing behind")
	}
	if u.Opaque != "" { // file:relative/folder
		return url.PathUnescape(u.Opaque)
	}
	return u.Path, nil
}

// Prepare creates the folder if it is missing, readable only for us, checks that it can be written to, and removes
// temporary files that a crash has left and that are older than a quarter of an hour. It may be called again at any
// time, also while files are written.
func (f *Files) Prepare() error {
	if err := os.MkdirAll(f.root, 0o700); err != nil {
		return f.unusable(err)
	}
	if err := f.probe(nil); err != nil {
		return f.unusable(err)
	}
	return f.removeLeftovers(time.Now().Add(-leftover))
}

func (f *Files) unusable(err error) error {
	return fmt.Errorf("the document store %s can't be used; give user id %d the right to write there, or "+
		"name another folder: %w",
		f.root, os.Getuid(), err)
}

// removeLeftovers removes what crashes left: temporary files last written before a time, and the names of scratch
// files, which a crash left between the creation of the file and the removal of its name. A process that has a scratch
// file open, on this node or another, keeps its content. Folders that are not ours, such as lost+found on a volume of
// its own, are not touched.
func (f *Files) removeLeftovers(before time.Time) error {
	err := fs.WalkDir(os.DirFS(f.root), ".", func(path string, entry fs.DirEntry, err error) error {
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
			if _, err := f.path(name); err != nil || !left {
				return nil
			}
			if info, err := entry.Info(); err != nil || !info.ModTime().Before(before) {
				return ignoreNotExist(err)
			}
		}
		return remove(filepath.Join(f.root, path))
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

// Open opens a file for reading and returns the size of its content in bytes. A sealed file that was cut short is an
// error; a changed part of it is an error once it is read. Errors: fs.ErrNotExist, and fs.ErrInvalid for a name that
// NewName can't have made.
func (f *Files) Open(name string) (Content, int64, error) {
	path, err := f.path(name)
	if err != nil {
		return nil, 0, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("opening a document: %w", err)
	}
	content, size, err := f.opened(name, file)
	if err != nil {
		_ = file.Close() // the first error counts
		return nil, 0, fmt.Errorf("opening a document: %w", err)
	}
	return content, size, nil
}

// Discard removes a file, also one that is still being written; a missing file is no error.
func (f *Files) Discard(name string) error {
	path, err := f.path(name)
	if err != nil {
		return err
	}
	if err := errors.Join(remove(path+temporarySuffix), remove(path)); err != nil {
		return fmt.Errorf("removing a document: %w", err)
	}
	return nil
}

// path returns the path of a file. Names come from rows and requests, so one that NewName can't have made is refused.
func (f *Files) path(name string) (string, error) {
	const length = 26
	isBase32 := func(c rune) bool { return 'a' <= c && c <= 'z' || '2' <= c && c <= '7' }
	random := strings.TrimSuffix(name, sealedSuffix)
	if len(random) != length || strings.ContainsFunc(random, func(c rune) bool { return !isBase32(c) }) {
		return "", fmt.Errorf("this is not the name of a document: %w", fs.ErrInvalid)
	}
	return filepath.Join(f.root, name[:fanOut], name), nil
}

// newName returns 128 random bits in base32, lower case.
func newName() string { return strings.ToLower(rand.Text()) }

// full marks the errors that mean that no space is left: on the disk, in the quota, or under the process's limit on
// files.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}
