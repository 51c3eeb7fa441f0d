package console

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// attempted does what the workflow of the next export of acme would: it makes the first attempt.
func (b *fixture) attempted(outcome model.Outcome, status int) {
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

// Whoever has exported a candidate sees what came of the first attempt, and what the partner answered.
func TestExportingACandidate(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[model.Outcome]struct {
		status int
		text   string
	}{
		model.Delivered: {202, "It was received."},
		model.Retrying:  {422, "It was not received. It is tried again by itself, next in 5 min."},
		model.Failed:    {400, "It was not received, and is not tried again."},
		model.Held:      {410, "It waits until the integration delivers again."},
	} {
		t.Run(string(outcome), func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
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
			require.Equal(t, outcome == model.Retrying, strings.Contains(text, "Look again"))

			again := b.send(ops, http.MethodPost, "/candidates/acme/c-1/exports", form)
			require.Equal(t, w.Header().Get("Location"), again.Header().Get("Location"), "the form was sent twice")
			require.Len(t, b.Exports(t), 1)
			b.candidate("acme", "c-2", "Else")
			require.NotContains(t, b.see(ops, "/candidates/acme/c-2?exported="+e.Key, http.StatusOK), `id="exported"`)
			require.NotContains(t, b.see(ops, "/candidates/acme/c-1?exported=..", http.StatusOK), `id="exported"`)
		})
	}
}

// An export that nothing is known of yet does not hold the page for long.
func TestExportUnderWay(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.candidate("acme", "c-1", "Zoë")
	b.export("acme", uuid(1), model.Pending, func(e *model.Export) { e.CandidateID = "c-1" })
	text := b.see(ops, "/candidates/acme/c-1?exported="+uuid(1), http.StatusOK)
	require.Contains(t, text, "It is under way.")
	require.Contains(t, text, `href="/console/candidates/acme/c-1?exported=`+uuid(1)+`">Look again`)
}

// What is refused is said where it was asked for.
func TestRefusedExports(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.candidate("acme", "c-1", "Zoë")
	b.candidate("globex", "c-1", "Zoë")
	const step, nothing = "/candidates/acme/c-1/applications/a-c-1/step", "There is nothing at this address"
	for _, want := range []struct {
		path, field, value string
		status             int
		text               string
	}{
		{"/candidates/globex/c-1/exports", "", "", http.StatusConflict, "no integration that"},
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
	b := newFixture(t)
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
	require.Contains(t, post("/steps/acme/hired/helper", nil), "exports to every integration")

	const move = "/candidates/acme/c-1/applications/a-c-1/step"
	b.attempted(model.Delivered, 200)
	text = post(move, url.Values{"step": {"hired"}})
	require.Contains(t, text, "exported="+b.Exports(t)[0].Key)
	require.Contains(t, text, "The job application has entered the step.")
	require.Contains(t, text, "It was received.")
	require.NotContains(t, text, `name="step"><option value="hired"`)
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

// The form of a helper has an integration that was removed as well: without it, saving the form as it is would make a
// helper that exports to all.
func TestHelperOfARemovedIntegration(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Write(t, func(tx *store.Tx) error {
		return tx.UpsertStep(&model.Step{Row: model.Row{Tenant: "acme"}, ID: "hired", Name: "Hired",
			Helper: &model.Helper{Integrations: []string{"gone"}}}, b.Clock.Now())
	})
	text := b.see(ops, "/steps/acme", http.StatusOK)
	require.Contains(t, text, `name="integration" value="gone" checked`)
	require.NotContains(t, text, `name="integration" value="hris" checked`)
	require.Contains(t, text, `<span class="id">gone</span> (removed)`)
	w := b.send(ops, http.MethodPost, "/steps/acme/hired/helper", url.Values{"integration": {"gone"}})
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	require.Contains(t, b.see(ops, "/steps/acme", http.StatusOK), `name="integration" value="gone" checked`)
}

// The workflow is changed a step at a time, and nobody overwrites what another person saved meanwhile.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	const page = "/steps/acme"
	version := func() string {
		text := b.see(ops, page, http.StatusOK)
		return html.UnescapeString(regexp.MustCompile(`name="version" value="([^"]*)"`).FindStringSubmatch(text)[1])
	}
	post := func(path string, status int, pairs ...string) string {
		form := url.Values{"version": {version()}}
		for n := 0; n < len(pairs); n += 2 {
			form.Set(pairs[n], pairs[n+1])
		}
		w := b.send(ops, http.MethodPost, path, form)
		require.Equal(t, status, w.Code, w.Body)
		return w.Body.String()
	}
	workflow := func(want ...string) {
		t.Helper()
		text := b.see(ops, page, http.StatusOK)
		got := []string{}
		for _, found := range regexp.MustCompile(`<h2 id="step-([^"]+)">`).FindAllStringSubmatch(text, -1) {
			got = append(got, found[1])
		}
		require.Equal(t, want, got)
	}
	for _, id := range []string{"applied", "interview", "hired"} {
		post(page, http.StatusSeeOther, "step", id, "name", hostile[0])
	}
	post(page+"/hired/helper", http.StatusSeeOther, "version", "")
	workflow("applied", "interview", "hired")
	require.Contains(t, post(page, http.StatusConflict, "step", "hired", "name", "Hired"), "a step of this id already")
	post(page, http.StatusUnprocessableEntity, "step", "No step", "name", "Hired")
	stale := version()
	post(page+"/hired", http.StatusSeeOther, "name", "Hired", "category", "New", "place", "1")
	workflow("hired", "applied", "interview")
	text := b.see(ops, page+"?done=step-saved", http.StatusOK)
	require.Contains(t, text, "<bdi>Hired</bdi></h2>")
	require.Contains(t, text, "exports to every integration", "it keeps its helper")
	text = post(page+"/applied/remove", http.StatusPreconditionFailed, "version", stale)
	require.Contains(t, text, "changed since you read it")
	post(page+"/applied", http.StatusSeeOther, "name", "Applied", "place", "99")
	workflow("hired", "interview", "applied")
	post(page+"/applied", http.StatusBadRequest, "name", "Applied", "place", "first")
	post(page+"/none", http.StatusNotFound, "name", "Applied", "place", "1")
	post(page+"/none/remove", http.StatusNotFound)
	post(page+"/interview/remove", http.StatusSeeOther)
	workflow("hired", "applied")
}

// Custom fields are saved as they are typed. What is refused stays in the form, and nobody overwrites what another
// person saved meanwhile.
func TestCustomFields(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.candidate("acme", "c-1", hostile[0])
	const path = "/candidates/acme/c-1/fields"
	version := func() string {
		text := b.see(ops, "/candidates/acme/c-1", http.StatusOK)
		return html.UnescapeString(regexp.MustCompile(`name="version" value="([^"]+)"`).FindStringSubmatch(text)[1])
	}
	stale := version()
	form := url.Values{"version": {stale}, "field": {"cf-1", "", ""}, "name": {"Shift", hostile[2], ""},
		"type": {"text", "date", ""}, "value": {hostile[0], "", ""}}
	w := b.send(ops, http.MethodPost, path, form)
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	c, err := b.Runtime.Store().Candidate(t.Context(), "acme", "c-1")
	require.NoError(t, err)
	require.Len(t, c.CustomFields, 2)
	require.Equal(t, model.CustomField{ID: "cf-1", Name: "Shift", Type: "text", Value: hostile[0]}, c.CustomFields[0])
	require.Equal(t, hostile[2], c.CustomFields[1].Name)
	require.NotEmpty(t, c.CustomFields[1].ID)
	require.Equal(t, []string{"x" + hostile[0] + "@example.org"}, c.Email, "the rest stays")

	w = b.send(ops, http.MethodPost, path, form)
	require.Equal(t, http.StatusPreconditionFailed, w.Code)
	require.Contains(t, w.Body.String(), "It was changed since you read it.")
	form = url.Values{"version": {version()}, "field": {""}, "name": {"Notice"}, "type": {""}, "value": {"4"}}
	w = b.send(ops, http.MethodPost, path, form)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), "customFields[0].type is missing")
	require.Contains(t, w.Body.String(), `name="name" value="Notice"`, "what was typed is still there")
	form.Set("version", stale)
	require.Contains(t, b.send(ops, http.MethodPost, path, form).Body.String(),
		`name="version" value="`+html.EscapeString(stale)+`"`, "once it is corrected, it is still stale")
	form.Del("value")
	require.Equal(t, http.StatusBadRequest, b.send(ops, http.MethodPost, path, form).Code)
	form = url.Values{"version": {version()}, "field": {""}, "name": {""}, "type": {""}, "value": {""}}
	require.Equal(t, http.StatusSeeOther, b.send(ops, http.MethodPost, path, form).Code)
	c, err = b.Runtime.Store().Candidate(t.Context(), "acme", "c-1")
	require.NoError(t, err)
	require.Empty(t, c.CustomFields)
}

// What an applicant agreed to holds through the day, in the tenant's zone.
func TestKeepUntil(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.candidate("acme", "c-1", "Zoë")
	const path = "/candidates/acme/c-1/applications/a-c-1/keep"
	for _, day := range []string{"2027-01-01", "", "2027-02-28"} {
		w := b.send(ops, http.MethodPost, path, url.Values{"date": {day}})
		require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
		a, err := b.Runtime.Store().JobApplication(t.Context(), "acme", "a-c-1")
		require.NoError(t, err)
		if day == "" {
			require.Zero(t, a.KeepUntil)
			require.Equal(t, "/console/candidates/acme/c-1?done=no-keep", w.Header().Get("Location"))
			continue
		}
		require.Equal(t, day, a.KeepUntil.AddDate(0, 0, -1).Format(time.DateOnly))
		require.Contains(t, b.see(ops, "/candidates/acme/c-1?done=keep", http.StatusOK), `value="`+day+`"`)
	}
	require.Equal(t, http.StatusBadRequest, b.send(ops, http.MethodPost, path, url.Values{"date": {"soon"}}).Code)
}

// A start date is set and taken away; the id of its field stays while there is one.
func TestStartDate(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.candidate("acme", "c-1", "Zoë")
	const path = "/candidates/acme/c-1/applications/a-c-1/start-date"
	for _, date := range []string{"2027-01-01", "", "2027-02-01"} {
		before, err := b.Runtime.Store().JobApplication(t.Context(), "acme", "a-c-1")
		require.NoError(t, err)
		w := b.send(ops, http.MethodPost, path, url.Values{"date": {date}})
		require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
		after, err := b.Runtime.Store().JobApplication(t.Context(), "acme", "a-c-1")
		require.NoError(t, err)
		require.Equal(t, before.Status, after.Status)
		require.Equal(t, before.Education, after.Education)
		if date == "" {
			require.Nil(t, after.StartDate)
			require.Equal(t, "/console/candidates/acme/c-1?done=no-start-date", w.Header().Get("Location"))
			continue
		}
		require.Equal(t, date, after.StartDate.Date)
		if before.StartDate != nil {
			require.Equal(t, before.StartDate.ID, after.StartDate.ID)
		}
		require.Contains(t, b.see(ops, "/candidates/acme/c-1?done=start-date", http.StatusOK), `value="`+date+`"`)
	}
	w := b.send(ops, http.MethodPost, path, url.Values{"date": {"tomorrow"}})
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), "startDate.date is no day")
	w = b.send(ops, http.MethodPost, "/candidates/acme/c-2/applications/a-c-1/start-date", nil)
	require.Equal(t, http.StatusNotFound, w.Code)
}

// A job application that has ended says how, and can only be opened again.
func TestJobApplicationsEnd(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.candidate("acme", "c-1", "Zoë")
	const application = "/candidates/acme/c-1/applications/a-c-1"
	send := func(verb string, form url.Values) string {
		w := b.send(ops, http.MethodPost, application+"/"+verb, form)
		require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
		return b.see(ops, strings.TrimPrefix(w.Header().Get("Location"), "/console"), http.StatusOK)
	}
	text := send("end", url.Values{"as": {"rejected"}, "reason": {"no <licence>"}, "once": {"one-two-three"}})
	require.Contains(t, text, "The job application has ended.")
	require.Contains(t, text, "<span>rejected</span>")
	require.Contains(t, text, "no &lt;licence&gt;")
	require.NotContains(t, text, application+"/step")
	require.NotContains(t, text, application+"/end")
	text = send("reopen", url.Values{"once": {"two-three-four"}})
	require.Contains(t, text, "The job application is open again.")
	require.Contains(t, text, application+"/step")
	w := b.send(ops, http.MethodPost, application+"/end", url.Values{"as": {"fired"}, "once": {"three-four"}})
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), "none of hired, rejected")
}

// What was sent again under the same address is shown beside the first, and exported when somebody chooses it.
func TestVersionsOfAJobApplicationAreShown(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.candidate("acme", "c-1", "Zoë")
	b.Write(t, func(tx *store.Tx) error {
		return tx.UpsertJobApplication(&model.JobApplication{Row: model.Row{Tenant: "acme"}, ID: "a-again", Candidate: "c-1",
			VersionOf: "a-c-1"}, b.Clock.Now())
	})
	text := b.see(ops, "/candidates/acme/c-1", http.StatusOK)
	require.Contains(t, text, "Sent again")
	require.Contains(t, text, "/applications/a-again/answers")
	require.Equal(t, 1, strings.Count(text, `aria-labelledby="application-`), "it is no job application of its own")
	w := b.send(ops, http.MethodPost, "/candidates/acme/c-1/applications/a-again/choose", url.Values{"once": {"one-two-three"}})
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	text = b.see(ops, strings.TrimPrefix(w.Header().Get("Location"), "/console"), http.StatusOK)
	require.Contains(t, text, "The next export has these files.")
	require.Contains(t, text, "exports have these files")
	require.Contains(t, text, "/applications/a-c-1/choose")
}
