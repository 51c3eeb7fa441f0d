package documents_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/documents"
)

// s3 starts an S3 server with an empty bucket named documents, and returns its address.
func s3(t *testing.T) (address string, bucket string) {
	t.Helper()
	bin := os.Getenv("S3_DEV_BIN")
	require.NotEmpty(t, bin, "make test sets S3_DEV_BIN")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address = free.Addr().String()
	require.NoError(t, free.Close())
	root, sidecar := t.TempDir(), t.TempDir()
	bucket = filepath.Join(root, "documents")
	require.NoError(t, os.Mkdir(bucket, 0o700))
	cmd := exec.Command(bin, "-address", address, "-folder", root, "-side", sidecar)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	require.Eventually(t, func() bool {
		answer, err := http.Get("http://" + address + "/health")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}, time.Minute, 10*time.Millisecond)
	return "http://" + address, bucket
}

func openBucket(t *testing.T, endpoint string) *documents.Files {
	t.Helper()
	f, err := documents.OpenBucket("s3://documents/a/prefix",
		documents.Bucket{Endpoint: endpoint, AccessKey: "key", SecretKey: "secret"})
	require.NoError(t, err)
	return f
}

func content(size int) []byte {
	all := make([]byte, size)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(all)
	return all
}

func files(t *testing.T, folder string) (all []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			all = append(all, path)
		}
		return err
	}))
	return all
}

// Small files are sent at once, large ones in parts; they are read by ranges.
func TestBucketKeepsFiles(t *testing.T) {
	t.Parallel()
	endpoint, folder := s3(t)
	f := openBucket(t, endpoint)
	require.NoError(t, f.Prepare())
	require.Empty(t, files(t, folder), "what Prepare wrote is removed")
	for _, size := range []int{0, 1, 1 << 20, 1<<20 + 1, documents.MaxSize} {
		want := content(size)
		blob, err := f.Put(t.Context(), f.NewName(), bytes.NewReader(want), documents.MaxSize)
		require.NoError(t, err)
		got, n, err := f.Open(blob.Name)
		require.NoError(t, err)
		require.EqualValues(t, size, n)
		read, err := io.ReadAll(got)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, read))
		part := make([]byte, min(size, 100))
		_, err = io.ReadFull(io.NewSectionReader(got, int64(size-len(part)), int64(len(part))), part)
		require.NoError(t, err)
		require.Equal(t, want[size-len(part):], part)
		require.NoError(t, got.Close())
		require.Equal(t, filepath.Join(folder, "a/prefix", blob.Name[:2], blob.Name), files(t, folder)[0])
		require.NoError(t, f.Discard(blob.Name))
		require.NoError(t, f.Discard(blob.Name), "a second time")
		_, _, err = f.Open(blob.Name)
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
}

// faulty is a proxy in front of an S3 server.
func faulty(t *testing.T, endpoint string, fault func(w http.ResponseWriter, r *http.Request) bool) string {
	t.Helper()
	target, err := url.Parse(endpoint)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !fault(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func said(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `<?xml version="1.0"?><Error><Code>`+code+`</Code><Message>no</Message></Error>`)
}

// The first request of each kind fails; ranges fail every second time.
func TestBucketOutlivesFaults(t *testing.T) {
	t.Parallel()
	endpoint, folder := s3(t)
	var asked sync.Map
	f := openBucket(t, faulty(t, endpoint, func(w http.ResponseWriter, r *http.Request) bool {
		query := r.URL.Query()
		kind := fmt.Sprint(r.Method, query.Has("uploads"), query.Has("uploadId"), r.Header.Get("Range") != "")
		count, _ := asked.LoadOrStore(kind, new(atomic.Int64))
		n := count.(*atomic.Int64).Add(1)
		switch {
		case n == 1:
			said(w, http.StatusServiceUnavailable, "SlowDown")
			return true
		case r.Method == http.MethodGet && n%2 == 0:
			panic(http.ErrAbortHandler) // the connection breaks off
		}
		return false
	}))
	want := content(12 << 20)
	blob, err := f.Put(t.Context(), f.NewName(), bytes.NewReader(want), documents.MaxSize)
	require.NoError(t, err)
	got, _, err := f.Open(blob.Name)
	require.NoError(t, err)
	defer got.Close()
	read, err := io.ReadAll(got)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, read))
	require.NoError(t, f.Discard(blob.Name))
	require.Empty(t, files(t, folder), "also what the tries that failed had uploaded")
}

func TestBucketThatIsFullOrForbidden(t *testing.T) {
	t.Parallel()
	endpoint, _ := s3(t)
	var full atomic.Bool
	f := openBucket(t, faulty(t, endpoint, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		if full.Load() {
			said(w, http.StatusInsufficientStorage, "XMinioStorageFull")
		} else {
			said(w, http.StatusForbidden, "AccessDenied")
		}
		return true
	}))
	require.ErrorContains(t, f.Prepare(), "give the gateway the right")
	full.Store(true)
	require.ErrorIs(t, f.Check(), documents.ErrFull)
	_, err := f.Put(t.Context(), f.NewName(), strings.NewReader("x"), 10)
	require.ErrorIs(t, err, documents.ErrFull)
}
