package console

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// candidate puts somebody into the store who has applied for a job and sent a document. All that people wrote is text.
func (b *fixture) candidate(tenant, id, text string) {
	b.t.Helper()
	now := b.Clock.Now()
	row := model.Row{Tenant: tenant}
	fields := []model.CustomField{{ID: text, Name: text, Type: text, Value: text}}
	b.Write(b.t, func(tx *store.Tx) error {
		c := &model.Candidate{Row: row, ID: id, Name: model.Name{Formatted: text, Given: text, Family: text},
			Email: []string{"x" + text + "@example.org"}, Phone: []string{text}, Gender: text, CitizenShip: []string{text},
			Web: text, ApplyDate: "2026-11-03", AlternateIDs: []string{text}, CustomFields: fields,
			Address: []model.Address{{Formatted: text}, {City: text, PostalCode: text, Line: text,
				Subdivisions: []model.Subdivision{{Type: text, Value: text}}}}}
		job := &model.Job{Row: row, BoardCode: "JOB-1", ID: "job-1", Title: text, URI: "javascript:alert(1)",
			CustomFields: fields}
		a := &model.JobApplication{Row: row, ID: "a-" + id, Candidate: id, Job: job.BoardCode, LanguageCode: "en-US",
			Education: []model.Education{{Levels: []string{text}}},
			StartDate: &model.StartDate{ID: "sd-1", Date: "2026-12-07"},
			Status:    model.Status{Step: "applied", Name: text, Category: text, EnteredAt: now}}
		d := &model.ApplicationDocument{Key: model.NewID(now), Tenant: tenant, Application: a.ID, ID: text,
			FileName: text, Descriptions: []string{text}, MediaType: "application/pdf", Size: 4711, CreatedAt: now,
			SHA256: make([]byte, 32), Blob: fmt.Sprint(model.NewID(now)), Scan: model.Refused, Finding: text}
		_, known, err := tx.Job(tenant, job.BoardCode)
		if err == nil && !known {
			err = errors.Join(tx.UpsertJob(job, now),
				tx.UpsertStep(&model.Step{Row: row, ID: "applied", Name: text, Category: text}, now),
				tx.UpsertStep(&model.Step{Row: row, ID: "hired", Name: text, Position: 1}, now))
		}
		if err != nil {
			return err
		}
		if err := tx.UpsertCandidate(c, now); err != nil {
			return err
		}
		if err := tx.UpsertJobApplication(a, now); err != nil {
			return err
		}
		if _, err := tx.InsertApplicationDocument(d); err != nil {
			return err
		}
		return tx.InsertTransition(&model.Transition{ID: model.NewID(now), Tenant: tenant, Application: a.ID,
			Status: a.Status})
	})
}

// The count of job applications does not stop where a page does.
func TestCountOfApplications(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.candidate("acme", "c-1", "Zoe")
	require.Contains(t, b.see(ops, "/candidates/acme/c-1", http.StatusOK), "1 job application")
	b.Write(t, func(tx *store.Tx) error {
		for n := range 21 {
			a := &model.JobApplication{Row: model.Row{Tenant: "acme"}, ID: fmt.Sprintf("more-%d", n), Candidate: "c-1",
				Job: "JOB-1", LanguageCode: "en-US"}
			if err := tx.UpsertJobApplication(a, b.Clock.Now()); err != nil {
				return err
			}
		}
		return nil
	})
	text := b.see(ops, "/candidates/acme/c-1", http.StatusOK)
	require.Contains(t, text, "20&#43; job applications")
	next := regexp.MustCompile(`rel="next" href="/console([^"]+)"`).FindStringSubmatch(text)
	require.NotNil(t, next, text)
	require.Contains(t, b.see(ops, html.UnescapeString(next[1]), http.StatusOK), "20&#43; job applications")
}

func TestProfile(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.candidate("acme", "c-1", "Zoë Ødegård")
	text := b.see(ops, "/candidates?tenant=acme", http.StatusOK)
	require.Contains(t, text, `<a href="/console/candidates/acme/c-1"><bdi>Zoë Ødegård</bdi></a>`)
	text = b.see(ops, "/candidates/acme/c-1", http.StatusOK)
	for _, want := range []string{"xZoë Ødegård@example.org", "2026-11-03", "2026-12-07", "JOB-1", "4.7 kB",
		"application/pdf", "Custom fields of the job", "Steps entered", "Every integration",
		`<option value="hris">hris</option>`, `<option value="a-c-1">`, `<option value="hired" selected>`} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, `<option value="applied"`, "it is in that step")
	require.NotContains(t, text, "javascript:")
	whole := b.send(ops, http.MethodGet, "/candidates/acme/c-1", nil).Body.String()
	require.Equal(t, "<title>Candidate · Gate", regexp.MustCompile(`<title>[^<]*`).FindString(whole))
	b.see(ops, "/candidates/acme/c-2", http.StatusNotFound)
	b.see(ops, "/candidates/nobody/c-1", http.StatusNotFound)

	b.candidate("globex", "c-1", "Else")
	require.NotContains(t, b.see(recruiter, "/candidates", http.StatusOK), "Zoë")
	text = b.see(recruiter, "/candidates/globex/c-1", http.StatusOK)
	require.Contains(t, text, "This tenant has no integration yet.")
	require.NotContains(t, text, "Zoë")
}

// An id may hold what separates the segments of a path.
func TestIdsOfCandidates(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for n, id := range []string{"a/b", "a//b", "/a", "a/", "a b", "a%2Fb", "ä?#&", strings.Repeat("\U0001F600", 255)} {
		name := fmt.Sprintf("Number %d.", n)
		b.candidate("acme", id, name)
		require.Contains(t, b.see(ops, "/candidates/acme/"+url.PathEscape(id), http.StatusOK), name, id)
	}
}

func TestCandidatesArePaged(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for n := range 500 {
		b.candidate("acme", fmt.Sprintf("c-%03d", n), "Somebody")
	}
	seen, path := map[string]bool{}, "/candidates?tenant=acme"
	for pages := 0; path != ""; pages++ {
		require.Less(t, pages, 20)
		text := b.see(ops, path, http.StatusOK)
		for _, link := range regexp.MustCompile(`/candidates/acme/c-\d+"`).FindAllString(text, -1) {
			require.False(t, seen[link])
			seen[link] = true
		}
		path = ""
		if next := regexp.MustCompile(`rel="next" href="/console([^"]+)"`).FindStringSubmatch(text); next != nil {
			path = strings.ReplaceAll(next[1], "&amp;", "&")
		}
	}
	require.Len(t, seen, 500)
}

// A candidate may have applied often, or not at all, and there may be nothing known of them but an id.
func TestApplicationsArePaged(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.candidate("acme", "c-1", "Zoë")
	b.Write(t, func(tx *store.Tx) error {
		row := model.Row{Tenant: "acme"}
		for n := range 44 {
			a := &model.JobApplication{Row: row, ID: fmt.Sprintf("b-%02d", n), Candidate: "c-1", LanguageCode: "de"}
			if err := tx.UpsertJobApplication(a, b.Clock.Now()); err != nil {
				return err
			}
		}
		return tx.UpsertCandidate(&model.Candidate{Row: row, ID: "c-2"}, b.Clock.Now())
	})
	seen := map[string]bool{}
	for path := "/candidates/acme/c-1"; path != ""; {
		text := b.see(ops, path, http.StatusOK)
		offered := regexp.MustCompile(`<option value="([ab]-[^"]+)"`).FindAllStringSubmatch(text, -1)
		require.LessOrEqual(t, len(offered), 20)
		for _, o := range offered {
			require.False(t, seen[o[1]])
			require.Contains(t, text, `/applications/`+o[1]+`/step"`)
			seen[o[1]] = true
		}
		path = ""
		if next := regexp.MustCompile(`rel="next" href="/console([^"]+)"`).FindStringSubmatch(text); next != nil {
			path = next[1]
		}
	}
	require.Len(t, seen, 45)

	b.attempted(model.Delivered, 200)
	text := b.see(ops, "/candidates/acme/c-2", http.StatusOK)
	require.Contains(t, text, "There is no job application.")
	require.NotContains(t, text, `name="jobApplication"`)
	w := b.send(ops, http.MethodPost, "/candidates/acme/c-2/exports", nil)
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	require.Empty(t, b.Exports(t)[0].ExportContext, "it is about no job")
}

// A search is a POST, so that no address has the one of a person, and leads to whom it finds.
func TestSeekingACandidate(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.candidate("acme", "c-1", "one")
	b.candidate("acme", "c-2", "two")
	b.candidate("acme", "x@1", "two")
	b.candidate("acme", "c-4", "ctwo")
	seek := func(who, sought string) (int, string) {
		w := b.send(who, http.MethodPost, "/candidates", url.Values{"tenant": {"acme"}, "sought": {sought}})
		require.NotContains(t, w.Header().Get("Location"), "example.org")
		return w.Code, w.Header().Get("Location") + w.Body.String()
	}
	for sought, id := range map[string]string{"xone@example.org": "c-1", " XONE@example.org ": "c-1", "c-2": "c-2",
		"x@1": "x@1", "ONE": "c-1", "ct": "c-4"} {
		status, to := seek(ops, sought)
		require.Equal(t, http.StatusSeeOther, status, sought)
		require.Equal(t, "/console/candidates/acme/"+id, to)
	}
	status, text := seek(ops, "xtwo@example.org")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, "/candidates/acme/c-2")
	require.Contains(t, text, "/candidates/acme/x@1")
	require.NotContains(t, text, "/candidates/acme/c-1")
	status, text = seek(ops, "tw")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, "/candidates/acme/c-2")
	require.NotContains(t, text, "/candidates/acme/c-4")
	for _, sought := range []string{"nobody@example.org", "c-9", "..", "a/../b", strings.Repeat("w", 255)} {
		status, text = seek(ops, sought)
		require.Equal(t, http.StatusNotFound, status)
		require.Contains(t, text, "No candidate has this name, e-mail address, phone number or id.")
	}
	status, text = seek(recruiter, "c-1")
	require.Equal(t, http.StatusNotFound, status)
	require.NotContains(t, text, "c-1")
	status, text = seek(ops, "")
	require.Equal(t, http.StatusSeeOther, status)
	require.Equal(t, "/console/candidates?tenant=acme", text)
}

// Candidates are for recruiters and administrators; those of other tenants do not exist.
func TestCandidatesForRoles(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.candidate("acme", "c-1", "Zoë")
	for _, path := range []string{"/candidates?tenant=acme", "/candidates/acme/c-1", "/steps/acme"} {
		for who, status := range map[string]int{viewer: http.StatusForbidden, operator: http.StatusForbidden,
			recruiter: http.StatusNotFound} {
			require.NotContains(t, b.see(who, path, status), "Zoë", "%s of %s", path, who)
		}
	}
	for path, form := range map[string]url.Values{
		"/candidates":                                        {"tenant": {"acme"}, "sought": {"c-1"}},
		"/candidates/acme/c-1/exports":                       {},
		"/candidates/acme/c-1/applications/a-c-1/step":       {"step": {"hired"}},
		"/candidates/acme/c-1/fields":                        {},
		"/candidates/acme/c-1/applications/a-c-1/start-date": {"date": {""}},
		"/candidates/acme/c-1/applications/a-c-1/keep":       {"date": {""}},
		"/steps/acme":                     {"step": {"x"}, "name": {"X"}},
		"/steps/acme/hired":               {"name": {"X"}, "place": {"1"}},
		"/steps/acme/hired/remove":        {},
		"/steps/acme/hired/helper":        {},
		"/steps/acme/hired/helper/remove": {},
	} {
		for who, status := range map[string]int{viewer: http.StatusForbidden, operator: http.StatusForbidden,
			recruiter: http.StatusNotFound} {
			require.Equal(t, status, b.send(who, http.MethodPost, path, form).Code, "%s of %s", path, who)
		}
	}
	require.Empty(t, b.Exports(t))
	for who, want := range map[string]bool{viewer: false, operator: false, recruiter: true, ops: true} {
		require.Equal(t, want, strings.Contains(b.see(who, "/exports", http.StatusOK), `href="/console/candidates"`), who)
	}
}

// Who looks at whom is in the log, by ids alone.
func TestLooksAtCandidatesAreLogged(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.candidate("acme", "c-1", "Zoë")
	b.see(ops, "/candidates/acme/c-1", http.StatusOK)
	b.send(ops, http.MethodPost, "/candidates", url.Values{"tenant": {"acme"}, "sought": {"xZoë@example.org"}})
	b.see(ops, "/candidates?tenant=acme", http.StatusOK)
	read := map[string]int{}
	for _, entry := range b.Logged.All() {
		fields := entry.ContextMap()
		if request, ok := fields["request"].(string); !ok || !strings.HasPrefix(request, http.MethodGet) {
			continue
		}
		require.Equal(t, "console:sub-of-"+ops, fields["actor"])
		read[fmt.Sprint(fields["kind"], " ", fields["id"])]++
	}
	require.Equal(t, 1, read["candidates c-1"])
	require.Equal(t, 2, read["candidates "])
	require.Positive(t, read["job-applications a-c-1"])
	for _, entry := range b.Logged.All() {
		require.NotContains(t, fmt.Sprint(entry.Message, entry.ContextMap()), "Zoë")
	}
}

// Erasing what was exported of a candidate says how much that is, and is for operators.
func TestErasingWhatWasExported(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.candidate("acme", "c-1", "Zoë")
	of := func(e *model.Export) { e.CandidateID = "c-1" }
	require.NotContains(t, b.see(ops, "/candidates/acme/c-1", http.StatusOK), "Erase what was exported")
	b.export("acme", uuid(1), model.Delivered, of)
	b.export("acme", uuid(2), model.Retrying, of)
	text := b.see(ops, "/candidates/acme/c-1", http.StatusOK)
	require.Contains(t, text, "This erases the bodies and the documents of 2 exports.")
	require.Contains(t, text, "1 of them is not delivered yet: its delivery ends.")
	const erase = "/candidates/acme/c-1/erase"
	b.post(ops, erase, url.Values{}, http.StatusBadRequest)
	b.post(recruiter, erase, url.Values{"sure": {"yes"}}, http.StatusNotFound)
	b.post(viewer, erase, url.Values{"sure": {"yes"}}, http.StatusForbidden)
	b.post(ops, erase, url.Values{"sure": {"yes"}}, http.StatusSeeOther)
	require.Contains(t, b.see(ops, "/exports/acme/"+uuid(1), http.StatusOK), "<dt>Erased</dt>")
	require.Contains(t, b.see(ops, "/exports/acme/"+uuid(2), http.StatusOK), "<dt>Erased</dt>")
}
