package console

import (
	"archive/zip"
	"bytes"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// submitted stores a submission of acme that its service refused.
func (b *fixture) submitted(id string) {
	b.t.Helper()
	archive, now := b.Runtime.Archive, b.Clock.Now()
	name, err := archive.BeginUpload(b.t.Context())
	require.NoError(b.t, err)
	blob, err := archive.Files.Put(b.t.Context(), name, bytes.NewReader([]byte("%PDF-1.7 resume")), 1<<20)
	require.NoError(b.t, err)
	s := &model.Submission{Key: model.NewID(now), Tenant: "acme", ID: id, Job: "NURSE-1", Title: "<b>Nurse", State: model.SubmissionWaiting,
		ReceivedAt: now, TryUntil: now.Add(time.Hour)}
	c := &model.SubmissionContent{Source: "Flyer", Answers: []model.SubmissionAnswer{
		{Question: "email", Value: "ada@example.com"}, {Question: "why", Value: "<script>alert(1)</script>"},
		{Question: "eeocGender", Value: "kept secret", Compliance: true},
		{Question: "resume", Blob: blob.Name, Size: blob.Size, SHA256: blob.SHA256[:]}},
		Refusal: []model.InvalidAnswer{{QuestionID: "email", Messages: []string{"this address is blocked"}}}}
	lease := store.SubmissionLease{Owner: id, Till: now.Add(time.Minute)}
	b.Write(b.t, func(tx *store.Tx) error {
		if err := tx.InsertSubmission(s, c, "ada@example.com", lease); err != nil {
			return err
		}
		s.State, s.Reason, s.Attempts, s.EndedAt = model.SubmissionRefused, "the service refused it with 400", 3, now
		return tx.EndAttempt(s, lease, c, &model.SubmissionAttempt{Number: 3, StartedAt: now, DurationMs: 1234, Status: 400,
			Class: model.AttemptRefused, Reason: s.Reason})
	})
}

// What a service refused is found, read by recruiters, and ended by hand.
func TestSubmissions(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	require.Contains(t, b.see(ops, "/submissions?tenant=acme", http.StatusOK), "There are no submissions")
	b.submitted("s-1")
	const page = "/submissions/acme/s-1"
	for _, who := range []string{ops, viewer} {
		require.Contains(t, b.see(who, "/submissions?tenant=acme&state=refused", http.StatusOK), `href="/console`+page+`"`)
		require.NotContains(t, b.see(who, page, http.StatusOK), "ada@example.com")
		require.Contains(t, b.see(who, "/submissions?tenant=acme", http.StatusOK), "&lt;b&gt;Nurse")
	}
	require.Contains(t, b.see(ops, "/submissions?tenant=acme&state=failed", http.StatusOK), "There is no such submission")
	for _, sought := range []string{"s-1", "ADA@example.com"} {
		w := b.send(ops, http.MethodPost, "/submissions", url.Values{"tenant": {"acme"}, "sought": {sought}})
		require.Equal(t, http.StatusSeeOther, w.Code)
		require.Equal(t, "/console"+page, w.Header().Get("Location"))
	}
	require.Equal(t, http.StatusNotFound,
		b.send(ops, http.MethodPost, "/submissions", url.Values{"tenant": {"acme"}, "sought": {"bob@example.com"}}).Code)

	for _, want := range []string{"Attempt 3: 400", "Bad Request", "the service refuses it"} {
		require.Contains(t, b.see(viewer, page, http.StatusOK), want)
	}

	b.see(recruiter, page, http.StatusNotFound)
	require.Equal(t, http.StatusForbidden, b.send(operator, http.MethodPost, page+"/answers", nil).Code, "it is no recruiter")
	w := b.send(ops, http.MethodPost, page+"/answers", nil)
	require.Equal(t, http.StatusOK, w.Code, "%s", w.Body)
	for _, want := range []string{"Flyer", "ada@example.com", "&lt;script&gt;alert(1)", "this address is blocked", "a file"} {
		require.Contains(t, w.Body.String(), want)
	}
	require.NotContains(t, w.Body.String(), "kept secret", "nobody sees answers of compliance groups")
	w = b.send(ops, http.MethodGet, page+"/files", nil)
	require.Equal(t, http.StatusOK, w.Code, "%s", w.Body)
	files, err := zip.NewReader(bytes.NewReader(w.Body.Bytes()), int64(w.Body.Len()))
	require.NoError(t, err)
	require.Len(t, files.File, 1)
	require.Equal(t, "document-01.pdf", files.File[0].Name)
	for _, action := range []string{"show-answers", "download"} {
		entries, _, err := b.Runtime.Store().ListAudit(t.Context(), store.AuditFilter{Tenant: "acme", Action: action, Limit: 10})
		require.NoError(t, err)
		require.Len(t, entries, 1, action)
	}

	w = b.send(ops, http.MethodPost, page+"/redeliver", nil)
	require.Equal(t, http.StatusConflict, w.Code)
	require.Contains(t, w.Body.String(), "has no apply_upstream")
	require.Equal(t, http.StatusSeeOther, b.send(ops, http.MethodPost, page+"/resolve", url.Values{"note": {"n. 7"}}).Code)
	require.Contains(t, b.see(ops, page+"?done=submission-resolve", http.StatusOK), "n. 7")
	require.Equal(t, http.StatusSeeOther, b.send(ops, http.MethodPost, page+"/erase", nil).Code)
	require.Equal(t, http.StatusGone, b.send(ops, http.MethodPost, page+"/answers", nil).Code)
}
