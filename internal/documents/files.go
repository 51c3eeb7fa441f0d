package documents

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// MaxSize limits a document, in decoded bytes (docs/behaviour.md, "Documents").
const MaxSize = 25 << 20

var (
	// ErrTooLarge is returned by Put when the content is larger than its limit.
	ErrTooLarge = errors.New("the document is larger than allowed")
	// ErrFull is returned by Put when the disk, the quota, the bucket's quota or the limit on files (ulimit -f) is used up.
	ErrFull = errors.New("there is no room for documents")
)

// Files keeps the content of documents: one file each, under a random name, never changed. It may be used by several
// goroutines at once.
type Files struct {
	medium medium
	// Keys seal the files. Nil: files are not sealed.
	Keys Keys
}

// medium stores files under names that validName accepts: in a folder or a bucket.
type medium interface {
	// prepare makes it ready for use, and removes what crashes left there.
	prepare() error
	// create begins a file, which gets its name once it is kept.
	create(name string) (draft, error)
	// open opens a file and returns its size in bytes. Errors: fs.ErrNotExist.
	open(name string) (opened, int64, error)
	// list returns the sizes in bytes of the files whose names begin with a character, by name.
	list(ctx context.Context, begin string) (map[string]int64, error)
	// remove removes a file, also one that is still being written; a missing file is no error.
	remove(name string) error
	// check returns nil if a file of MaxSize could be stored now.
	check() error
	// free returns the free space in bytes, or errors.ErrUnsupported if there is no limit or it is not known.
	free() (int64, error)
	// temporaryFolder is where files are created that disappear with the process.
	temporaryFolder() string
}

// draft is a file that is being written: it is either kept or discarded.
type draft interface {
	io.Writer
	// keep returns when the file is durable under its name.
	keep(ctx context.Context) error
	// discard removes the file, unless it was kept.
	discard()
}

// opened is a file that is read. It may be an io.Reader as well.
type opened interface {
	io.ReaderAt
	io.Closer
}

// Blob describes a stored file.
type Blob struct {
	Name     string   // for Open and Discard: 26 characters of base32, lower case, with .sealed if it is sealed
	SHA256   [32]byte // of the content
	Size     int64    // in bytes
	Detected string   // media type by content, without parameters
}

// OpenStore returns the document store at rawURL, a folder or a bucket; see OpenFiles and OpenBucket. Empty: there is
// none, and each use of it fails.
func OpenStore(rawURL string, b Bucket) (*Files, error) {
	if rawURL == "" {
		return &Files{medium: nowhere{}}, nil
	}
	if IsBucket(rawURL) {
		return OpenBucket(rawURL, b)
	}
	return OpenFiles(rawURL)
}

// OpenFiles returns the document store in the folder at rawURL: file:///absolute/folder, file:relative/folder or a
// plain path. It touches no file; Prepare does.
func OpenFiles(rawURL string) (*Files, error) {
	root, err := Identity(rawURL)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("the document store %s is not a folder; name a folder", root)
	}
	return &Files{medium: folder(root)}, nil
}

// Identity returns the absolute path of rawURL, or the address of a bucket: two spellings of one store have one identity.
func Identity(rawURL string) (string, error) {
	if IsBucket(rawURL) {
		name, prefix, err := bucketAt(rawURL)
		return "s3://" + name + "/" + prefix, err
	}
	path := rawURL
	scheme, _, isURL := strings.Cut(rawURL, "://")
	switch {
	case strings.HasPrefix(strings.ToLower(rawURL), "file:"):
		var err error
		if path, err = filePath(rawURL); err != nil {
			return "", err
		}
	case isURL:
		return "", fmt.Errorf("a document store can't be of scheme %q; write file:///a/folder or s3://bucket/prefix", scheme)
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

// Prepare makes a folder that is missing, readable only for us, or looks whether there is a bucket; it checks that both
// can be written to, and removes what a crash has left that is older than a quarter of an hour. It may be called again
// at any time, also while files are written.
func (f *Files) Prepare() error { return f.medium.prepare() }

// Open opens a file for reading and returns the size of its content in bytes. A sealed file that was cut short is an
// error; a changed part of it is an error once it is read. Errors: fs.ErrNotExist, and fs.ErrInvalid for a name that
// NewName can't have made.
func (f *Files) Open(name string) (Content, int64, error) {
	if err := validName(name); err != nil {
		return nil, 0, err
	}
	file, size, err := f.medium.open(name)
	if err != nil {
		return nil, 0, fmt.Errorf("opening a document: %w", err)
	}
	content, size, err := f.opened(name, file, size)
	if err != nil {
		_ = file.Close() // the first error counts
		return nil, 0, fmt.Errorf("opening a document: %w", err)
	}
	return content, size, nil
}

// Discard removes a file, also one that is still being written; a missing file is no error.
func (f *Files) Discard(name string) error {
	if err := validName(name); err != nil {
		return err
	}
	if err := f.medium.remove(name); err != nil {
		return fmt.Errorf("removing a document: %w", err)
	}
	return nil
}

// validName refuses a name that NewName can't have made: names come from rows and requests.
func validName(name string) error {
	const length = 26
	isBase32 := func(c rune) bool { return 'a' <= c && c <= 'z' || '2' <= c && c <= '7' }
	random := strings.TrimSuffix(name, sealedSuffix)
	if len(random) != length || strings.ContainsFunc(random, func(c rune) bool { return !isBase32(c) }) {
		return fmt.Errorf("this is not the name of a document: %w", fs.ErrInvalid)
	}
	return nil
}

// Check returns nil if a document of the largest size could be stored now. Errors: ErrFull, wrapped, and others of the
// folder or the bucket.
func (f *Files) Check() error { return f.medium.check() }

// remote reports whether files are kept by another machine.
func (f *Files) remote() bool {
	_, ok := f.medium.(*bucket)
	return ok
}

// Free returns the free space of the document store for us, in bytes, or errors.ErrUnsupported if that is not known.
func (f *Files) Free() (int64, error) { return f.medium.free() }

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
