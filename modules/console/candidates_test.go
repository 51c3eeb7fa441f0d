package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/store"
)

// candidate puts somebody into the store who has applied for a job and sent a document. All that people wrote is text.
func (b *bench) candidate(tenant, id, text string) {
	b.t.Helper()
	now := b.Clock.Now()
	row := hiring.Row{Tenant: tenant}
	fields := []hiring.CustomField{{ID: text, Name: text, Type: text, Value: text}}
	b.Write(b.t, func(tx *store.Tx) error {
		c := &hiring.Candidate{Row: row, ID: id, Name: hiring.Name{Formatted: text, Given: text, Family: text},
			Email: []string{"x" + text + "@example.org"}, Phone: []string{text}, Gender: text, CitizenShip: []string{text},
			Web: text, ApplyDate: "2026-11-03", AlternateIDs: []string{text}, CustomFields: fields,
			Address: []hiring.Address{{Formatted: text}, {City: text, PostalCode: text, Line: text,
				Subdivisions: []hiring.Subdivision{{Type: text, Value: text}}}}}
		job := &hiring.Job{Row: row, BoardCode: "JOB-1", ID: "job-1", Title: text, URI: "javascript:alert(1)",
			CustomFields: fields}
		a := &hiring.JobApplication{Row: row, ID: "a-" + id, Candidate: id, Job: job.BoardCode, LanguageCode: "en-US",
			Education: []hiring.Education{{Levels: []string{text}}},
			StartDate: &hiring.StartDate{ID: "sd-1", Date: "2026-12-07"},
			Status:    hiring.Status{Step: "applied", Name: text, Category: text, EnteredAt: now}}
		d := &hiring.ApplicationDocument{Key: hiring.NewID(now), Tenant: tenant, Application: a.ID, ID: text,
			FileName: text, Descriptions: []string{text}, MediaType: "application/pdf", Size: 4711, CreatedAt: now,
			SHA256: make([]byte, 32), Blob: fmt.Sprint(hiring.NewID(now)), Scan: hiring.Refused, Finding: text}
		_, known, err := tx.Job(tenant, job.BoardCode)
		if err == nil && !known {
			err = errors.Join(tx.UpsertJob(job, now),
				tx.UpsertStep(&hiring.Step{Row: row, ID: "applied", Name: text, Category: text}, now),
				tx.UpsertStep(&hiring.Step{Row: row, ID: "hired", Name: text, Position: 1}, now))
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
		return tx.InsertTransition(&hiring.Transition{ID: hiring.NewID(now), Tenant: tenant, Application: a.ID,
			Status: a.Status})
	})
}

// attempted does what the workflow of the next export of acme would: it makes the first attempt.
func (b *bench) attempted(outcome hiring.Outcome, status int) {
	known := len(b.Exports(b.t))
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for ; b.t.Context().Err() == nil; <-tick.C {
			page, _, err := b.Runtime.Store().ListExports(b.t.Context(), store.ExportFilter{Limit: store.MaxPage})
			if err == nil && len(page) > known {
				b.attempt(page[0], outcome, status)
				return
			}
		}
	}()
}

func TestProfile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.candidate("acme", "c-1", "Zoë Ødegård")
	text := b.see(ops, "/candidates?tenant=acme", http.StatusOK)
	require.Contains(t, text, `<a href="/console/candidates/acme/c-1"><bdi>Zoë Ødegård</bdi></a>`)
	text = b.see(ops, "/candidates/acme/c-1", http.StatusOK)
	for _, want := range []string{"xZoë Ødegård@example.org", "2026-11-03", "2026-12-07", "JOB-1", "4711",
		"application/pdf", "Custom fields of the job", "Steps entered", "Every configured integration",
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
	b := newBench(t)
	for n, id := range []string{"a/b", "a//b", "/a", "a/", "a b", "a%2Fb", "ä?#&", strings.Repeat("\U0001F600", 255)} {
		name := fmt.Sprintf("Number %d.", n)
		b.candidate("acme", id, name)
		require.Contains(t, b.see(ops, "/candidates/acme/"+url.PathEscape(id), http.StatusOK), name, id)
	}
}

func TestCandidatesArePaged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
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
	b := newBench(t)
	b.candidate("acme", "c-1", "Zoë")
	b.Write(t, func(tx *store.Tx) error {
		row := hiring.Row{Tenant: "acme"}
		for n := range 44 {
			a := &hiring.JobApplication{Row: row, ID: fmt.Sprintf("b-%02d", n), Candidate: "c-1", LanguageCode: "de"}
			if err := tx.UpsertJobApplication(a, b.Clock.Now()); err != nil {
				return err
			}
		}
		return tx.UpsertCandidate(&hiring.Candidate{Row: row, ID: "c-2"}, b.Clock.Now())
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

	b.attempted(hiring.Delivered, 200)
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
	b := newBench(t)
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
		"x@1": "x@1"} {
		status, to := seek(ops, sought)
		require.Equal(t, http.StatusSeeOther, status, sought)
		require.Equal(t, "/console/candidates/acme/"+id, to)
	}
	status, text := seek(ops, "xtwo@example.org")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, "/candidates/acme/c-2")
	require.Contains(t, text, "/candidates/acme/x@1")
	require.NotContains(t, text, "/candidates/acme/c-1")
	for _, sought := range []string{"nobody@example.org", "c-9", "..", "a/../b", strings.Repeat("w", 255)} {
		status, text = seek(ops, sought)
		require.Equal(t, http.StatusNotFound, status)
		require.Contains(t, text, "No candidate has this e-mail address or id.")
	}
	status, text = seek(recruiter, "c-1")
	require.Equal(t, http.StatusNotFound, status)
	require.NotContains(t, text, "c-1")
	status, text = seek(ops, "")
	require.Equal(t, http.StatusSeeOther, status)
	require.Equal(t, "/console/candidates?tenant=acme", text)
}

// Whoever has exported a candidate sees what came of the first attempt, and what the partner answered.
func TestExportingACandidate(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[hiring.Outcome]struct {
		status int
		text   string
	}{
		hiring.Delivered: {202, "It was received."},
		hiring.Retrying:  {422, "It was not received. It is tried again by itself, next in 5 min 0 s."},
		hiring.Failed:    {400, "It was not received, and is not tried again."},
		hiring.Held:      {410, "It waits until the integration delivers again."},
	} {
		t.Run(string(outcome), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.candidate("acme", "c-1", "Zoë")
			b.attempted(outcome, want.status)
			form := url.Values{"integration": {"hris"}, "jobApplication": {"a-c-1"}, "once": {"one-two-three"}}
			w := b.send(ops, http.MethodPost, "/candidates/acme/c-1/exports", form)
			require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
			e := b.Exports(t)[0]
			to := strings.TrimPrefix(w.Header().Get("Location"), "/console")
			require.Equal(t, "/candidates/acme/c-1?exported="+e.Key, to)
			text := b.see(ops, to, http.StatusOK)
			require.Contains(t, text, want.text)
			require.Contains(t, text, "&lt;script&gt;alert(1)")
			require.Contains(t, text, fmt.Sprintf("What it answered (%d)", want.status))
			require.Contains(t, text, `href="/console/exports/acme/`+e.Key+`"`)
			require.Equal(t, outcome == hiring.Retrying, strings.Contains(text, "Look again"))

			again := b.send(ops, http.MethodPost, "/candidates/acme/c-1/exports", form)
			require.Equal(t, w.Header().Get("Location"), again.Header().Get("Location"), "the form was sent twice")
			require.Len(t, b.Exports(t), 1)
			b.candidate("acme", "c-2", "Else")
			require.NotContains(t, b.see(ops, "/candidates/acme/c-2?exported="+e.Key, http.StatusOK), "What became of")
			require.NotContains(t, b.see(ops, "/candidates/acme/c-1?exported=..", http.StatusOK), "What became of")
		})
	}
}

// An export that nothing is known of yet does not hold the page for long.
func TestExportUnderWay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.candidate("acme", "c-1", "Zoë")
	b.export("acme", uuid(1), hiring.Pending, func(e *hiring.Export) { e.CandidateID = "c-1" })
	text := b.see(ops, "/candidates/acme/c-1?exported="+uuid(1), http.StatusOK)
	require.Contains(t, text, "It is under way.")
	require.Contains(t, text, `href="/console/candidates/acme/c-1?exported=`+uuid(1)+`">Look again`)
}

// What is refused is said where it was asked for.
func TestRefusedExports(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.candidate("acme", "c-1", "Zoë")
	b.candidate("globex", "c-1", "Zoë")
	const step, nothing = "/candidates/acme/c-1/applications/a-c-1/step", "There is nothing at this address"
	for _, want := range []struct {
		path, field, value string
		status             int
		text               string
	}{
		{"/candidates/globex/c-1/exports", "", "", http.StatusConflict, "no configured integration"},
		{"/candidates/acme/c-1/exports", "integration", "x", http.StatusUnprocessableEntity, "no integration &#34;x&#34;"},
		{"/candidates/acme/c-2/exports", "", "", http.StatusNotFound, nothing},
		{step, "step", "applied", http.StatusConflict, "in that step already"},
		{step, "step", "", http.StatusUnprocessableEntity, "step is missing"},
		{step, "step", "fired", http.StatusNotFound, nothing},
		{"/candidates/acme/c-1/applications/a-c-2/step", "step", "hired", http.StatusNotFound, nothing},
		{"/candidates/acme/c-2/applications/a-c-1/step", "step", "hired", http.StatusNotFound, nothing},
	} {
		w := b.send(ops, http.MethodPost, want.path, url.Values{want.field: {want.value}})
		require.Equal(t, want.status, w.Code, "%s: %s", want.path, w.Body)
		require.Contains(t, w.Body.String(), want.text, want.path)
		if want.text != nothing {
			require.Contains(t, w.Body.String(), "Zoë", "it is said on the profile")
		}
	}
	require.Empty(t, b.Exports(t))
}

// A job application that enters a step with a helper is exported, and whoever moved it sees what came of that.
func TestStepsAndHelpers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.candidate("acme", "c-1", "Zoë")
	post := func(path string, form url.Values) string {
		w := b.send(ops, http.MethodPost, path, form)
		require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
		to := strings.TrimPrefix(w.Header().Get("Location"), "/console")
		return to + b.see(ops, to, http.StatusOK)
	}
	require.Contains(t, b.see(ops, "/steps/acme", http.StatusOK), "This step has no helper.")
	text := post("/steps/acme/hired/helper", url.Values{"integration": {"hris"}})
	require.Contains(t, text, "The helper is saved.")
	require.Contains(t, text, `Its helper exports to <span class="id">hris</span>`)
	require.Equal(t, 1, strings.Count(text, " checked"))
	require.Contains(t, post("/steps/acme/hired/helper", nil), "exports to every configured integration")

	const move = "/candidates/acme/c-1/applications/a-c-1/step"
	b.attempted(hiring.Delivered, 200)
	text = post(move, url.Values{"step": {"hired"}})
	require.Contains(t, text, "exported="+b.Exports(t)[0].Key)
	require.Contains(t, text, "The job application has entered the step.")
	require.Contains(t, text, "It was received.")
	require.NotContains(t, text, `<option value="hired"`)
	require.NotContains(t, post(move, url.Values{"step": {"applied"}}), "exported=")

	require.Contains(t, post("/steps/acme/hired/helper/remove", nil), "The helper is removed.")
	require.NotContains(t, post(move, url.Values{"step": {"hired"}}), "exported=")
	require.Len(t, b.Exports(t), 1)
	for path, form := range map[string]url.Values{"/steps/acme/hired/helper/remove": nil, "/steps/acme/none/helper": nil,
		"/steps/none/hired/helper": nil} {
		require.Equal(t, http.StatusNotFound, b.send(ops, http.MethodPost, path, form).Code, path)
	}
	w := b.send(ops, http.MethodPost, "/steps/acme/hired/helper", url.Values{"integration": {"x"}})
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
}

// Candidates are for recruiters and administrators; those of other tenants do not exist.
func TestCandidatesForRoles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.candidate("acme", "c-1", "Zoë")
	for _, path := range []string{"/candidates?tenant=acme", "/candidates/acme/c-1", "/steps/acme"} {
		for who, status := range map[string]int{viewer: http.StatusForbidden, operator: http.StatusForbidden,
			recruiter: http.StatusNotFound} {
			require.NotContains(t, b.see(who, path, status), "Zoë", "%s of %s", path, who)
		}
	}
	for path, form := range map[string]url.Values{
		"/candidates":                                  {"tenant": {"acme"}, "sought": {"c-1"}},
		"/candidates/acme/c-1/exports":                 {},
		"/candidates/acme/c-1/applications/a-c-1/step": {"step": {"hired"}},
		"/steps/acme/hired/helper":                     {},
		"/steps/acme/hired/helper/remove":              {},
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
	b := newBench(t)
	b.candidate("acme", "c-1", "Zoë")
	b.see(ops, "/candidates/acme/c-1", http.StatusOK)
	b.send(ops, http.MethodPost, "/candidates", url.Values{"tenant": {"acme"}, "sought": {"xZoë@example.org"}})
	b.see(ops, "/candidates?tenant=acme", http.StatusOK)
	read := map[string]int{}
	for _, entry := range b.Logged.FilterMessage("an API key read personal data").All() {
		fields := entry.ContextMap()
		require.Equal(t, "console:sub-of-"+ops, fields["key"])
		read[fmt.Sprint(fields["kind"], " ", fields["id"])]++
	}
	require.Equal(t, 1, read["candidates c-1"])
	require.Equal(t, 2, read["candidates "])
	require.Positive(t, read["job-applications a-c-1"])
	for _, entry := range b.Logged.All() {
		require.NotContains(t, fmt.Sprint(entry.Message, entry.ContextMap()), "Zoë")
	}
}
