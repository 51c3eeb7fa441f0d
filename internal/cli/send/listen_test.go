package send

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/clitest"
	"github.com/hiregate/hiregate/internal/cli/listen"
)

func TestExportWithDocumentsReachesThePartner(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	receiver := startListener(t, "--save", folder)
	text := []byte(strings.Repeat("licensed. ", 1000))
	out, _, err := sendToPartner(t, receiver.url+"/acme/hooks", "--secret", secret, "--payload", fullExport,
		"--document", clitest.File(t, "zoe-odegard.pdf", clitest.PDF), "--document", clitest.File(t, "licence.txt", text))
	require.NoError(t, err)
	require.Regexp(t, `^200 OK in \d`, out)
	require.Contains(t, out, "Every document was fetched (2 of 2); the sender is gone.")

	e := receiver.entries("export", 1)[0]
	require.True(t, e.Signature)
	require.Equal(t, "acme", e.Client)
	require.Equal(t, 200, e.Status)
	require.Equal(t, 1, e.Attempt)
	require.False(t, e.Duplicate)
	require.Equal(t, []listen.Download{
		{Bytes: int64(len(clitest.PDF)), MIMEType: "application/pdf"},
		{Bytes: int64(len(text)), MIMEType: "text/plain"},
	}, e.Documents)
	require.Contains(t, out, e.UUID)

	body, err := os.ReadFile(filepath.Join(folder, e.UUID, "body.json"))
	require.NoError(t, err)
	sum := sha256.Sum256(body)
	require.Equal(t, hex.EncodeToString(sum[:]), e.SHA256)
	for name, want := range map[string][]byte{"document-1.pdf": clitest.PDF, "document-2.txt": text} {
		got, err := os.ReadFile(filepath.Join(folder, e.UUID, name))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	sent, err := os.ReadFile(fullExport)
	require.NoError(t, err)
	urls := regexp.MustCompile(`"url": "[^"]*"`)
	require.Equal(t, urls.ReplaceAllString(string(sent), ""), urls.ReplaceAllString(string(body), ""),
		"only the URLs differ")
	require.NotContains(t, string(body), "127.0.0.1:9099")

	require.NoError(t, receiver.stop())
	for _, personal := range []string{"Zoë", "degard", "zoe", "licence", "http://127.0.0.1:"} {
		require.NotContains(t, strings.SplitN(receiver.out.String(), "\n", 2)[1], personal)
	}
	require.Equal(t, listen.Counts{
		Kind: "summary", Exports: 1, Acknowledged: 1, Documents: 2, Bytes: int64(len(clitest.PDF) + len(text)),
	}, withoutSince(clitest.JSONLines[listen.Counts](t, receiver.out.String(), "summary")[0]))
}

func withoutSince(c listen.Counts) listen.Counts {
	c.Since = time.Time{}
	return c
}

func TestFilesAreServedInTurn(t *testing.T) {
	t.Parallel()
	receiver := startListener(t)
	out, _, err := sendToPartner(t, receiver.url+"/in?client=globex", "--secret", secret, "--payload", fullExport,
		"--document", clitest.File(t, "resume.pdf", clitest.PDF), "--json")
	require.NoError(t, err)
	e := receiver.entries("export", 1)[0]
	require.Equal(t, "globex", e.Client)
	require.Equal(t, []listen.Download{
		{Bytes: int64(len(clitest.PDF)), MIMEType: "application/pdf"},
		{Bytes: int64(len(clitest.PDF)), MIMEType: "application/pdf"},
	}, e.Documents)
	require.Equal(t, []fetches{{Kind: "documents", Expected: 2, Fetched: 2}},
		clitest.JSONLines[fetches](t, out, "documents"))
}

func TestMinimalExportHasAnAttachmentForEachDocument(t *testing.T) {
	t.Parallel()
	receiver := startListener(t)
	path := clitest.File(t, "a.pdf", clitest.PDF)
	out, _, err := sendToPartner(t, receiver.url+"/acme",
		"--secret", secret, "--document", path, "--document", path, "--document",
		path)
	require.NoError(t, err)
	require.Contains(t, out, "(3 of 3)")
	require.Len(t, receiver.entries("export", 1)[0].Documents, 3)
}

func TestSenderSaysWhichDocumentsNobodyFetched(t *testing.T) {
	t.Parallel()
	receiver := startListener(t, "--no-download")
	out, _, err := sendToPartner(t, receiver.url+"/acme",
		"--secret", secret, "--document", clitest.File(t, "a.pdf", clitest.PDF),
		"--wait", "20ms")
	require.NoError(t, err)
	require.Contains(t, out, "Only 0 of 1 documents were fetched within 20ms; the sender is gone.")
	require.Empty(t, receiver.entries("export", 1)[0].Documents)
	require.Equal(t, 1, receiver.entries("export", 1)[0].Attachments)
}

func TestWaitingForDocumentsCanBeInterrupted(t *testing.T) {
	t.Parallel()
	receiver := startListener(t, "--no-download")
	ctx, interrupt := context.WithCancel(t.Context())
	var out string
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		out, _, err = sendIn(t, ctx, receiver.url+"/acme", "--secret", secret, "--any-2xx", "--document",
			clitest.File(t, "a.pdf", clitest.PDF), "--wait", "1h")
	}()
	require.Never(t, func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	}, 200*time.Millisecond, 10*time.Millisecond, "it waits")
	interrupt()
	<-ended
	require.NoError(t, err)
	require.Contains(t, out, "Interrupted when 0 of 1 documents were fetched; the sender is gone.")
}

func TestWrongSecret(t *testing.T) {
	t.Parallel()
	receiver := startListener(t)
	out, _, err := sendToPartner(t, receiver.url+"/acme", "--secret", "another", "--document",
		clitest.File(t, "a.pdf", clitest.PDF))
	require.EqualError(t, err, "1 of 1 were not acknowledged")
	require.Regexp(t, `^401 Unauthorized in [^ ]+: the receiver does not take the signature; check --secret\n`, out)
	require.NotContains(t, out, "document", "a refused export's documents are not waited for")
	e := receiver.entries("refused", 1)[0]
	require.False(t, e.Signature)
	require.Equal(t, 401, e.Status)
}

// Caddy answers so where no site has anything.
func TestWrongPath(t *testing.T) {
	t.Parallel()
	nothing := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }))
	defer nothing.Close()
	out, _, err := send(t, nothing.URL+"/hook/acme", "--secret", secret)
	require.EqualError(t, err, "1 of 1 were not acknowledged")
	require.Regexp(t, `^404 Not Found in [^ ]+: nothing is at this address: check the path in the URL, such as /hooks/acme\n`,
		out)
}

func TestVerify(t *testing.T) {
	t.Parallel()
	receiver := startListener(t)
	out, _, err := sendToPartner(t, receiver.url+"/acme", "--secret", secret, "--event", "verify")
	require.NoError(t, err)
	require.Regexp(t, `^200 OK in `, out)
	require.NotContains(t, out, "uuid")
	e := receiver.entries("verify", 1)[0]
	require.Equal(t, 200, e.Status)
	require.Empty(t, e.UUID)
	require.True(t, e.Signature)

	strict := startListener(t, "--service-name", "Acme")
	_, _, err = send(t, strict.url+"/acme", "--secret", secret, "--event", "VERIFY", "--service-name", "Acme")
	require.NoError(t, err)
}

func TestVerifyWantsExactly200(t *testing.T) {
	t.Parallel()
	receiver := startListener(t, "--verify-status", "201")
	out, _, err := sendToPartner(t, receiver.url+"/acme", "--secret", secret, "--event", "VERIFY")
	require.EqualError(t, err, "1 of 1 were not acknowledged")
	require.Regexp(t, `^201 Created in [^ ]+: VERIFY wants exactly 200\n`, out)
	require.Equal(t, 201, receiver.entries("verify", 1)[0].Status)

	_, _, err = sendToPartner(t, receiver.url+"/acme", "--secret", secret)
	require.NoError(t, err, "--verify-status leaves exports alone")
}

func TestStatusAndFailRate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		flag, value string
		status      int
		text, why   string
	}{
		{"--status", "202", 202, "202 Accepted", ""},
		{"--status", "204", 204, "204 No Content", ""},
		{"--status", "302", 302, "302 Found", ": a redirect is not followed and counts as not received"},
		{"--status", "410", 410, "410 Gone", ""},
		{"--fail-rate", "1", 500, "500 Internal Server Error", ""},
		{"--fail-rate", "0", 200, "200 OK", ""},
	} {
		receiver := startListener(t, test.flag, test.value)
		out, _, err := sendToPartner(t, receiver.url+"/acme", "--secret", secret)
		require.Equal(t, test.status/100 == 2, err == nil)
		require.Regexp(t, `^`+test.text+` in [^ ]+`+test.why+`\n`, out)
		require.Equal(t, test.status, receiver.entries("export", 1)[0].Status)

		_, _, err = sendToPartner(t, receiver.url+"/acme", "--secret", secret, "--event", "VERIFY")
		require.NoError(t, err, "they are about exports")
	}
}

func TestSlowPartner(t *testing.T) {
	t.Parallel()
	receiver := startListener(t, "--slow", "1s")
	out, _, err := sendToPartner(t, receiver.url+"/acme", "--secret", secret, "--json")
	require.NoError(t, err)
	require.GreaterOrEqual(t, clitest.JSONLines[answer](t, out, "answer")[0].Millis, 1000.0)

	out, _, err = sendToPartner(t, receiver.url+"/acme", "--secret", secret, "--timeout", "400ms")
	require.EqualError(t, err, "1 of 1 were not acknowledged")
	require.Regexp(t, `^no answer from 127\.0\.0\.1:\d+ within 400ms: look at the receiver, or raise --timeout\n`, out)
	hungUp := receiver.entries("export", 2)[1]
	require.Zero(t, hungUp.Status)
	require.Equal(t, "the sender hung up before the answer", hungUp.Note)
}

func TestManyAreCountedRight(t *testing.T) {
	t.Parallel()
	receiver := startListener(t)
	out, log, err := sendToPartner(t, receiver.url+"/acme",
		"--secret", secret, "--count", "200", "--concurrency", "16", "--json")
	require.NoError(t, err)
	require.Empty(t, log)
	uuids := map[string]bool{}
	for _, a := range clitest.JSONLines[answer](t, out, "answer") {
		require.True(t, a.Accepted)
		uuids[a.UUID] = true
	}
	require.Len(t, uuids, 200)
	s := clitest.JSONLines[summary](t, out, "summary")[0]
	require.Equal(t, 200, s.Requested)
	require.Equal(t, 200, s.Answered)
	require.Equal(t, 200, s.Accepted)
	require.Equal(t, map[int]int{200: 200}, s.Statuses)
	require.Empty(t, s.Reasons)
	require.Positive(t, s.P50Millis)
	require.LessOrEqual(t, s.P50Millis, s.P99Millis)

	hashes := map[string]bool{}
	for _, e := range receiver.entries("export", 200) {
		require.True(t, uuids[e.UUID])
		require.False(t, e.Duplicate)
		hashes[e.SHA256] = true
	}
	require.Len(t, hashes, 1, "the bodies are equal")
}

func TestManyWithFailures(t *testing.T) {
	t.Parallel()
	receiver := startListener(t, "--fail-rate", "0.5")
	out, _, err := sendToPartner(t, receiver.url+"/acme", "--secret", secret, "--count", "100")
	require.ErrorContains(t, err, " of 100 were not acknowledged")
	require.Regexp(t, `(?m)^ANSWER +COUNT$`, out)
	require.Regexp(t, `(?m)^200 OK +\d+$`, out)
	require.Regexp(t, `(?m)^500 Internal Server Error +\d+$`, out)
	require.Regexp(t, `(?m)^100 answers in .*: \d+\.\d/s; p50 .*, p95 .*, p99 .*$`, out)
	require.NoError(t, receiver.stop())
	c := clitest.JSONLines[listen.Counts](t, receiver.out.String(), "summary")[0]
	require.Equal(t, 100, c.Exports)
	require.Greater(t, c.Acknowledged, 0)
	require.Less(t, c.Acknowledged, 100)
}

func TestManyFetchTheirDocumentsEach(t *testing.T) {
	t.Parallel()
	receiver := startListener(t)
	out, _, err := sendToPartner(t, receiver.url+"/acme", "--secret", secret, "--count", "10", "--document",
		clitest.File(t, "a.pdf", clitest.PDF), "--json")
	require.NoError(t, err)
	require.Equal(t, fetches{Kind: "documents", Expected: 10, Fetched: 10},
		clitest.JSONLines[fetches](t, out, "documents")[0])
	for _, e := range receiver.entries("export", 10) {
		require.Empty(t, e.Documents[0].Error)
	}
}

func TestRepetitionsAreDuplicates(t *testing.T) {
	t.Parallel()
	receiver := startListener(t)
	out, _, err := sendToPartner(t, receiver.url+"/acme",
		"--secret", secret, "--count", "8", "--uuid", "the/same", "--document",
		clitest.File(t, "a.pdf", clitest.PDF))
	require.NoError(t, err)
	require.Contains(t, out, "(1 of 1)", "repetitions fetch nothing")
	firsts := 0
	for _, e := range receiver.entries("export", 8) {
		require.Equal(t, "the/same", e.UUID)
		if !e.Duplicate {
			firsts++
			require.Len(t, e.Documents, 1)
		}
	}
	require.Equal(t, 1, firsts)

	_, _, err = sendToPartner(t, receiver.url+"/globex", "--secret", secret, "--uuid", "the/same")
	require.NoError(t, err)
	require.False(t, receiver.entries("export", 9)[8].Duplicate, "another client's")
}

func TestRateIsKept(t *testing.T) {
	t.Parallel()
	receiver := startListener(t)
	out, _, err := sendToPartner(t, receiver.url+"/acme",
		"--secret", secret, "--count", "5", "--rate", "20/s", "--json")
	require.NoError(t, err)
	require.GreaterOrEqual(t, clitest.JSONLines[summary](t, out, "summary")[0].Seconds, 0.19)
}

func TestInterruptedRunSumsUp(t *testing.T) {
	t.Parallel()
	receiver := startListener(t, "--slow", "20ms")
	ctx, interrupt := context.WithCancel(t.Context())
	var out string
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		out, _, err = sendIn(t, ctx, receiver.url+"/acme", "--secret", secret, "--any-2xx", "--count", "100000",
			"--concurrency", "1", "--json")
	}()
	require.Eventually(t, func() bool { return strings.Count(receiver.out.String(), `"kind":"export"`) >= 3 },
		10*time.Second, time.Millisecond)
	interrupt()
	<-ended
	require.ErrorContains(t, err, " of 100000 were not acknowledged")
	s := clitest.JSONLines[summary](t, out, "summary")[0]
	require.Positive(t, s.Accepted)
	require.LessOrEqual(t, s.Interrupted, 1) // none, when it fell between two requests
	require.Equal(t, 100000, s.Answered+s.Failed+s.Interrupted+s.NotSent)
	require.Zero(t, s.Failed)
	require.Empty(t, s.Reasons)
}

func get(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(body)
}

func TestStatusPage(t *testing.T) {
	t.Parallel()
	receiver := startListener(t)
	_, _, err := sendToPartner(t, receiver.url+"/acme", "--secret", secret, "--count", "3")
	require.NoError(t, err)
	receiver.entries("export", 3)
	resp, page := get(t, receiver.url+"/")
	require.Equal(t, 200, resp.StatusCode)
	require.Regexp(t, `(?m)^exports +3\n +acknowledged +3\n +duplicates +0$`, page)

	resp, _ = get(t, receiver.url+"/hooks/acme")
	require.Equal(t, 405, resp.StatusCode)
	require.Equal(t, "POST", resp.Header.Get("Allow"))
}
