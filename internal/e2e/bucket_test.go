package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// bucket is an S3 server with a bucket named documents.
type bucket struct {
	*process
	t       *testing.T
	dir     string
	address string
}

func startBucket(t *testing.T) *bucket {
	t.Helper()
	b := &bucket{t: t, dir: t.TempDir(), address: loopback(freePorts(t, 1)[0])}
	require.NoError(t, os.MkdirAll(filepath.Join(b.dir, "buckets", "documents"), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(b.dir, "side"), 0o700))
	b.start()
	return b
}

func (b *bucket) start() {
	b.t.Helper()
	b.process = start(b.t, nil, program(b.t, "S3_DEV_BIN", "s3-dev"), "-lifeline", "-address", b.address,
		"-folder", filepath.Join(b.dir, "buckets"), "-side", filepath.Join(b.dir, "side"))
	require.Eventually(b.t, func() bool {
		answer, err := http.Get("http://" + b.address + "/health")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}, patience, 10*time.Millisecond)
}

// option is the option documents of a gateway that uses the bucket.
func (b *bucket) option() string {
	return "s3://documents/hiregate {\nendpoint http://" + b.address + "\naccess_key key\nsecret_key secret\n}"
}

// A gateway keeps documents in a bucket, and serves them from there. They are copied to a folder, and the gateway serves
// them from that under the same URLs, without the bucket.
func TestDocumentsInABucket(t *testing.T) {
	t.Parallel()
	resume := strings.Repeat("Zoe Lovelace programmed the Analytical Engine. ", 40_000)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, resume)
	}))
	t.Cleanup(service.Close)
	b := startBucket(t)
	s := newSystemWith(t, setup{documents: b.option(),
		tenant: "integration hris {\nurl http://PARTNER/inbound\nsecret " + outboundSecret + "\n}"})
	partner := s.startRecorder(ok)
	s.accepted(withDocument("c-1", service.URL))
	url := attachments(t, partner.awaitExports(t, 1)[0].body)[0]
	require.Contains(t, url, s.url("/documents/"))
	requireDocument(t, url, resume)
	require.NoDirExists(t, filepath.Join(s.dir, "documents"))

	folder := filepath.Join(s.dir, "copied")
	out, code := run(t, []string{"AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret"}, hiregate(t), "documents", "copy",
		"s3://documents/hiregate", folder, "--endpoint", "http://"+b.address)
	require.Zero(t, code, out)
	require.Contains(t, out, "1 documents copied")
	s.gateway.kill()
	b.kill()
	s.documents = "file:" + folder
	s.configure()
	s.startGateway()
	requireDocument(t, url, resume)
}

func requireDocument(t *testing.T, url, want string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, nil)
	require.NoError(t, err)
	r.Header.Set("Accept", "application/octet-stream")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.True(t, want == string(got), "another file came")
}

// attachments are the URLs of the documents of an export as a partner gets it.
func attachments(t *testing.T, body []byte) (urls []string) {
	t.Helper()
	var export struct {
		Candidate struct {
			Profiles []struct{ Attachments []struct{ URL string } }
		}
	}
	require.NoError(t, json.Unmarshal(body, &export))
	for _, profile := range export.Candidate.Profiles {
		for _, one := range profile.Attachments {
			urls = append(urls, one.URL)
		}
	}
	return urls
}

// A gateway starts while its bucket is away: it accepts exports, says so, and stores documents when the bucket is back.
func TestStartWhileTheBucketIsAway(t *testing.T) {
	t.Parallel()
	b := startBucket(t)
	b.kill()
	s := newReceiver(t, setup{documents: b.option()})
	s.accepted(minimal("c-1"))
	documents := func() bool {
		var health struct{ Checks map[string]struct{ OK bool } }
		require.NoError(t, json.Unmarshal([]byte(body(t, s.url("/healthz"))), &health))
		return health.Checks["documents"].OK
	}
	require.False(t, documents())
	out, _ := run(t, []string{"HIREGATE_ADMIN=" + loopback(s.admin)}, hiregate(t), "status")
	require.Contains(t, out, "documents can't be stored since")
	b.start()
	require.Eventually(t, documents, patience, 200*time.Millisecond)
}
