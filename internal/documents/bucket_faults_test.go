package documents

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

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

func refuse(w http.ResponseWriter, status int, code string) {
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
			refuse(w, http.StatusServiceUnavailable, "SlowDown")
			return true
		case r.Method == http.MethodGet && n%2 == 0:
			panic(http.ErrAbortHandler) // the connection breaks off
		}
		return false
	}))
	want := content(12 << 20)
	blob, err := f.Put(t.Context(), f.NewName(), bytes.NewReader(want), MaxSize)
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

// The server goes away in the middle of an upload, as when the gateway is killed: nothing aborts the upload. What it left
// is removed with the name, which the sweep of uploads does.
func TestBucketWithAnUploadThatBrokeOff(t *testing.T) {
	t.Parallel()
	endpoint, folder := s3(t)
	var parts atomic.Int64
	f := openBucket(t, faulty(t, endpoint, func(http.ResponseWriter, *http.Request) bool { return false }))
	broken := openBucket(t, faulty(t, endpoint, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("partNumber") {
			parts.Add(1)
		}
		if parts.Load() > 2 {
			panic(http.ErrAbortHandler)
		}
		return false
	}))
	name := f.NewName()
	_, err := broken.Put(t.Context(), name, bytes.NewReader(content(12<<20)), MaxSize)
	require.Error(t, err)
	require.NotEmpty(t, files(t, folder), "no part was stored")
	_, _, err = f.Open(name)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, f.Discard(name))
	require.Empty(t, files(t, folder))
}

// An upload to a server that does not answer ends with its context.
func TestBucketThatHangs(t *testing.T) {
	t.Parallel()
	endpoint, folder := s3(t)
	ctx, cancel := context.WithCancel(t.Context())
	f := openBucket(t, faulty(t, endpoint, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body) // the end of a request is noticed once it was read
		cancel()
		<-r.Context().Done()
		return true
	}))
	_, err := f.Put(ctx, f.NewName(), strings.NewReader("x"), 10)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, files(t, folder))
}

// What can't be mended by another try fails at once, with a sentence that says what to do.
func TestBucketThatIsFullOrForbidden(t *testing.T) {
	t.Parallel()
	endpoint, _ := s3(t)
	stranger := openBucketWith(t, Bucket{Endpoint: endpoint, AccessKey: "key", SecretKey: "another"})
	require.ErrorContains(t, stranger.Prepare(), "give the gateway the right")
	missing, err := OpenBucket("s3://missing", Bucket{Endpoint: endpoint, AccessKey: "key", SecretKey: "secret"})
	require.NoError(t, err)
	require.ErrorContains(t, missing.Prepare(), "look whether the bucket is there")
	var tries atomic.Int64
	full := openBucket(t, faulty(t, endpoint, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		tries.Add(1)
		refuse(w, http.StatusInsufficientStorage, "XMinioStorageFull")
		return true
	}))
	_, err = full.Put(t.Context(), full.NewName(), strings.NewReader("x"), 10)
	require.ErrorIs(t, err, ErrFull)
	require.EqualValues(t, 1, tries.Load())
	require.ErrorIs(t, full.Check(), ErrFull)
}

// A server that does not answer, or can't now, is away: the gateway starts all the same. What it answers for good, and
// what is wrong on our side, ends the start.
func TestBucketThatIsAway(t *testing.T) {
	t.Parallel()
	endpoint, _ := s3(t)
	answering := func(status int) *Files {
		return openBucket(t, faulty(t, endpoint, func(w http.ResponseWriter, _ *http.Request) bool {
			refuse(w, status, "Refused")
			return true
		}))
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	untrusted := httptest.NewTLSServer(nil)
	t.Cleanup(untrusted.Close)
	for name, f := range map[string]*Files{"nobody listens": openBucket(t, closed.URL), "503": answering(503), "500": answering(500)} {
		require.ErrorIs(t, f.Prepare(), ErrAway, name)
	}
	for name, f := range map[string]*Files{"403": answering(403), "404": answering(404), "507": answering(507), "untrusted": openBucket(t, untrusted.URL)} {
		err := f.Prepare()
		require.Error(t, err, name)
		require.NotErrorIs(t, err, ErrAway, name)
	}
}
