package console

import (
	"archive/zip"
	"bytes"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Recruiters read what an applicant sent, and take the files.
func TestAnswersAndFilesOfAnApplication(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.candidate("acme", "c-1", "Zoë")
	const application = "/candidates/acme/c-1/applications/a-c-1"
	text := b.see(ops, "/candidates/acme/c-1", http.StatusOK)
	require.Contains(t, text, `action="/console`+application+`/answers"`)
	require.Contains(t, b.send(ops, http.MethodPost, application+"/answers", nil).Body.String(), "did not come by the Apply API")
	require.NotContains(t, text, application+"/files/Zo", "the scanner refused it")
	b.see(ops, application+"/files", http.StatusNotFound)

	archive := b.Runtime.Archive
	name, err := archive.BeginUpload(t.Context())
	require.NoError(t, err)
	blob, err := archive.Files.Put(t.Context(), name, bytes.NewReader([]byte("%PDF-1.7 resume")), 1<<20)
	require.NoError(t, err)
	now := b.Clock.Now()
	b.Write(t, func(tx *store.Tx) error {
		d := &model.ApplicationDocument{Key: model.NewID(now), Tenant: "acme", Application: "a-c-1", ID: "resume", FileName: "<b>.pdf",
			MediaType: "application/pdf", Size: blob.Size, SHA256: blob.SHA256[:], Blob: blob.Name, CreatedAt: now}
		if _, err := tx.InsertApplicationDocument(d); err != nil {
			return err
		}
		return tx.InsertApplicationAnswers("acme", "a-c-1", &model.ApplicationAnswers{Source: "career site", APIUser: "board@example.com", Answers: []model.Given{
			{Question: "why", Label: "Why?", Values: []string{"<script>alert(1)</script>"}},
			{Question: "resume", Label: "Resume", Document: "resume"}}})
	})
	w := b.send(ops, http.MethodPost, application+"/answers", nil)
	require.Equal(t, http.StatusOK, w.Code)
	for _, want := range []string{"career site", "board@example.com", "Why?", "&lt;script&gt;alert(1)", "files/resume"} {
		require.Contains(t, w.Body.String(), want)
	}
	w = b.send(ops, http.MethodGet, application+"/files/resume", nil)
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "%PDF-1.7 resume", w.Body.String())
	require.Equal(t, "application/octet-stream", w.Header().Get("Content-Type"))
	require.Contains(t, w.Header().Get("Content-Disposition"), "attachment")
	w = b.send(ops, http.MethodGet, application+"/files", nil)
	require.Equal(t, http.StatusOK, w.Code)
	files, err := zip.NewReader(bytes.NewReader(w.Body.Bytes()), int64(w.Body.Len()))
	require.NoError(t, err)
	require.Len(t, files.File, 1)
	require.Equal(t, "document-01.pdf", files.File[0].Name)
	b.see(ops, application+"/files/nothing", http.StatusNotFound)
	b.see(ops, "/candidates/acme/other/applications/a-c-1/files/resume", http.StatusNotFound)
	for _, action := range []string{"show-answers", "download"} {
		entries, _, err := b.Runtime.Store().ListAudit(t.Context(), store.AuditFilter{Tenant: "acme", Action: action, Limit: 10})
		require.NoError(t, err)
		require.NotEmpty(t, entries, action)
	}
}
