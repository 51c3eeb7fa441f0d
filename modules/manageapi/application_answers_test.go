package manageapi_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Who may write candidates may read what an applicant sent, but for the compliance groups. That is in the audit, and the
// answers are in no log.
func TestAnswersAreShown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	given := []model.Given{{Question: "why", Label: "Why do you want to work here?", Format: "Textarea", Values: []string{"Grace is kind."}},
		{Question: "days", Label: "On which days?", Format: "Checkbox", Values: []string{"Monday", "Friday"}},
		{Question: "resume", Label: "Your resume", Format: "File", Document: "doc-1"}}
	b.Write(t, func(tx *store.Tx) error {
		a, _, err := tx.JobApplication("acme", "a-1")
		if err != nil {
			return err
		}
		if err := tx.InsertComplianceAnswer(a, model.ComplianceAnswer{Question: "veteran", Group: "us", Choice: true, Value: "Decline"},
			b.Clock.Now()); err != nil {
			return err
		}
		return tx.InsertApplicationAnswers("acme", "a-1", &model.ApplicationAnswers{Source: "career site", APIUser: "board@example.com", Answers: given})
	})
	keyed := b.keyed()
	operator := keyed.as(keyed.key("k-1", "acme", model.Operator))
	viewer := keyed.as(keyed.key("k-2", "acme", model.Viewer))
	show := application + "/answers"
	require.Contains(t, viewer.refused(http.StatusForbidden, http.MethodPost, show, ""), "role")
	keyed.as(keyed.key("k-3", "globex", model.Admin)).must(http.StatusNotFound, http.MethodPost, show, "")

	answered := operator.must(http.StatusOK, http.MethodPost, show, "")
	require.NotContains(t, answered.body, "Decline")
	sent := parsed[api.Answers](b, answered)
	require.Equal(t, given, sent.Answers)
	require.Equal(t, "career site", sent.Source)
	require.Equal(t, "board@example.com", sent.APIUser)
	require.Equal(t, [][3]string{{"acme", "show-answers", "job-applications/a-1"}}, viewer.entries("action=show-answers"))
	for _, entry := range b.Logged.All() {
		require.NotContains(t, fmt.Sprint(entry.Message, entry.ContextMap()), "Grace")
	}
	out, _, err := b.cli("application", "answers", "acme/a-1")
	require.NoError(t, err)
	for _, text := range []string{"career site", "Why do you want to work here?", "Monday, Friday", "document doc-1"} {
		require.Contains(t, out, text)
	}

	b.must(http.StatusOK, http.MethodPut, application, `{"candidate":"c-1"}`)
	require.Equal(t, given, parsed[api.Answers](b, operator.must(http.StatusOK, http.MethodPost, show, "")).Answers,
		"a change of the application leaves them")
	b.must(http.StatusCreated, http.MethodPut, acme+"/job-applications/a-2", `{"candidate":"c-1"}`)
	require.Contains(t, operator.refused(http.StatusNotFound, http.MethodPost, acme+"/job-applications/a-2/answers", ""), "Apply API")
}

// Who may write candidates gets the files of a job application, one by one or together. That is in the audit; a file that
// a scanner has not passed, or that is damaged, goes to nobody.
func TestFilesOfAnApplicationAreServed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	const docs = application + "/documents"
	const resume, letter = "%PDF-1.7 the resume", "%PDF-1.7 the letter"
	b.must(http.StatusCreated, http.MethodPost, docs+"?id=doc-1&fileName=Z%C3%B6e.pdf", resume, "Content-Type", "application/pdf")
	b.must(http.StatusCreated, http.MethodPost, docs+"?id=doc-2&fileName=..evil.html", letter, "Content-Type", "application/pdf")
	keyed := b.keyed()
	operator := keyed.as(keyed.key("k-1", "acme", model.Operator))
	viewer := keyed.as(keyed.key("k-2", "acme", model.Viewer))
	content := docs + "/doc-1/content"
	require.Contains(t, viewer.refused(http.StatusForbidden, http.MethodGet, content, ""), "role")
	viewer.must(http.StatusForbidden, http.MethodGet, application+"/files", "")
	require.Empty(t, viewer.entries("action=download"))

	a := operator.must(http.StatusOK, http.MethodGet, content, "", "Accept", "application/octet-stream")
	require.Equal(t, resume, a.body)
	require.Equal(t, "nosniff", a.header.Get("X-Content-Type-Options"))
	require.Contains(t, a.header.Get("Content-Disposition"), "attachment")
	require.Equal(t, "application/octet-stream", a.header.Get("Content-Type"))
	operator.must(http.StatusNotModified, http.MethodGet, content, "", "Accept", "application/octet-stream", "If-None-Match",
		a.header.Get("ETag"))
	require.Equal(t, "the", operator.must(http.StatusPartialContent, http.MethodGet, content, "", "Accept", "application/octet-stream",
		"Range", "bytes=9-11").body)
	object := parsed[struct {
		Content            []byte
		MimeType, FileName string
	}](b, operator.must(http.StatusOK, http.MethodGet, content, ""))
	require.Equal(t, resume, string(object.Content))
	require.Equal(t, "Zöe.pdf", object.FileName)
	require.Equal(t, [3]string{"acme", "download", "job-applications/a-1/documents/doc-1"}, viewer.entries("action=download")[0])
	require.Len(t, viewer.entries("action=download"), 4)

	archive := operator.must(http.StatusOK, http.MethodGet, application+"/files", "").body
	files, err := zip.NewReader(bytes.NewReader([]byte(archive)), int64(len(archive)))
	require.NoError(t, err)
	require.Len(t, files.File, 2)
	for n, want := range []struct{ name, content string }{{"document-01.pdf", resume}, {"document-02.pdf", letter}} {
		require.Equal(t, want.name, files.File[n].Name)
		file, err := files.File[n].Open()
		require.NoError(t, err)
		found, err := io.ReadAll(file)
		require.NoError(t, err)
		require.Equal(t, want.content, string(found))
	}

	target := filepath.Join(t.TempDir(), "resume.pdf")
	_, _, err = b.cli("document", "get", "acme/a-1/doc-1", "--output", target)
	require.NoError(t, err)
	found, err := os.ReadFile(target)
	require.NoError(t, err)
	require.Equal(t, resume, string(found))
	_, _, err = b.cli("document", "get", "acme/a-1/doc-1", "--output", target)
	require.ErrorContains(t, err, "exists")
	_, _, err = b.cli("document", "get", "acme/a-1/doc-1")
	require.ErrorContains(t, err, "--output")
	out, _, err := b.cli("document", "get", "acme/a-1/doc-2", "-o", "-")
	require.NoError(t, err)
	require.Equal(t, letter, out)

	stored, err := b.Runtime.Store().ApplicationDocument(t.Context(), "acme", "a-1", "doc-1")
	require.NoError(t, err)
	for _, name := range b.files() {
		if filepath.Base(name) == stored.Blob {
			require.NoError(t, os.WriteFile(name, []byte("%PDF-1.7 the_resume"), 0o600))
		}
	}
	_, _, err = b.cli("document", "get", "acme/a-1/doc-1", "--output", target+".again")
	require.Error(t, err)
	require.NoFileExists(t, target+".again")
}
