package console

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// job puts a job into the store, with a question of each format and those of all compliance groups. All that people
// wrote is text.
func (b *fixture) job(tenant, code, text string) {
	b.t.Helper()
	j := &model.Job{Row: model.Row{Tenant: tenant}, BoardCode: code, ID: "id-" + code, Title: text,
		ComplianceGroups: []string{"complianceEeo", "complianceOfccp", "complianceVevraa"}}
	for n, format := range model.Formats {
		q := model.Question{ID: fmt.Sprintf("%d %s", n, text), Format: format, Label: text, IsRequired: true}
		if format == model.Checkbox || format == model.Select {
			q.Options = []string{text, "Day", "A | B"}
		}
		j.Questions = append(j.Questions, q)
	}
	b.Write(b.t, func(tx *store.Tx) error {
		if err := tx.UpsertJob(j, b.Clock.Now()); err != nil {
			return err
		}
		return tx.CountRefusedAnswers(tenant, code, store.RefusedAnswers{Question: j.Questions[0].ID,
			Format: model.Checkbox, Count: 4711, LastHour: b.Clock.Now()})
	})
}

// upload sends a form with files.
func (b *fixture) upload(who, path string, values map[string][]string, files map[string]string) *httptest.ResponseRecorder {
	b.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, all := range values {
		for _, value := range all {
			require.NoError(b.t, form.WriteField(name, value))
		}
	}
	for name, content := range files {
		part, err := form.CreateFormFile(name, "cv.pdf")
		require.NoError(b.t, err)
		_, err = part.Write([]byte(content))
		require.NoError(b.t, err)
	}
	require.NoError(b.t, form.Close())
	return b.send(who, http.MethodPost, path, nil, func(r *http.Request) {
		sent, err := http.NewRequestWithContext(r.Context(), r.Method, r.URL.String(), &body)
		require.NoError(b.t, err)
		r.Body, r.ContentLength = sent.Body, sent.ContentLength
		r.Header.Set("Content-Type", form.FormDataContentType())
	})
}

// What a form has is checked by the rules of the Apply API, comes back as it was filled in, and is not stored.
func TestJobIsPreviewed(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.job("globex", "a/b c", "Ward")
	const page, check = "/jobs/globex/a%2Fb%20c", "/jobs/globex/a%2Fb%20c/check"
	text := b.see(recruiter, page, http.StatusOK)
	require.Contains(t, text, "4,711")
	require.Contains(t, text, `type="file"`)
	own, first := strings.Index(text, `name="answer.7 Ward"`), strings.Index(text, "<h3>")
	require.Less(t, own, first, "the questions of compliance groups come behind the job's own")
	require.Less(t, first, strings.Index(text, `name="answer.eeoc`), "their text comes before them")

	wrong := map[string][]string{"answer.0 Ward": {"Ward", "A | B"}, "answer.3 Ward": {"four"},
		"answer.7 Ward": {"<i>Why"}}
	w := b.upload(recruiter, check, wrong, map[string]string{"answer.2 Ward": "?"})
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	answered := w.Body.String()
	require.Contains(t, answered, "The Apply API would refuse this; answers that are not valid: ")
	require.Contains(t, answered, "Ward: write a number in digits, such as 3 or -2.5")
	require.Contains(t, answered, `value="four"`)
	require.Contains(t, answered, "&lt;i&gt;Why</textarea>")
	require.Contains(t, answered, `value="A | B" checked`)
	require.NotContains(t, answered, `aria-describedby="wrong-0"`, "both options are")
	require.NotRegexp(t, `name="answer.7 Ward" aria-invalid`, answered)

	right := map[string][]string{"answer.0 Ward": {"Day", "A | B"}, "answer.1 Ward": {"2026-11-24"},
		"answer.3 Ward": {"3"},
		"answer.4 Ward": {"+1 555 0100 9"}, "answer.5 Ward": {"Day"}, "answer.6 Ward": {"x"}, "answer.7 Ward": {"x"}}
	options := regexp.MustCompile(`<select id="f\d+" name="(answer\.[^"]+)"[^>]*>` +
		`<option value=""></option><option value="([^"]+)"`)
	for _, found := range options.FindAllStringSubmatch(text, -1) {
		if right[found[1]] == nil {
			right[found[1]] = []string{strings.ReplaceAll(found[2], "&#39;", "'")}
		}
	}
	for _, found := range regexp.MustCompile(`name="(answer\.eeoc[^"]+)" type="(\w+)"`).FindAllStringSubmatch(text, -1) {
		if right[found[1]] == nil {
			right[found[1]] = []string{map[string]string{"date": "2026-11-24", "text": "Ada"}[found[2]]}
		}
	}
	w = b.upload(recruiter, check, right, map[string]string{"answer.2 Ward": "%PDF-1.4\n" + strings.Repeat("x", 100_000)})
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Contains(t, w.Body.String(), "The Apply API would accept these answers.")
	listed, err := b.Runtime.Store().ListJobApplications(t.Context(), "globex", store.ApplicationFilter{})
	require.NoError(t, err)
	require.Empty(t, listed.Items)

	w = b.upload(recruiter, check, nil, map[string]string{"answer.2 Ward": strings.Repeat("x", maxUpload)})
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
	b.post(recruiter, check, nil, http.StatusBadRequest) // not a form with files
}

// Jobs are for recruiters, each of their tenant.
func TestJobsAreForRecruiters(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.job("acme", "NURSE-1", "Ward")
	b.job("globex", "OTHER", "Lab")
	for _, path := range []string{"/jobs?tenant=acme", "/jobs/acme/NURSE-1"} {
		b.see(ops, path, http.StatusOK)
		require.NotContains(t, b.see(viewer, path, http.StatusForbidden), "Ward")
		require.NotContains(t, b.see(recruiter, path, http.StatusNotFound), "Ward")
	}
	require.Contains(t, b.see(recruiter, "/jobs", http.StatusOK), "/console/jobs/globex/OTHER")
	require.Contains(t, b.see(ops, "/jobs", http.StatusOK), "/console/jobs?tenant=acme")
	require.Contains(t, b.see(ops, "/jobs?tenant=acme&q=nurse-1&state=open", http.StatusOK), "/console/jobs/acme/NURSE-1")
	closed := b.see(ops, "/jobs?tenant=acme&q=nurse-1&state=closed", http.StatusOK)
	require.NotContains(t, closed, "/console/jobs/acme/NURSE-1")
	require.Contains(t, closed, "No job has these words and this state.")
	require.NotContains(t, b.see(viewer, "/exports", http.StatusOK), "/console/jobs")
	require.Equal(t, http.StatusNotFound, b.upload(recruiter, "/jobs/acme/NURSE-1/check", nil, nil).Code)
	require.Equal(t, http.StatusForbidden, b.upload(viewer, "/jobs/acme/NURSE-1/check", nil, nil).Code)
	b.see(ops, "/jobs/acme/none", http.StatusNotFound)
	b.see(ops, "/jobs/acme/NURSE-1?days=90", http.StatusOK)
}

func TestJobsArePaged(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for n := range 500 {
		b.job("acme", fmt.Sprintf("job-%03d", n), "Ward")
	}
	require.Len(t, b.paged(ops, "/jobs?tenant=acme", regexp.MustCompile(`/console/jobs/acme/(job-\d+)"`)), 500)
}
