package manageapi_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDocumentsAreAdded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	const docs = application + "/documents"
	a := b.must(http.StatusCreated, http.MethodPost,
		docs+"?id=doc-1&fileName=R%C3%A9sum%C3%A9.pdf&description=Resume&description=2026", "%PDF-1.7 file", "Content-Type",
		"application/pdf; v=1")
	require.Equal(t, docs+"/doc-1", a.header.Get("Location"))
	require.JSONEq(t, fmt.Sprintf(`{"id":"doc-1","tenant":"acme","jobApplication":"a-1","fileName":"Résumé.pdf","mediaType":"application/pdf","descriptions":["Resume","2026"],
		"size":13,"sha256":"%x","createdAt":"2026-11-20T12:00:00Z"}`, sha256.Sum256([]byte("%PDF-1.7 file"))), a.body)
	require.Equal(t, a.body, b.must(http.StatusOK, http.MethodGet, docs+"/doc-1", "").body)
	stored, err := b.Runtime.Store().ApplicationDocument(t.Context(), "acme", "a-1", "doc-1")
	require.NoError(t, err)
	file, _, err := b.Runtime.Archive.Files.Open(stored.Blob)
	require.NoError(t, err)
	defer file.Close()
	content, err := io.ReadAll(file)
	require.NoError(t, err)
	require.Equal(t, "%PDF-1.7 file", string(content))

	made := parsed[struct{ ID, MediaType string }](b, b.must(http.StatusCreated, http.MethodPost, docs, "%PDF-1.7 other",
		"Content-Type", ""))
	require.NotEmpty(t, made.ID)
	require.Equal(t, "application/pdf", made.MediaType, "told by its content")
	require.Equal(t, []string{"doc-1", made.ID}, ids(b, docs))
	require.Len(t, b.files(), 2)

	b.must(http.StatusNoContent, http.MethodDelete, docs+"/doc-1", "")
	b.must(http.StatusNotFound, http.MethodDelete, docs+"/doc-1", "")
	b.must(http.StatusNotFound, http.MethodGet, docs+"/doc-1", "")
	require.NoError(t, b.Runtime.Archive.Sweep(t.Context(), b.Clock.Now()))
	require.Len(t, b.files(), 2, "it goes an hour later: somebody may be reading it")
	require.NoError(t, b.Runtime.Archive.Sweep(t.Context(), b.Clock.Now().Add(time.Second)))
	require.Len(t, b.files(), 1)
	b.must(http.StatusNoContent, http.MethodDelete, application, "")
	require.NoError(t, b.Runtime.Archive.Sweep(t.Context(), b.Clock.Now().Add(time.Second)))
	require.Empty(t, b.files(), "the file of an application that is deleted")
	b.requireCleanLog()
}

// A Document object keeps the file's name out of the address.
func TestDocumentObjectsAreAdded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	const docs = application + "/documents"
	a := b.must(http.StatusCreated, http.MethodPost, docs+"?id=doc-1&description=Resume",
		`{"fileName":"Résumé.pdf","content":"JVBERi0xLjcgZmlsZQ==","mimeType":"application/pdf"}`,
		"Content-Type", "application/json")
	require.JSONEq(t, fmt.Sprintf(`{"id":"doc-1","tenant":"acme","jobApplication":"a-1","fileName":"Résumé.pdf","mediaType":"application/pdf","descriptions":["Resume"],
		"size":13,"sha256":"%x","createdAt":"2026-11-20T12:00:00Z"}`, sha256.Sum256([]byte("%PDF-1.7 file"))), a.body)
	large := base64.StdEncoding.EncodeToString(make([]byte, 25<<20))
	b.must(http.StatusCreated, http.MethodPost, docs+"?id=large", `{"content":"`+large+`"}`, "Content-Type",
		"application/json")
	for body, want := range map[string]struct {
		status int
		detail string
	}{
		`{"content":"JVBE"`:                        {http.StatusUnprocessableEntity, "Document object"},
		`{"content":"J~"}`:                         {http.StatusUnprocessableEntity, "base64"},
		`{"mimeType":"application/pdf"}`:           {http.StatusUnprocessableEntity, "no content"},
		`{"content":""}`:                           {http.StatusUnprocessableEntity, "empty"},
		`{"content":"JVBE","mimeType":"a\u0007"}`:  {http.StatusUnprocessableEntity, "mimeType is no media type"},
		`{"content":"JVBE","mimeType":"nonsense"}`: {http.StatusUnprocessableEntity, "mimeType is no media type"},
	} {
		require.Contains(t, b.refused(want.status, http.MethodPost, docs+"?id=other", body, "Content-Type",
			"application/json"), want.detail)
	}
	require.Contains(t, b.refused(http.StatusBadRequest, http.MethodPost, docs+"?fileName=a.pdf", `{"content":"JVBE"}`,
		"Content-Type", "application/json"), "fileName in it")
	require.Equal(t, []string{"doc-1", "large"}, ids(b, docs))
	require.Len(t, b.files(), 2, "a file of what was refused is left")
}

// Nothing of what is refused stays on the disk.
func TestDocumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	const docs = application + "/documents"
	b.must(http.StatusCreated, http.MethodPost, docs+"?id=doc-1", "file")
	for query, want := range map[string]struct {
		status       int
		body, detail string
	}{
		"?id=doc-1":       {http.StatusConflict, "other", "a document of that id"},
		"?id=doc-2":       {http.StatusUnprocessableEntity, "", "the file is empty"},
		"?fileName=a%2Fb": {http.StatusUnprocessableEntity, "x", "has a folder in it"},
		"?id=a%07":        {http.StatusUnprocessableEntity, "x", "control characters"},
		"?id=a&id=b":      {http.StatusBadRequest, "x", "send each once"},
		"?name=a":         {http.StatusBadRequest, "x", "known are id, fileName, description"},
	} {
		require.Contains(t, b.problem(http.MethodPost, docs+query, want.body, want.status), want.detail)
	}
	require.Contains(t, b.refused(http.StatusUnsupportedMediaType, http.MethodPost, docs, "x", "Content-Type", "pdf"),
		"no media type")
	for _, form := range []string{"multipart/form-data; boundary=x", "multipart/mixed; boundary=x",
		"application/x-www-form-urlencoded"} {
		require.Contains(t, b.refused(http.StatusUnsupportedMediaType, http.MethodPost, docs, "x", "Content-Type", form),
			"is a form: send the file alone")
	}
	require.Contains(t, b.refused(http.StatusUnsupportedMediaType, http.MethodPost, docs, "x", "Content-Encoding",
		"gzip"), "without Content-Encoding")
	require.Contains(t, b.problem(http.MethodPost, acme+"/job-applications/a-2/documents", "x", http.StatusNotFound),
		"no job application")
	large := strings.Repeat("x", 25<<20)
	b.must(http.StatusCreated, http.MethodPost, docs+"?id=large", large)
	require.Contains(t, b.problem(http.MethodPost, docs+"?id=larger", large+"x", http.StatusRequestEntityTooLarge),
		"larger than 25 MiB")
	// of a length that it does not say
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+docs,
		io.MultiReader(strings.NewReader(large), strings.NewReader("x")))
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode)
	require.Equal(t, []string{"doc-1", "large"}, ids(b, docs))
	require.Len(t, b.files(), 2)
}

func TestAJobApplicationHasAHundredDocuments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	for n := range 100 {
		b.must(http.StatusCreated, http.MethodPost, fmt.Sprint(application, "/documents?id=", n), "file")
	}
	require.Contains(t, b.problem(http.MethodPost, application+"/documents", "file", http.StatusConflict),
		"has 100 documents")
}

func TestARepeatedUploadIsOneDocument(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	const docs = application + "/documents"
	post := func(body, query string) reply {
		return b.send(http.MethodPost, docs+query, body, "Idempotency-Key", "k", "Content-Type", "text/plain")
	}
	first := post("file", "?description=x")
	require.Equal(t, http.StatusCreated, first.status, first.body)
	again := post("file", "?description=x")
	require.Equal(t, first.body, again.body)
	require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	require.Equal(t, http.StatusUnprocessableEntity, post("other", "?description=x").status)
	require.Equal(t, http.StatusUnprocessableEntity, post("file", "?description=y").status)
	require.Len(t, ids(b, docs), 1)
	require.Len(t, b.files(), 1)
}

// What a crash leaves of a file is known to the sweep, and a document that was taken in is not its business.
func TestUploadIsKnownBeforeItsFile(t *testing.T) {
	t.Parallel()
	onEach(t, testUploadIsKnownBeforeItsFile)
}

func testUploadIsKnownBeforeItsFile(t *testing.T, b *fixture) {
	b.people()
	later := time.Now().Add(time.Hour)
	known := func() int {
		names, err := b.Runtime.Store().ListUploads(t.Context(), later, 0, 10)
		require.NoError(t, err)
		return len(names)
	}
	content, file := io.Pipe()
	answered := make(chan int)
	go func() {
		defer close(answered)
		res, err := http.Post(b.url+application+"/documents", "text/plain", content)
		if err == nil {
			res.Body.Close()
			answered <- res.StatusCode
		}
	}()
	_, err := io.WriteString(file, "the first half")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return known() == 1 }, 10*time.Second, time.Millisecond)
	_, err = io.WriteString(file, ", and the other")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.Equal(t, http.StatusCreated, <-answered)
	require.Zero(t, known())
	require.NoError(t, b.Runtime.Archive.Sweep(t.Context(), later))
	stored, err := b.Runtime.Store().ApplicationDocument(t.Context(), "acme", "a-1", ids(b, application+"/documents")[0])
	require.NoError(t, err)
	kept, size, err := b.Runtime.Archive.Files.Open(stored.Blob)
	require.NoError(t, err)
	require.NoError(t, kept.Close())
	require.Equal(t, int64(len("the first half, and the other")), size)
}
