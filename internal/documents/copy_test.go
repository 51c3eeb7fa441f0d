package documents

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// run copies, and returns the numbers of files that were copied, were there, and were deleted.
func (c *Copier) run(t *testing.T) (copied [3]int64) {
	t.Helper()
	require.NoError(t, c.Run(t.Context()))
	return [3]int64{c.Files.Load(), c.Present.Load(), c.Deleted.Load()}
}

func requireContent(t *testing.T, f *Files, name string, want []byte) {
	t.Helper()
	got, _, err := f.Open(name)
	require.NoError(t, err)
	defer got.Close()
	read, err := io.ReadAll(got)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, read))
}

// Documents go to a bucket and back, sealed ones as they are. A copy that broke off is continued, and what was deleted
// since the first copy is deleted by the last.
func TestCopy(t *testing.T) {
	t.Parallel()
	endpoint, _ := s3(t)
	from := newFiles(t)
	all := map[string][]byte{}
	put := func() (name string) {
		want := content(len(all) * 700_000)
		blob, err := from.Put(t.Context(), from.NewName(), bytes.NewReader(want), MaxSize)
		require.NoError(t, err)
		all[blob.Name] = want
		return blob.Name
	}
	for range 5 {
		put()
	}
	sealing(t, from)
	gone := put()

	var uploads atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	broken := openBucket(t, faulty(t, endpoint, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && uploads.Add(1) == 3 { // the first is the check's
			cancel()
		}
		return false
	}))
	require.Error(t, (&Copier{From: from, To: broken}).Run(ctx))

	bucket := openBucket(t, endpoint)
	bucket.Keys = from.Keys
	first := (&Copier{From: from, To: bucket}).run(t)
	require.EqualValues(t, len(all), first[0]+first[1])
	require.NotZero(t, first[1], "what the copy that broke off had copied was copied again")
	require.Equal(t, [3]int64{0, int64(len(all)), 0}, (&Copier{From: from, To: bucket, Delete: true}).run(t))
	require.NoError(t, from.Discard(gone))
	delete(all, gone)
	require.Equal(t, [3]int64{0, int64(len(all)), 0}, (&Copier{From: from, To: bucket}).run(t))
	requireContent(t, bucket, gone, content(len(all)*700_000))
	require.Equal(t, [3]int64{0, int64(len(all)), 1}, (&Copier{From: from, To: bucket, Delete: true}).run(t))

	back := newFiles(t)
	back.Keys = from.Keys
	for name := range all { // a copy that was killed left the begin of a file
		half, err := back.medium.create(name)
		require.NoError(t, err)
		defer half.discard()
		break
	}
	require.Equal(t, [3]int64{int64(len(all)), 0, 0}, (&Copier{From: bucket, To: back}).run(t))
	for name, want := range all {
		requireContent(t, bucket, name, want)
		requireContent(t, back, name, want)
	}
}

// A wrong address to copy from deletes nothing.
func TestCopyFromNothing(t *testing.T) {
	t.Parallel()
	to := newFiles(t)
	blob, err := to.Put(t.Context(), to.NewName(), bytes.NewReader([]byte("x")), MaxSize)
	require.NoError(t, err)
	folder := t.TempDir()
	empty, err := OpenFiles(folder)
	require.NoError(t, err)
	c := &Copier{From: empty, To: to, Delete: true}
	require.ErrorContains(t, c.Run(t.Context()), "nothing was deleted")
	require.NoError(t, os.Remove(folder))
	require.ErrorContains(t, c.Run(t.Context()), filepath.Base(folder))
	requireContent(t, to, blob.Name, []byte("x"))
}
