package documents_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	archive "github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/trigger"
	"github.com/hiregate/hiregate/schemas"
)

// offer exports a candidate with a document, and gives the path of its public URL.
func (b *fixture) offer(t *testing.T, content []byte, scan model.ScanState) (path string) {
	t.Helper()
	kept, err := b.Runtime.Archive.Files.Put(t.Context(), b.Runtime.Archive.Files.NewName(), bytes.NewReader(content),
		archive.MaxSize)
	require.NoError(t, err)
	row := model.Row{Tenant: "acme"}
	b.Write(t, func(tx *store.Tx) error {
		if err := tx.UpsertCandidate(&model.Candidate{Row: row, ID: "c-1"}, b.Clock.Now()); err != nil {
			return err
		}
		if err := tx.UpsertJobApplication(&model.JobApplication{Row: row, ID: "a-1", Candidate: "c-1"},
			b.Clock.Now()); err != nil {
			return err
		}
		_, err := tx.InsertApplicationDocument(&model.ApplicationDocument{Key: 1, Tenant: "acme", Application: "a-1",
			ID: "doc-1", FileName: "r.pdf",
			MediaType: "application/pdf", Blob: kept.Name, SHA256: kept.SHA256[:], Size: kept.Size, CreatedAt: b.Clock.Now(),
			Scan: scan})
		return err
	})
	var e *model.Export
	b.Write(t, func(tx *store.Tx) (err error) {
		e, err = b.Trigger(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)).Export(tx, trigger.Request{Tenant: "acme", Candidate: "c-1", Integrations: []string{"hris"}})
		return err
	})
	require.NoError(t, b.Runtime.Store().LoadBody(t.Context(), e))
	body, err := schemas.Guard(e.Body)
	require.NoError(t, err)
	path, ok := strings.CutPrefix(body.Attachments[0].URL, "https://gate.example.com")
	require.True(t, ok)
	return path
}

// The documents of an export that was triggered here can be downloaded for 2 h 30 min after the event, to the
// microsecond.
func TestDocumentsOfATriggeredExportEndAfterTwoAndAHalfHours(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	content := bytes.Repeat([]byte("%PDF-1.4 "), 50_000)
	path, event := b.offer(t, content, model.Unscanned), b.Clock.Now()
	for _, at := range []time.Duration{0, time.Hour, 2*time.Hour + 30*time.Minute - time.Microsecond} {
		b.Clock.Advance(event.Add(at).Sub(b.Clock.Now()))
		answer := b.ask(http.MethodGet, path)
		require.Equal(t, http.StatusOK, answer.Code, at)
		var document struct {
			Content            []byte
			MimeType, FileName string
		}
		require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &document))
		require.Equal(t, content, document.Content)
		require.Equal(t, "application/pdf", document.MimeType)
		require.Equal(t, "r.pdf", document.FileName)
		require.Equal(t, http.StatusOK, b.ask(http.MethodHead, path).Code)
	}
	for _, at := range []time.Duration{2*time.Hour + 30*time.Minute, 100 * time.Hour} {
		b.Clock.Advance(event.Add(at).Sub(b.Clock.Now()))
		b.requireProblem(t, path, http.StatusGone, "this document's address has ended: ask for the candidate to be exported again")
		require.Equal(t, http.StatusGone, b.ask(http.MethodHead, path).Code, at)
	}
}

func TestDocumentThatAScannerRefused(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	path := b.offer(t, []byte("x"), model.ScanPending)
	d, err := b.Runtime.Store().ApplicationDocument(t.Context(), "acme", "a-1", "doc-1")
	require.NoError(t, err)
	b.Write(t, func(tx *store.Tx) error {
		_, err := tx.FinishScan(d, "Eicar", b.Clock.Now())
		return err
	})
	b.requireProblem(t, path, http.StatusGone,
		"nobody gets this document: a scanner found something harmful in it; go on without it")
}
