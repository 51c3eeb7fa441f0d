package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// A job is changed by a form: its closing time is one of the tenant's zone, and all that the form does not have stays.
func TestJobIsChangedByAForm(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.initech()
	const page = "/jobs/initech/NURSE-1"
	b.job("initech", "NURSE-1", "Ward")
	b.post(ops, "/tenants/initech/zone", url.Values{"zone": {"Europe/Berlin"}}, http.StatusSeeOther)
	require.Contains(t, b.see(ops, "/tenants/initech", http.StatusOK), `value="Europe/Berlin"`)
	b.post(ops, "/tenants/initech/zone", url.Values{"zone": {"Mars/Phobos"}}, http.StatusUnprocessableEntity)
	b.post(ops, "/tenants/acme/zone", url.Values{"zone": {"UTC"}}, http.StatusConflict) // of the Caddyfile
	require.Contains(t, b.see(ops, page, http.StatusOK), "(Europe/Berlin)")

	form := url.Values{"title": {"Ward nurse"}, "place": {"Berlin <Mitte>"}, "description": {"Nights\r\nand days"},
		"closesAt": {"2099-07-01T18:00"}}
	b.post(ops, page, form, http.StatusSeeOther)
	job := func() *model.Job {
		j, err := b.Runtime.Store().Job(t.Context(), "initech", "NURSE-1")
		require.NoError(t, err)
		return j
	}
	j := job()
	require.Equal(t, []any{"Ward nurse", "Berlin <Mitte>", "Nights\nand days"}, []any{j.Title, j.Place, j.Description})
	require.Equal(t, time.Date(2099, 7, 1, 16, 0, 0, 0, time.UTC), j.ClosesAt.UTC())
	require.Len(t, j.Questions, len(model.Formats))
	text := b.see(ops, page, http.StatusOK)
	require.Contains(t, text, `value="2099-07-01T18:00"`)
	require.Contains(t, text, "Berlin &lt;Mitte&gt;")

	form.Set("closesAt", "soon")
	refused := b.post(ops, page, form, http.StatusBadRequest)
	require.Contains(t, refused, "a time that can’t be read")
	require.Contains(t, refused, `value="soon"`)
	form.Set("closesAt", "")
	form.Set("description", strings.Repeat("x", 20_000))
	require.Contains(t, b.post(ops, page, form, http.StatusUnprocessableEntity), "description")
	form.Set("description", "")
	form.Set("closed", "yes")
	b.post(ops, page, form, http.StatusSeeOther)
	require.True(t, job().ClosesAt.IsZero())
	require.True(t, job().Closed)
	form.Set("version", `"1"`)
	b.post(ops, page, form, http.StatusPreconditionFailed)
	b.post(recruiter, page, form, http.StatusNotFound)
	b.post(operator, "/tenants/acme/zone", url.Values{"zone": {"UTC"}}, http.StatusForbidden)
}

// The preview of a job's form takes no more signs than the Apply API does.
func TestFormOfAJobHasMaxLength(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	few := 7
	b.Write(t, func(tx *store.Tx) error {
		return tx.UpsertJob(&model.Job{Row: model.Row{Tenant: "acme"}, BoardCode: "JOB", ID: "job", Questions: []model.Question{
			{ID: "line", Format: model.Text, Label: "Line", MaxLength: &few},
			{ID: "lines", Format: model.Textarea, Label: "Lines", MaxLength: &few}}}, b.Clock.Now())
	})
	text := b.see(ops, "/jobs/acme/JOB", http.StatusOK)
	require.Regexp(t, `<input id="f0" name="answer.line" type="text" value="" maxlength="7"`, text)
	require.Regexp(t, `<textarea id="f1" name="answer.lines" maxlength="7"`, text)
}
