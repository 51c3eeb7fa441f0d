package listen

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/clitest"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

const secret = "s3cret"

func TestListenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { taken.Close() })
	notAFolder := clitest.File(t, "file", nil)
	for _, test := range []struct {
		want string
		args []string
	}{
		{"the address " + taken.Addr().String() +
			" is taken: end the program that listens there, or choose another with --addr",
			[]string{"--addr", taken.Addr().String()}},
		{"names no port: write it like 127.0.0.1:8090 or :8090", []string{"--addr", "127.0.0.1"}},
		{"192.0.2.1:8090 is no address of this machine", []string{"--addr", "192.0.2.1:8090"}},
		{"can't be listened at", []string{"--addr", "127.0.0.1:99999"}},
		{"listen takes no arguments", []string{":8090"}},
		{"--fail-rate must be from 0 (never) to 1 (always)", []string{"--fail-rate", "1.1"}},
		{"--fail-rate must be from 0", []string{"--fail-rate", "NaN"}},
		{"--slow must not be negative", []string{"--slow", "-1s"}},
		{"--verify-status must be a status", []string{"--verify-status", "99"}},
		{"--status must be a status", []string{"--status", "600"}},
		{"there is no secret", []string{"--secret", ""}},
		{"--service-name: service name", []string{"--service-name", ""}},
		{"--save " + notAFolder + " can't be used", []string{"--save", notAFolder}},
		{"--issuer gate.example.com is no address: write it like http://localhost:8080/signin",
			[]string{"--issuer", "gate.example.com", "--client-secret", "s"}},
		{"there is no secret to sign in with: give one with --client-secret",
			[]string{"--issuer", "http://localhost:8080/signin"}},
		{"`hiregate listen --help` lists the flags", []string{"--port", "1"}},
	} {
		cmd := Command()
		var out clitest.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs(append([]string{"--addr", "127.0.0.1:0", "--secret", secret}, test.args...))
		require.ErrorContains(t, cmd.ExecuteContext(t.Context()), test.want, "%v", test.args)
		require.NotContains(t, out.String(), "Usage:")
	}
}

func TestLifelineEndsThePartner(t *testing.T) {
	t.Parallel()
	stdin, parent := io.Pipe()
	cmd := Command()
	var out clitest.Buffer
	cmd.SetIn(stdin)
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--addr", "127.0.0.1:0", "--secret", secret, "--lifeline"})
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(t.Context()) }()
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "Ctrl-C ends") }, 5*time.Second,
		time.Millisecond)
	var addr string
	_, err := fmt.Sscanf(out.String(), "Listening at http://%s any path", &addr)
	require.NoError(t, err)
	addr = strings.TrimSuffix(addr, ",")

	_, err = parent.Write([]byte("still here\n"))
	require.NoError(t, err)
	select {
	case <-ended:
		require.Fail(t, "it ended before its input did")
	default:
	}
	require.NoError(t, parent.Close())
	require.NoError(t, <-ended)
	require.Eventually(t, func() bool { // another test may have had it meanwhile
		l, err := net.Listen("tcp", addr)
		return err == nil && l.Close() == nil
	}, 10*time.Second, 50*time.Millisecond, "the address is free again")
	require.Regexp(t, `(?m)^exports +0$`, out.String())
}

func TestInterruptDoesNotWaitForASlowAnswer(t *testing.T) {
	t.Parallel()
	var out clitest.Buffer
	p := newPartner(t, &out)
	ctx, interrupt := context.WithCancel(t.Context())
	p.manner.Store(&manner{status: 200, slow: time.Hour})
	answered := make(chan int)
	go func() { answered <- p.postUntil(ctx, webhook.EventExport, "u-1", bareExport) }()
	interrupt()
	require.Equal(t, 503, <-answered)
	p.manner.Store(&manner{status: 200})
	require.Equal(t, 200, p.post(webhook.EventExport, "u-1", bareExport))
	require.False(t, clitest.JSONLines[Entry](t, out.String(), "export")[1].Duplicate)
}

// newPartner is a partner without a server, so that a test can change how it answers.
func newPartner(t *testing.T, out io.Writer) *partner {
	names, err := webhook.NamesFor("Service")
	require.NoError(t, err)
	p := &partner{
		names: names, secret: secret, verifyStatus: 200,
		downloads: newDownloader(), journal: newJournal(out, true), seen: newMemory(10),
	}
	p.manner.Store(&manner{status: 200})
	return p
}

// A line on the lifeline changes how exports are answered; what is none changes nothing.
func TestPartnerIsDirected(t *testing.T) {
	t.Parallel()
	p := newPartner(t, new(clitest.Buffer))
	lines, directions := io.Pipe()
	cut := p.directed(lines)
	answers := func(status int) {
		t.Helper()
		require.Eventually(t, func() bool { return p.post(webhook.EventExport, "u-1", bareExport) == status },
			10*time.Second, 10*time.Millisecond)
	}
	fmt.Fprint(directions, "503 0s\n")
	answers(503)
	fmt.Fprint(directions, "no\n99 0s\n503\n204 -1s\n200 0s\n")
	answers(200)
	require.NoError(t, directions.Close())
	select {
	case <-cut:
	case <-time.After(10 * time.Second):
		require.FailNow(t, "the lifeline is not cut")
	}
}

// post hands the partner a signed request and returns the status.
func (p *partner) post(event, uuid string, body []byte) int {
	return p.postUntil(context.Background(), event, uuid, body)
}

// postUntil is post to a partner that ends with ctx.
func (p *partner) postUntil(ctx context.Context, event, uuid string, body []byte) int {
	r := httptest.NewRequest(http.MethodPost, "/acme", bytes.NewReader(body))
	r.Header.Set(p.names.Event, event)
	r.Header.Set(p.names.Signature, webhook.Sign(secret, body))
	if uuid != "" {
		r.Header.Set(p.names.UUID, uuid)
	}
	w := httptest.NewRecorder()
	p.serve(ctx, w, r)
	return w.Code
}

var bareExport = []byte(`{"candidate":{"person":{"id":{"value":"c-1"}}}}`)

func TestARetryIsNoDuplicate(t *testing.T) {
	t.Parallel()
	var out clitest.Buffer
	p := newPartner(t, &out)
	p.failRate = 1
	require.Equal(t, 500, p.post(webhook.EventExport, "u-1", bareExport))
	require.Equal(t, 500, p.post(webhook.EventExport, "u-1", bareExport))
	p.failRate = 0
	require.Equal(t, 200, p.post(webhook.EventExport, "u-1", bareExport))
	require.Equal(t, 200, p.post(webhook.EventExport, "u-1", bareExport))
	require.Equal(t, 200, p.post(webhook.EventExport, "", bareExport))
	require.Equal(t, 200, p.post(webhook.EventExport, "", bareExport))
	type seen struct {
		attempt   int
		duplicate bool
	}
	var got []seen
	for _, e := range clitest.JSONLines[Entry](t, out.String(), "export") {
		got = append(got, seen{e.Attempt, e.Duplicate})
	}
	require.Equal(t, []seen{{1, false}, {2, false}, {3, false}, {4, true}, {0, false}, {0, false}}, got)
}

func TestWhatIsNoEventIsRefused(t *testing.T) {
	t.Parallel()
	var out clitest.Buffer
	p := newPartner(t, &out)
	require.Equal(t, 400, p.post("", "u", bareExport))
	require.Equal(t, 400, p.post("CANDIDATE-DELETE", "u", bareExport))
	require.Equal(t, 400, p.post(webhook.EventExport, "u", []byte("{")))
	require.Equal(t, 400, p.post(webhook.EventExport, "u u", bareExport))
	require.Equal(t, 422, p.post(webhook.EventVerify, "", []byte(`{"data":"Other Verify Event"}`)))
	require.Equal(t, 422, p.post(webhook.EventVerify, "", []byte(`Service Verify Event`)))
	require.Equal(t, 413, p.post(webhook.EventExport, "u", make([]byte, maxBody+1)))
	require.Len(t, clitest.JSONLines[Entry](t, out.String(), "refused"), 7)

	p.secret = "" // however it came about, no secret is no signature
	require.Equal(t, 401, p.post(webhook.EventExport, "u", bareExport))
}

func TestLinesForPeople(t *testing.T) {
	t.Parallel()
	e := Entry{
		Kind: "export", At: time.Date(2026, 11, 12, 16, 4, 59, 123e6, time.UTC), Client: "acme", UUID: "u-1",
		Signature: true, Status: 200, Attempt: 1,
		Attachments: 2, Documents: []Download{{Bytes: 648}, {Error: "410 Gone"}},
	}
	require.Equal(t, "2026-11-12T16:04:59.123Z  export     acme  u-1  signature valid  2 documents (648 B, FAILED: "+
		"410 Gone)  answered 200", e.String())
	e.Documents, e.Downloading, e.Attempt, e.Duplicate, e.UUID, e.Client = nil, true, 2, true, "", "\x1b[2J"
	require.Equal(t, `2026-11-12T16:04:59.123Z  export     \x1b[2J  -  signature valid  2 documents (downloading)  answered 200  DUPLICATE`, e.String())
	e.Downloading, e.Duplicate, e.Attachments, e.Status, e.Note = false, false, 1, 0, "gone"
	require.Regexp(t, `1 document  not answered  attempt 2  gone$`, e.String())
	require.Equal(t, "2026-11-12T16:04:59.123Z  verify     acme  signature valid  answered 200",
		(&Entry{Kind: "verify", At: e.At, Client: "acme", Signature: true, Status: 200}).String())
	require.Equal(t, "2026-11-12T16:04:59.123Z  refused    acme  u-2  signature WRONG  answered 401",
		(&Entry{Kind: "refused", At: e.At, Client: "acme", UUID: "u-2", Status: 401}).String())
	require.Equal(t, "2026-11-12T16:04:59.123Z  documents  acme  u-1  1 document (2.0 kB)",
		(&Entry{Kind: "documents", At: e.At, Client: "acme", UUID: "u-1", Signature: true, Attachments: 1,
			Documents: []Download{{Bytes: 2000}}}).String())
}

func TestClientOfTheURL(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"/acme": "acme", "/acme/hooks?x=1": "acme", "/hooks?client=globex": "globex", "/": "", "": "",
		"/" + strings.Repeat("a", 100): strings.Repeat("a", 64),
	} {
		u, err := url.Parse(target)
		require.NoError(t, err)
		require.Equal(t, want, clientOf(u))
	}
}

func TestSlowDocumentsComeInASecondLine(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-release
		w.Write(clitest.PDF)
	}))
	t.Cleanup(server.Close)
	var out clitest.Buffer
	p := newPartner(t, &out)
	body := fmt.Appendf(nil, `{"candidate":{"profiles":[{"attachments":[{"url":%q}]}]}}`, server.URL)
	require.Equal(t, 200, p.post(webhook.EventExport, "u-1", body), "the answer waits for no document")
	require.Eventually(t, func() bool { return strings.Contains(out.String(), `"kind":"export"`) }, 5*time.Second,
		time.Millisecond)
	first := clitest.JSONLines[Entry](t, out.String(), "export")[0]
	require.True(t, first.Downloading)
	require.Empty(t, first.Documents)
	close(release)
	p.background.Wait()
	second := clitest.JSONLines[Entry](t, out.String(), "documents")[0]
	require.Equal(t, "u-1", second.UUID)
	require.Equal(t, int64(len(clitest.PDF)), second.Documents[0].Bytes)
	require.Equal(t, 1, p.journal.counts.Exports)
	require.Equal(t, 1, p.journal.counts.Documents)
}

func TestDownloads(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	mux := http.NewServeMux()
	answer := func(pattern, contentType, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			io.WriteString(w, body)
		})
	}
	answer("/object", "application/json; charset=utf-8",
		`{"content":"aGVsbG8=","mimeType":"text/plain","fileName":"../../zoe.txt"}`)
	answer("/raw", "application/pdf", string(clitest.PDF))
	answer("/broken", "application/json", `{"content":"aGVsbG8="`)
	answer("/no-base64", "application/json", `{"content":"*","mimeType":"text/plain","fileName":"a"}`)
	mux.HandleFunc("/soon", func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(503)
		}
	})
	mux.HandleFunc("/never", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(503)
	})
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) })
	mux.Handle("/moved", http.RedirectHandler("/object", http.StatusFound))
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "short")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	closed := httptest.NewServer(mux)
	closed.Close()

	d := newDownloader()
	d.pause = time.Millisecond
	folder := t.TempDir()
	paths := []string{"/object", "/raw", "/broken", "/no-base64", "/soon", "/never", "/gone", "/moved", "/cut"}
	attachments := []schemas.Attachment{{URL: closed.URL}, {URL: "::"}}
	for _, path := range paths {
		attachments = append(attachments, schemas.Attachment{URL: server.URL + path})
	}
	got := d.all(t.Context(), attachments, folder)
	require.Equal(t, Download{Error: "connection refused"}, got[0])
	require.Equal(t, Download{Error: "its URL is invalid"}, got[1])
	got = got[2:]
	require.Equal(t, Download{Bytes: 5, MIMEType: "text/plain"}, got[0])
	require.Equal(t, Download{Bytes: int64(len(clitest.PDF)), MIMEType: "application/pdf"}, got[1])
	require.Contains(t, got[2].Error, "this is not a Document object")
	require.Contains(t, got[3].Error, "this is not a Document object")
	require.Empty(t, got[4].Error)
	require.Equal(t, int32(3), asked.Load())
	require.Equal(t, Download{Error: "503 Service Unavailable"}, got[5])
	require.Equal(t, Download{Error: "410 Gone"}, got[6])
	require.Equal(t, Download{Error: "302 Found"}, got[7])
	require.Equal(t, Download{Error: "unexpected EOF"}, got[8])
	kept, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{
		filepath.Join(folder, "document-3.txt"), filepath.Join(folder, "document-4.pdf"), filepath.Join(folder, "document-7"),
	}, kept, "what broke off leaves nothing behind, and file names are ours")
	hidden, err := filepath.Glob(filepath.Join(folder, ".*"))
	require.NoError(t, err)
	require.Empty(t, hidden)
}

func TestInterruptedDownload(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(503)
	}))
	t.Cleanup(server.Close)
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan []Download)
	go func() { ended <- newDownloader().all(ctx, []schemas.Attachment{{URL: server.URL}}, "") }()
	interrupt()
	require.NotEmpty(t, (<-ended)[0].Error)
}

func TestArchiveNamesNothingOutsideItself(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a := archive(folder)
	for _, uuid := range []string{"8d9c6d1e-2d0b-4b8e-9a53-0d2f6a1d7e10", "../../etc/passwd", "..", ".", "a/b", `a\b`,
		".hidden", "nul:", strings.Repeat("a", 255)} {
		e := &Entry{UUID: uuid}
		require.Equal(t, folder, filepath.Dir(a.folder(e)), uuid)
		require.NoError(t, a.body(e, []byte(uuid)))
		body, err := os.ReadFile(filepath.Join(a.folder(e), "body.json"))
		require.NoError(t, err)
		require.Equal(t, uuid, string(body))
	}
	require.Equal(t, filepath.Join(folder, "8d9c6d1e-2d0b-4b8e-9a53-0d2f6a1d7e10"),
		a.folder(&Entry{UUID: "8d9c6d1e-2d0b-4b8e-9a53-0d2f6a1d7e10"}))
	require.Equal(t, filepath.Join(folder, "abc"), a.folder(&Entry{SHA256: "abc"}), "no UUID: the body's hash")
	info, err := os.Stat(filepath.Join(folder, "8d9c6d1e-2d0b-4b8e-9a53-0d2f6a1d7e10"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestWhatCannotBeSavedIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	var out clitest.Buffer
	p := newPartner(t, &out)
	p.archive = archive(clitest.File(t, "file", nil))
	require.Equal(t, 500, p.post(webhook.EventExport, "u-1", bareExport))
	require.Contains(t, clitest.JSONLines[Entry](t, out.String(), "export")[0].Note, "it could not be saved: ")
	p.archive = ""
	require.Equal(t, 200, p.post(webhook.EventExport, "u-1", bareExport))
	require.False(t, clitest.JSONLines[Entry](t, out.String(), "export")[1].Duplicate)
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := newMemory(3)
	for _, key := range []string{"a", "b", "c", "a"} {
		m.arrive(key)
	}
	require.True(t, m.acknowledge("a"))
	require.False(t, m.acknowledge("a"))
	m.arrive("d") // forgets a, the oldest
	require.Equal(t, 3, m.seen.Len())
	attempt, acknowledged := m.arrive("a") // forgets b
	require.Equal(t, 1, attempt)
	require.False(t, acknowledged)
	attempt, _ = m.arrive("c")
	require.Equal(t, 2, attempt)
	require.Equal(t, 3, m.seen.Len())
}
