package documents_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zapcore"

	archive "github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/sample"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	unknown = "there is no document at this address"
	ended   = "this document's address has ended: ask for the export to be redelivered, or for the candidate " +
		"to be exported again"
	lost     = "this document could not be had from where it was: ask for a new export"
	scanning = "this document is still being scanned: ask again after the time in Retry-After"
	fetching = "this document is still being fetched: ask again after the time in Retry-After"
	unread   = "this document can't be read now: ask again later"
)

func TestDocumentIsServed(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	pdf := resume(t)
	path, _ := b.add(t, pdf, b.Clock.Now().Add(time.Hour), func(d *model.Document) { d.FileName = "resume.pdf" })
	for _, c := range []struct{ accept, kind, name string }{
		{"", "application/json", "resume.pdf.json"},
		{"*/*", "application/json", "resume.pdf.json"},
		{"application/octet-stream", "application/octet-stream", "resume.pdf"},
	} {
		get, head := b.ask(http.MethodGet, path, c.accept), b.ask(http.MethodHead, path, c.accept)
		require.Equal(t, http.StatusOK, get.Code)
		require.Equal(t, http.StatusOK, head.Code)
		require.Equal(t, http.Header{
			"Content-Type": {c.kind}, "Content-Length": {strconv.Itoa(get.Body.Len())}, "Etag": get.Header()["Etag"],
			"Content-Disposition": {`attachment; filename="` + c.name + `"`},
			"Cache-Control":       {"private, no-store"}, "X-Content-Type-Options": {"nosniff"}, "Vary": {"Accept"},
		}, without(get.Header(), "Accept-Ranges"))
		require.Equal(t, c.kind == "application/octet-stream", get.Header().Get("Accept-Ranges") == "bytes")
		require.Equal(t, get.Header(), head.Header())
		require.Empty(t, head.Body.String())
		if c.kind == "application/octet-stream" {
			require.Equal(t, pdf, get.Body.Bytes())
			continue
		}
		d := json.NewDecoder(get.Body)
		d.DisallowUnknownFields()
		var object document
		require.NoError(t, d.Decode(&object))
		require.Equal(t, document{pdf, "application/pdf", "resume.pdf"}, object)
	}
	require.Zero(t, b.Logged.FilterLevelExact(zapcore.ErrorLevel).Len())
}

// without is a header without one of its fields.
func without(h http.Header, field string) http.Header {
	h = h.Clone()
	h.Del(field)
	return h
}

// A range of a file that was damaged elsewhere is not served either, and no part of it.
func TestRangeOfADamagedFile(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	content := bytes.Repeat([]byte("x"), 1<<20)
	path, blob := b.add(t, content, b.Clock.Now().Add(time.Hour), func(*model.Document) {})
	ask := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "https://gate.example.com"+path, nil)
		r.Header.Set("Accept", "application/octet-stream")
		r.Header.Set("Range", "bytes=0-9")
		b.ServeHTTP(w, r)
		return w
	}
	w := ask()
	require.Equal(t, http.StatusPartialContent, w.Code)
	require.Equal(t, content[:10], w.Body.Bytes())
	changed := bytes.Clone(content)
	changed[1<<19] ^= 1
	require.NoError(t, os.WriteFile(filepath.Join(b.Folder, "documents", blob[:2], blob), changed, 0o600))
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { ask() })
}

func TestDeclaredTypeIsServed(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	path, _ := b.add(t, []byte("plain"), b.Clock.Now().Add(time.Hour),
		func(d *model.Document) { d.Declared, d.FileName = "text/richtext", "Zoë's.rtx" })
	var object document
	require.NoError(t, json.Unmarshal(b.ask(http.MethodGet, path).Body.Bytes(), &object))
	require.Equal(t, document{[]byte("plain"), "text/richtext", "Zoë's.rtx"}, object)

	for _, unknown := range []string{"application/octet-stream", "binary/octet-stream"} {
		path, _ = b.add(t, resume(t), b.Clock.Now().Add(time.Hour), func(d *model.Document) { d.Declared = unknown })
		require.NoError(t, json.Unmarshal(b.ask(http.MethodGet, path).Body.Bytes(), &object))
		require.Equal(t, "application/pdf", object.MimeType, "what is detected says more than %s", unknown)
	}
}

func TestUnknownDocument(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	path, _ := b.add(t, []byte("x"), b.Clock.Now().Add(time.Hour), func(*model.Document) {})
	token := path[len("/documents/"):]
	other, _ := archive.NewToken()
	for _, p := range []string{"/documents/" + other, "/documents/", "/documents", "/", "/documents/x", path + "/",
		path + "=", path + "A", path[:len(path)-1],
		"/documents/" + token[:42] + "é", "/documents/" + token + "\n", "/documents/../" + token[1:]} {
		b.requireProblem(t, p, http.StatusNotFound, unknown)
	}
	require.Equal(t, http.StatusOK, b.ask(http.MethodGet, path).Code)
}

func TestOtherMethodsAreRefused(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	path, _ := b.add(t, []byte("x"), b.Clock.Now().Add(time.Hour), func(*model.Document) {})
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "get"} {
		for _, p := range []string{path, "/documents/x"} {
			got := b.ask(method, p)
			require.Equal(t, http.StatusMethodNotAllowed, got.Code)
			require.Equal(t, "GET, HEAD", got.Header().Get("Allow"))
			require.JSONEq(t, `{"title":"Method Not Allowed","status":405,"detail":"this address takes GET, HEAD only"}`,
				got.Body.String())
		}
	}
}

func TestAddressEndsOnTime(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	path, _ := b.add(t, []byte("x"), b.Clock.Now().Add(model.DocumentWindow), func(*model.Document) {})
	b.Clock.Advance(150*time.Minute - time.Microsecond)
	require.Equal(t, http.StatusOK, b.ask(http.MethodGet, path).Code)
	b.Clock.Advance(time.Microsecond)
	b.requireProblem(t, path, http.StatusGone, ended)
	b.Clock.Advance(1000 * time.Hour)
	b.requireProblem(t, path, http.StatusGone, ended)
	// A redelivery moves the end.
	b.Write(t, func(tx *store.Tx) error { return tx.ExtendLinks(b.export.ID, b.Clock.Now().Add(model.LinkWindow)) })
	require.Equal(t, http.StatusOK, b.ask(http.MethodGet, path).Code)
	b.Clock.Advance(96 * time.Hour)
	b.requireProblem(t, path, http.StatusGone, ended)
}

func TestDocumentThatIsStillFetched(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	now := b.Clock.Now()
	for wait, header := range map[time.Duration]string{0: "1", 5 * time.Second: "5", 1500 * time.Millisecond: "2",
		2 * time.Minute: "60", -time.Hour: "1"} {
		path, _ := b.add(t, nil, now.Add(time.Hour), func(d *model.Document) { d.NextAt = now.Add(wait) })
		b.requireProblem(t, path, http.StatusServiceUnavailable, fetching, "Retry-After", header)
	}
	path, _ := b.add(t, nil, now.Add(time.Hour), func(d *model.Document) {}) // the first try is under way
	b.requireProblem(t, path, http.StatusServiceUnavailable, fetching, "Retry-After", "1")
	b.Clock.Advance(time.Hour)
	b.requireProblem(t, path, http.StatusGone, ended)
}

func TestDocumentThatIsStillScanned(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	path, _ := b.add(t, []byte("x"), b.Clock.Now().Add(time.Hour), func(d *model.Document) { d.State = model.Scanning })
	b.requireProblem(t, path, http.StatusServiceUnavailable, scanning, "Retry-After", "5")
	b.Clock.Advance(time.Hour)
	b.requireProblem(t, path, http.StatusGone, ended)
}

func TestDocumentThatNeverComes(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	path, _ := b.add(t, nil, b.Clock.Now().Add(time.Hour),
		func(d *model.Document) { d.State, d.Reason = model.GivenUp, "it answered 404 to Zoë" })
	b.requireProblem(t, path, http.StatusGone, lost)
}

func TestFileGoneFromTheDisk(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	path, blob := b.add(t, []byte("x"), b.Clock.Now().Add(time.Hour), func(d *model.Document) { d.FileName = "Zoë.pdf" })
	require.NoError(t, os.Remove(filepath.Join(b.Folder, "documents", blob[:2], blob)))
	b.requireProblem(t, path, http.StatusServiceUnavailable, unread, "Retry-After", "60")
	entries := b.Logged.FilterMessage(
		"a stored document can't be read: restore the document store, or the database, from a backup").All()
	require.Len(t, entries, 1)
	for _, entry := range entries {
		require.NotContains(t, fmt.Sprint(entry.ContextMap()), path[len("/documents/"):], "the address is a credential")
		require.NotContains(t, fmt.Sprint(entry.ContextMap()), "Zoë")
	}
	require.Equal(t, http.StatusMethodNotAllowed, b.ask("POST", path).Code)
}

// A file that was damaged on the disk is not served as if it were whole: the connection breaks before its end, and the log
// and the status say so once, until it is restored.
func TestDamagedFileIsNotServedAsAWhole(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, size := range []int{10, 1 << 20} {
		for _, at := range []int{0, size / 2, size - 1} {
			content := bytes.Repeat([]byte("x"), size)
			path, blob := b.add(t, content, b.Clock.Now().Add(time.Hour), func(*model.Document) {})
			file := filepath.Join(b.Folder, "documents", blob[:2], blob)
			changed := bytes.Clone(content)
			changed[at] ^= 1
			require.NoError(t, os.WriteFile(file, changed, 0o600))
			b.Logged.TakeAll()
			for _, accept := range []string{"application/json", "application/octet-stream"} {
				w := httptest.NewRecorder()
				r := httptest.NewRequest(http.MethodGet, "https://gate.example.com"+path, nil)
				r.Header.Set("Accept", accept)
				require.PanicsWithValue(t, http.ErrAbortHandler, func() { b.ServeHTTP(w, r) })
				whole, err := strconv.Atoi(w.Header().Get("Content-Length"))
				require.NoError(t, err)
				require.Less(t, w.Body.Len(), whole)
			}
			require.Equal(t, 1, b.Logged.FilterLevelExact(zapcore.ErrorLevel).Len())
			require.Equal(t, []model.Need{{Kind: model.NeedDocuments, Tenant: "acme",
				Sentence: "acme: stored documents that are damaged or gone, and are not served: 1; restore the document store, or the " +
					"database, from a backup; the log names them", Action: "hiregate healthcheck"}}, b.needs(t))
			require.NoError(t, os.WriteFile(file, content, 0o600))
			require.Equal(t, content, b.ask(http.MethodGet, path, "application/octet-stream").Body.Bytes(), "it was restored")
			require.Empty(t, b.needs(t))
		}
	}
}

// Half of a document must not look like all of it, also to what is between us and its reader, and may have dropped
// Content-Length.
func TestDocumentThatIsCutOffLooksBroken(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for n, accept := range []string{"application/json", "application/octet-stream"} {
		path, blob := b.add(t, make([]byte, 1<<20), b.Clock.Now().Add(time.Hour), func(*model.Document) {})
		w := &stalled{ResponseRecorder: httptest.NewRecorder(), begun: make(chan struct{}), goOn: make(chan struct{})}
		truncated := make(chan error, 1)
		go func() {
			<-w.begun
			truncated <- os.Truncate(filepath.Join(b.Folder, "documents", blob[:2], blob), 1<<19)
			close(w.goOn)
		}()
		r := httptest.NewRequest(http.MethodGet, "https://gate.example.com"+path, nil)
		r.Header.Set("Accept", accept)
		require.PanicsWithValue(t, http.ErrAbortHandler, func() { b.ServeHTTP(w, r) }, accept)
		require.NoError(t, <-truncated)
		require.Less(t, w.Body.Len(), 1<<20, accept)
		require.Equal(t, n+1, b.Logged.FilterLevelExact(zapcore.ErrorLevel).Len())
	}
}

// Whoever takes long to download keeps nobody from closing the database.
func TestDownloadHoldsNoStore(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	path, _ := b.add(t, resume(t), b.Clock.Now().Add(time.Hour), func(*model.Document) {})
	w := &stalled{ResponseRecorder: httptest.NewRecorder(), begun: make(chan struct{}), goOn: make(chan struct{})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		b.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "https://gate.example.com"+path, nil))
	}()
	<-w.begun
	closed := make(chan error, 1)
	go func() { closed <- b.Runtime.Store().Close() }()
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		require.Fail(t, "closing waits for a download")
	}
	close(w.goOn)
	<-served
	var got document
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	require.Equal(t, resume(t), got.Content)
}

// stalled is a client that reads nothing until it goes on.
type stalled struct {
	*httptest.ResponseRecorder
	once        sync.Once
	begun, goOn chan struct{}
}

func (s *stalled) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.begun) })
	<-s.goOn
	return s.ResponseRecorder.Write(p)
}

func TestStoreAway(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	path, _ := b.add(t, []byte("x"), b.Clock.Now().Add(time.Hour), func(*model.Document) {})
	require.NoError(t, b.Runtime.Store().Close())
	got := b.ask(http.MethodGet, path)
	require.Equal(t, http.StatusServiceUnavailable, got.Code)
	require.Equal(t, "5", got.Header().Get("Retry-After"))
	b.requireProblem(t, "/documents/x", http.StatusNotFound, unknown) // that much is known without it
}

// The document of a test export is there for everybody, as any other document.
func TestDocumentOfATestExport(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	raw, _, _ := sample.Resume()
	w := b.ask(http.MethodGet, "/documents/"+sample.DocumentToken, "application/octet-stream")
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, raw, w.Body.Bytes())
	w = b.ask(http.MethodGet, "/documents/"+sample.DocumentToken)
	var object struct{ Content, MimeType, FileName string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &object))
	require.Equal(t, "application/pdf", object.MimeType)
	require.Equal(t, "test-export.pdf", object.FileName)
}
