package documents

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

func newFiles(t *testing.T) *Files {
	f, err := OpenFiles(filepath.Join(t.TempDir(), "documents"))
	require.NoError(t, err)
	require.NoError(t, f.Prepare())
	return f
}

// stored lists every file below the store's folder, whatever it is.
func stored(t *testing.T, f *Files) []string {
	paths := []string{}
	require.NoError(t, filepath.WalkDir(string(f.medium.(folder)), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			paths = append(paths, path)
		}
		return err
	}))
	return paths
}

func read(t *testing.T, f *Files, name string) string {
	r, size, err := f.Open(name)
	require.NoError(t, err)
	defer r.Close()
	content, err := io.ReadAll(r)
	require.NoError(t, err)
	require.EqualValues(t, len(content), size)
	return string(content)
}

// names are the names of the files that are kept.
func names(t *testing.T, f *Files) (all []string) {
	for _, path := range stored(t, f) {
		if name := filepath.Base(path); !strings.HasSuffix(name, temporarySuffix) {
			all = append(all, name)
		}
	}
	return all
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	require.NoError(t, err)
	for raw, want := range map[string]string{
		"file:///var/lib/hiregate/documents":       "/var/lib/hiregate/documents",
		"file:///var/lib/../lib/hiregate/":         "/var/lib/hiregate",
		"file://localhost/var/lib/hiregate":        "/var/lib/hiregate",
		"FILE:///a%20b":                            "/a b",
		"/var/lib/hiregate/documents/":             "/var/lib/hiregate/documents",
		"/odd%20name?#":                            "/odd%20name?#",
		"file:documents":                           filepath.Join(here, "documents"),
		"file:./documents":                         filepath.Join(here, "documents"),
		"documents":                                filepath.Join(here, "documents"),
		"./.hiregate/../documents":                 filepath.Join(here, "documents"),
		filepath.Join(here, "..") + "/documents/x": filepath.Join(here, "x"),
	} {
		got, err := Identity(raw)
		require.NoError(t, err, raw)
		require.Equal(t, want, got)
	}
}

func TestIdentityRefuses(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"":                         "has no path",
		"file:":                    "has no path",
		"file://":                  "has no path",
		"file://documents":         "three slashes",
		"file://documents/x":       "three slashes",
		"file:///a?sync=off":       "no options",
		"file:///a#b":              "no options",
		"file:///%zz":              "not a valid URL",
		"s3://bucket/x?secret=abc": "is no bucket",
	} {
		_, err := Identity(raw)
		require.ErrorContains(t, err, want, raw)
		require.ErrorContains(t, err, "file:///a/folder", "it says what to write")
		require.NotContains(t, err.Error(), "secret")
		_, err = OpenFiles(raw)
		require.Error(t, err)
	}
}

func TestOpenFilesTouchesNothing(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "a", "b")
	_, err := OpenFiles("file://" + folder)
	require.NoError(t, err)
	require.NoDirExists(t, folder)

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = OpenFiles(file)
	require.ErrorContains(t, err, "is not a folder")
}

func TestPrepareMakesTheFolderForUsAlone(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	info, err := os.Stat(string(f.medium.(folder)))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
	require.Empty(t, stored(t, f), "the check of writability leaves nothing")
	require.NoError(t, f.Prepare(), "again")
}

func TestPrepareSaysWhatToDo(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, folder := range []string{filepath.Join(file, "documents"), "/proc/self"} { // /proc is closed to root as well
		f, err := OpenFiles(folder)
		require.NoError(t, err)
		require.ErrorContains(t, f.Prepare(), "the document store "+folder+" can't be used; give user id")
	}
}

func TestPrepareRemovesWhatACrashLeft(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	kept, err := f.PutNew(t.Context(), strings.NewReader("kept"), 100)
	require.NoError(t, err)
	long := time.Now().Add(-leftover - time.Minute)
	require.NoError(t, os.Chtimes(filepath.Join(string(f.medium.(folder)), kept.Name[:2], kept.Name), long, long))

	crashed, err := temporaryOf(f)
	require.NoError(t, err)
	require.NoError(t, crashed.fill(t.Context(), strings.NewReader("half"), 100))
	require.NoError(t, f.Prepare())
	require.FileExists(t, crashed.file.(*folderDraft).Name(), "it may be written just now, by a process that shares the folder")

	foreign := filepath.Join(string(f.medium.(folder)), "lost+found", filepath.Base(crashed.file.(*folderDraft).Name()))
	notes := filepath.Join(string(f.medium.(folder)), "notes"+temporarySuffix)
	require.NoError(t, os.Mkdir(filepath.Dir(foreign), 0o700))
	for _, path := range []string{foreign, notes} {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	for _, path := range []string{foreign, notes, crashed.file.(*folderDraft).Name()} {
		require.NoError(t, os.Chtimes(path, long, long))
	}
	require.NoError(t, f.Prepare())
	require.NoFileExists(t, crashed.file.(*folderDraft).Name())
	require.FileExists(t, foreign)
	require.FileExists(t, notes)
	require.Equal(t, "kept", read(t, f, kept.Name))
}

func TestPut(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	for content, detected := range map[string]string{
		"%PDF-1.4\n%âãÏÓ":                    "application/pdf",
		"\x89PNG\r\n\x1a\n":                  "image/png",
		"plain text":                         "text/plain",
		"":                                   "text/plain",
		strings.Repeat("long text ", 50_000): "text/plain",
	} {
		blob, err := f.PutNew(t.Context(), iotest.HalfReader(strings.NewReader(content)), 1<<20)
		require.NoError(t, err)
		require.Equal(t, sha256.Sum256([]byte(content)), blob.SHA256)
		require.EqualValues(t, len(content), blob.Size)
		require.Equal(t, detected, blob.Detected)
		require.Regexp(t, `^[a-z2-7]{26}$`, blob.Name)
		require.Equal(t, content, read(t, f, blob.Name))

		path := filepath.Join(string(f.medium.(folder)), blob.Name[:2], blob.Name)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
		info, err = os.Stat(filepath.Dir(path))
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
	}
	require.Len(t, stored(t, f), 5, "and no temporary file")
}

func TestPutCap(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	blob, err := f.PutNew(t.Context(), zeros(MaxSize), MaxSize)
	require.NoError(t, err)
	require.EqualValues(t, 25*1024*1024, blob.Size)
	require.NoError(t, f.Discard(blob.Name))

	_, err = f.PutNew(t.Context(), zeros(MaxSize+1), MaxSize)
	require.ErrorIs(t, err, ErrTooLarge)
	require.Empty(t, stored(t, f))
}

func TestPutLeavesNothingOnErrors(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	broken := errors.New("connection reset")
	_, err := f.PutNew(t.Context(), io.MultiReader(zeros(200_000), iotest.ErrReader(broken)), MaxSize)
	require.ErrorIs(t, err, broken)
	require.Empty(t, stored(t, f))

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err = f.PutNew(ctx, io.MultiReader(zeros(200_000),
		readerFunc(func([]byte) (int, error) { cancel(); return 0, nil })), MaxSize)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, stored(t, f))

	lost, err := temporaryOf(f)
	require.NoError(t, err)
	require.NoError(t, os.Remove(lost.file.(*folderDraft).Name()))
	_, err = lost.keep(t.Context())
	require.ErrorIs(t, err, fs.ErrNotExist)
	lost.discard()
	require.Empty(t, stored(t, f))
}

func TestPutOnAFullDisk(t *testing.T) {
	t.Parallel()
	device, err := os.OpenFile("/dev/full", os.O_WRONLY, 0) // every write to it fails as on a full disk
	require.NoError(t, err)
	defer device.Close()
	_, err = copyAll(t.Context(), device, strings.NewReader("x"), 10)
	require.ErrorIs(t, err, ErrFull)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorIs(t, full(&fs.PathError{Err: syscall.EDQUOT}), ErrFull)
	require.ErrorIs(t, full(&fs.PathError{Err: syscall.EFBIG}), ErrFull)
	require.NotErrorIs(t, full(io.ErrShortWrite), ErrFull)
}

func TestPutWhilePrepareRuns(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	blob, err := f.PutNew(t.Context(), io.MultiReader(strings.NewReader("first "), readerFunc(func([]byte) (int, error) {
		if err := f.Prepare(); err != nil {
			return 0, err
		}
		return 0, io.EOF
	}), strings.NewReader("second")), 100)
	require.NoError(t, err)
	require.Equal(t, "first second", read(t, f, blob.Name))
}

func TestPutAtOnce(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			_, err := f.PutNew(t.Context(), strings.NewReader("same"), 100)
			require.NoError(t, err)
		})
	}
	group.Wait()
	require.Len(t, names(t, f), 32)
}

func TestOnlyNamesOfPutAreTaken(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	outside := filepath.Join(filepath.Dir(string(f.medium.(folder))), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	for _, name := range []string{
		"", ".", "..", "../secret", "..\\secret", "/etc/passwd", outside, strings.Repeat("../", 8) + "ab",
		strings.Repeat("a", 25), strings.Repeat("a", 27), strings.Repeat("A", 26), strings.Repeat("1", 26),
		strings.Repeat("a", 25) + "/", strings.Repeat("a", 25) + "\x00", strings.Repeat("é", 13),
		strings.Repeat("a", 22) + ".tmp",
	} {
		_, _, err := f.Open(name)
		require.ErrorIs(t, err, fs.ErrInvalid, "%q", name)
		require.ErrorIs(t, f.Discard(name), fs.ErrInvalid, "%q", name)
	}
	require.FileExists(t, outside)

	_, _, err := f.Open(newName())
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestDeleteTwice(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	blob, err := f.PutNew(t.Context(), strings.NewReader("x"), 10)
	require.NoError(t, err)
	require.NoError(t, f.Discard(blob.Name))
	require.NoError(t, f.Discard(blob.Name))
	require.NoError(t, f.Discard(newName()))
	_, _, err = f.Open(blob.Name)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// zeros gives n bytes, without holding them.
func zeros(n int64) io.Reader {
	return io.LimitReader(readerFunc(func(p []byte) (int, error) { clear(p); return len(p), nil }), n)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A crash between the making of a scratch file and the taking of its name leaves the name, and what an applicant sent.
func TestScratchFilesOfACrashAreForgotten(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	files, err := OpenFiles(root)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, "scratch-1.tmp"), []byte("left"), 0o600))
	live, err := files.Scratch()
	require.NoError(t, err)
	defer live.Close()
	require.NoError(t, files.Prepare())
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	require.Empty(t, entries)
	_, err = live.WriteAt([]byte("goes on"), 0)
	require.NoError(t, err)
}
