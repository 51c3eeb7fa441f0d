package documents

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
	cmd := exec.Command(bin, "-address", address, "-folder", root, "-side", sidecar, "-lifeline")
	_, err = cmd.StdinPipe() // its write end closes with this process
	require.NoError(t, err)
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

func openBucket(t *testing.T, endpoint string) *Files {
	t.Helper()
	return openBucketWith(t, Bucket{Endpoint: endpoint, AccessKey: "key", SecretKey: "secret"})
}

func openBucketWith(t *testing.T, b Bucket) *Files {
	t.Helper()
	f, err := OpenBucket("s3://documents/a/prefix", b)
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
	for _, size := range []int{0, 1, 1 << 20, 1<<20 + 1, MaxSize} {
		want := content(size)
		blob, err := f.Put(t.Context(), f.NewName(), bytes.NewReader(want), MaxSize)
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

// A sealed file is sealed in the bucket as well, and a range of it is read without the rest.
func TestBucketKeepsSealedFiles(t *testing.T) {
	t.Parallel()
	endpoint, folder := s3(t)
	var ranges atomic.Int64
	f := sealing(t, openBucket(t, faulty(t, endpoint, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Range") != "" {
			ranges.Add(1)
		}
		return false
	})))
	want := secretText(12 << 20)
	blob, err := f.Put(t.Context(), f.NewName(), strings.NewReader(want), MaxSize)
	require.NoError(t, err)
	raw, err := os.ReadFile(files(t, folder)[0])
	require.NoError(t, err)
	require.NotContains(t, string(raw), "Lovelace")
	got, size, err := f.Open(blob.Name)
	require.NoError(t, err)
	require.EqualValues(t, len(want), size)
	part := make([]byte, 100)
	_, err = got.ReadAt(part, 6<<20)
	require.NoError(t, err)
	require.Equal(t, want[6<<20:6<<20+100], string(part))
	require.LessOrEqual(t, ranges.Load(), int64(4), "of 13: the header, the end, and what has the part that was asked for")
	all, err := io.ReadAll(got)
	require.NoError(t, err)
	require.True(t, want == string(all))
}

// The server is asked to encrypt small files and large ones, by its own key or one of its KMS.
func TestBucketAsksForEncryption(t *testing.T) {
	t.Parallel()
	endpoint, _ := s3(t)
	for encryption, want := range map[string][2]string{"": {}, "AES256": {"AES256", ""}, "key/1": {"aws:kms", "key/1"}} {
		var asked sync.Map
		f := openBucketWith(t, Bucket{Endpoint: faulty(t, endpoint, func(_ http.ResponseWriter, r *http.Request) bool {
			const algorithm, key = "X-Amz-Server-Side-Encryption", "X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"
			query := r.URL.Query()
			if r.Method == http.MethodPut && !query.Has("uploadId") || query.Has("uploads") && r.Method == http.MethodPost {
				asked.Store(r.Method, [2]string{r.Header.Get(algorithm), r.Header.Get(key)})
			}
			return false
		}), AccessKey: "key", SecretKey: "secret", Encryption: encryption})
		for method, size := range map[string]int{http.MethodPut: 1, http.MethodPost: 6 << 20} {
			_, err := f.Put(t.Context(), f.NewName(), bytes.NewReader(content(size)), MaxSize)
			require.NoError(t, err)
			got, ok := asked.Load(method)
			require.True(t, ok)
			require.Equal(t, want, got)
		}
	}
}

// Keys come from the environment, from a file, or from the role of a container.
func TestBucketFindsKeys(t *testing.T) {
	endpoint, _ := s3(t)
	role := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"AccessKeyId":"key","SecretAccessKey":"secret","Expiration":%q}`,
			time.Now().Add(time.Hour).Format(time.RFC3339))
	}))
	t.Cleanup(role.Close)
	file := filepath.Join(t.TempDir(), "credentials")
	require.NoError(t, os.WriteFile(file, []byte("[default]\naws_access_key_id = key\naws_secret_access_key = secret\n"), 0o600))
	for _, environment := range []map[string]string{
		{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"},
		{"AWS_SHARED_CREDENTIALS_FILE": file},
		{"AWS_CONTAINER_CREDENTIALS_FULL_URI": role.URL},
	} {
		for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
			t.Setenv(name, environment[name])
		}
		t.Setenv("AWS_SHARED_CREDENTIALS_FILE", cmp.Or(environment["AWS_SHARED_CREDENTIALS_FILE"], file+".missing"))
		require.NoError(t, openBucketWith(t, Bucket{Endpoint: endpoint}).Prepare(), "%v", environment)
	}
}
