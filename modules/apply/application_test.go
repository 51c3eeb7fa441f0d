package apply_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// What an application becomes: a candidate, a job application with its document and answers, the compliance answers
// apart.
func TestAnApplicationIsKept(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		b := setupOn(t, gatewaytest.NewOn(t, address))
		id := b.requireTaken(b.apply(application(t, code, with(fine(t), "phone", "+1 555 0100", "startDate", "2027-01-01",
			"1000125", "  ")), b.bearer(partner)...))
		db := b.Runtime.Store()
		a, err := db.JobApplication(t.Context(), "acme", id)
		require.NoError(t, err)
		require.Equal(t, code, a.Job)
		require.Equal(t, "en-US", a.LanguageCode)
		require.Nil(t, a.StartDate, "the answer startDate is not the start date entry")
		require.Equal(t, model.Status{}, a.Status, "the tenant has no steps")
		c, err := db.Candidate(t.Context(), "acme", a.Candidate)
		require.NoError(t, err)
		require.Equal(t, model.Candidate{ID: c.ID, Row: c.Row,
			Name: model.Name{Given: "Ada", Family: "Lovelace", Formatted: "Ada Lovelace"}, Email: []string{"ada@example.com"},
			Phone: []string{"+1 555 0100"}, CitizenShip: []string{"Authorized"}, ApplyDate: "2026-11-20"},
			model.Candidate{ID: c.ID, Row: c.Row, Name: c.Name, Email: c.Email,
				Phone: c.Phone, CitizenShip: c.CitizenShip, ApplyDate: c.ApplyDate, Gender: c.Gender})
		docs, _, err := db.ListApplicationDocuments(t.Context(), "acme", id, 0, 10)
		require.NoError(t, err)
		require.Len(t, docs, 1)
		require.Equal(t, []string{"Resume"}, docs[0].Descriptions)
		require.Equal(t, "resume.pdf", docs[0].FileName)
		require.Equal(t, "application/pdf", docs[0].MediaType)
		require.EqualValues(t, len(sample(t, "resume.pdf")), docs[0].Size)
		require.Len(t, b.files(), 1)

		s, err := db.ApplicationAnswers(t.Context(), "acme", id)
		require.NoError(t, err)
		require.Equal(t, "Job Board", s.Source)
		answers := map[string][]string{}
		for _, g := range s.Answers {
			answers[g.Question] = g.Values
		}
		require.Equal(t, map[string][]string{"firstName": {"Ada"}, "lastName": {"Lovelace"}, "email": {"ada@example.com"},
			"phone": {"+1 555 0100"}, "startDate": {"2027-01-01"},
			"citizenWorkStatus": {"Authorized"}, "1000123": {"Day", "Weekend | Holiday"}, "resume": nil}, answers,
			"a blank answer is as if absent, and no compliance answer is among them")
		counts, err := db.CountComplianceAnswers(t.Context(), "acme", code)
		require.NoError(t, err)
		require.Equal(t, []model.ComplianceCount{{Job: code, Group: "complianceOfccp", Question: "eeocDisability",
			Value: "I do not want to answer", Count: 1}}, counts)
	})
}

// The largest answers that are taken make a candidate that the management API takes back.
func TestLargeAnswersMakeACandidate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	countries := make([]string, 101)
	for n := range countries {
		countries[n] = fmt.Sprint("Country ", n)
	}
	b.job("acme", &model.Job{BoardCode: "LARGE", ID: "job-9", Questions: []model.Question{
		{ID: "firstName", Format: model.Text, Label: "First name"},
		{ID: "lastName", Format: model.Text, Label: "Last name"},
		{ID: "citizenWorkStatus", Format: model.Checkbox, Label: "Countries", Options: countries},
	}})
	large := func(countries []string) string {
		return application(t, "LARGE", []answered{{"firstName", strings.Repeat("x", 4092)},
			{"lastName", strings.Repeat("é", 2048)}, {"citizenWorkStatus", strings.Join(countries, "|")}})
	}
	b.requireError(b.apply(large(countries), me...), http.StatusBadRequest, "some answers are not valid: see errors",
		`[{"questionId":"citizenWorkStatus","messages":["Countries: choose at most 100 options"]}]`)
	b.requireTaken(b.apply(large(countries[:100]), me...))
	c, err := b.Runtime.Store().Candidate(t.Context(), "acme", b.applications("acme")[0].Candidate)
	require.NoError(t, err)
	require.NoError(t, c.Validate())
	require.Equal(t, strings.Repeat("x", 4092)+" é", c.Name.Formatted, "half an é is left out")
	require.Equal(t, countries[:100], c.CitizenShip)
}

func TestTheSameAddressIsTheSameCandidate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	b.job("acme", &model.Job{BoardCode: "NURSE-2", ID: "job-9", Questions: sampleQuestions(t)})
	first := b.requireTaken(b.apply(application(t, code, fine(t)), me...))
	again := b.requireTaken(b.apply(application(t, "NURSE-2",
		with(fine(t), "email", "ADA@Example.com", "firstName", "Augusta", "eeocDisability", without,
			"eeocDisabilitySignature", without,
			"eeocDisabilitySignatureDate", without)), me...))
	require.NotEqual(t, first, again)
	all := b.applications("acme")
	require.Len(t, all, 2)
	require.Equal(t, all[0].Candidate, all[1].Candidate)
	c, err := b.Runtime.Store().Candidate(t.Context(), "acme", all[0].Candidate)
	require.NoError(t, err)
	require.Equal(t, "Ada", c.Name.Given, "the person is not overwritten")
}

func TestEnteringTheFirstStepExports(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Write(t, func(tx *store.Tx) error {
		if err := tx.UpsertStep(&model.Step{Row: model.Row{Tenant: "acme"}, ID: "later", Name: "Later", Position: 1},
			b.Clock.Now()); err != nil {
			return err
		}
		return tx.UpsertStep(&model.Step{Row: model.Row{Tenant: "acme"}, ID: "new", Name: "New", Category: "New",
			Helper: &model.Helper{Integrations: []string{"hris"}}}, b.Clock.Now())
	})
	id := b.requireTaken(b.apply(application(t, code, fine(t)), b.bearer(partner)...))
	a, err := b.Runtime.Store().JobApplication(t.Context(), "acme", id)
	require.NoError(t, err)
	require.Equal(t, "new", a.Status.Step)
	exports := b.Exports(t)
	require.Len(t, exports, 1)
	require.Equal(t, model.Triggered, exports[0].Origin)
	require.Equal(t, a.Candidate, exports[0].CandidateID)
	require.NoError(t, b.Runtime.Store().LoadBody(t.Context(), exports[0]))
	require.NotContains(t, string(exports[0].Body), "I do not want to answer", "a compliance answer was exported")
	require.Contains(t, string(exports[0].Body), "ada@example.com")
}

// What the service can't export is no fault of the applicant's: the application is kept, in no step, and the service
// is told.
func TestRefusedExportKeepsNoApplicationOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Write(t, func(tx *store.Tx) error {
		tooLong := strings.Repeat("é", 255) // for the header Link
		if err := tx.UpsertCandidate(&model.Candidate{Row: model.Row{Tenant: "acme"}, ID: tooLong,
			Email: []string{"ada@example.com"}}, b.Clock.Now()); err != nil {
			return err
		}
		return tx.UpsertStep(&model.Step{Row: model.Row{Tenant: "acme"}, ID: "new", Name: "New",
			Helper: &model.Helper{Integrations: []string{"hris"}}}, b.Clock.Now())
	})
	id := b.requireTaken(b.apply(application(t, code, fine(t)), b.bearer(partner)...))
	a, err := b.Runtime.Store().JobApplication(t.Context(), "acme", id)
	require.NoError(t, err)
	require.Empty(t, a.Status.Step)
	require.Contains(t, a.Status.Unentered, "shorten candidate_url")
	docs, _, err := b.Runtime.Store().ListApplicationDocuments(t.Context(), "acme", id, 0, 10)
	require.NoError(t, err)
	require.Len(t, docs, 1, "the first try's files are gone, or there twice")
	require.Empty(t, b.Exports(t))
	told := b.Logged.FilterMessageSnippet("could not enter the first step").All()
	require.Len(t, told, 1)
	require.Equal(t, id, told[0].ContextMap()["application"])
	require.NotContains(t, told[0].ContextMap()["reason"], "ada")
	needs, err := b.Runtime.Needs(t.Context(), b.Clock.Now())
	require.NoError(t, err)
	n := slices.IndexFunc(needs, func(n model.Need) bool { return n.Kind == model.NeedUnentered })
	require.GreaterOrEqual(t, n, 0)
	require.Equal(t, int64(1), needs[n].Count)
}

// Somebody who applies again and again under another's e-mail address fills up no step: beyond a number of open ones an
// application is stored, and the sender is told nothing.
func TestManyApplicationsOfAnAddressEnterNoStep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tenant, _ := b.API.Gateway.Config.Tenant("acme")
	tenant.OpenApplications = 2
	b.Write(t, func(tx *store.Tx) error {
		return tx.UpsertStep(&model.Step{Row: model.Row{Tenant: "acme"}, ID: "new", Name: "New"}, b.Clock.Now())
	})
	me := b.bearer(partner)
	var ids []string
	for n := range 3 {
		code := fmt.Sprint("MANY-", n)
		b.job("acme", &model.Job{BoardCode: code, ID: code, Questions: sampleQuestions(t)})
		answer := b.apply(application(t, code, with(fine(t), "eeocDisability", without, "eeocDisabilitySignature", without,
			"eeocDisabilitySignatureDate", without)), me...)
		ids = append(ids, b.requireTaken(answer))
		require.Empty(t, answer.Body.String())
	}
	for n, id := range ids {
		a, err := b.Runtime.Store().JobApplication(t.Context(), "acme", id)
		require.NoError(t, err)
		require.Equal(t, n == 2, a.Unentered(), id)
		require.Equal(t, n < 2, a.Status.Step == "new", id)
	}
	found, err := b.Runtime.Store().ListJobApplications(t.Context(), "acme", store.ApplicationFilter{State: store.UnenteredApplications})
	require.NoError(t, err)
	require.Len(t, found.Items, 1)
	require.Contains(t, found.Items[0].Status.Unentered, "had 2 open job applications")
}

// A stranger who knows an e-mail address changes nothing of what recruiters saw: what comes for the same job within a day
// stands beside the first application, and enters no step.
func TestAFurtherApplicationStandsBesideTheFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Write(t, func(tx *store.Tx) error {
		return tx.UpsertStep(&model.Step{Row: model.Row{Tenant: "acme"}, ID: "new", Name: "New",
			Helper: &model.Helper{Integrations: []string{"hris"}}}, b.Clock.Now())
	})
	me := b.bearer(partner)
	first := b.requireTaken(b.apply(application(t, code, fine(t)), me...))
	b.Clock.Advance(23 * time.Hour)
	stranger := b.requireTaken(b.apply(application(t, code, with(fine(t), "firstName", "Eve")), me...))
	db := b.Runtime.Store()
	version, err := db.JobApplication(t.Context(), "acme", stranger)
	require.NoError(t, err)
	require.Equal(t, first, version.VersionOf)
	require.Empty(t, version.Status)
	versions, _, err := db.ListApplicationVersions(t.Context(), "acme", first, store.Page{})
	require.NoError(t, err)
	require.Len(t, versions, 1)
	require.Len(t, b.Exports(t), 1)
	for _, order := range []store.ApplicationOrder{store.NewestFirst, store.ByChange} {
		page, err := db.ListJobApplications(t.Context(), "acme", store.ApplicationFilter{Order: order})
		require.NoError(t, err)
		require.Len(t, page.Items, 1)
		require.Equal(t, first, page.Items[0].ID)
	}
	b.Clock.Advance(2 * time.Hour)
	later := b.requireTaken(b.apply(application(t, code, fine(t)), me...))
	a, err := db.JobApplication(t.Context(), "acme", later)
	require.NoError(t, err)
	require.Empty(t, a.VersionOf, "a day has passed")
	require.Equal(t, "new", a.Status.Step)
}

func TestMembersComeInAnyOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	var list []string
	for _, a := range fine(t) {
		value, err := json.Marshal(a.Value)
		require.NoError(t, err)
		list = append(list, fmt.Sprintf(`{"value":%s,"more":[{}],"questionId":%q}`, value, a.QuestionID))
	}
	answers := strings.Join(list, ",")
	for n, body := range []string{
		`{"answers":[` + answers + `],"source":"","jobBoardCode":"NURSE-1"}`,
		`{"more":{"a":[1,null]},"source":"","answers":[` + answers + `],"jobBoardCode":"NURSE-1"}`,
		`{"jobBoardCode":"NURSE-1","answers":[` + answers + `],"source":""}`,
		` { "jobBoardCode" : "NURSE-\u0031" , "source":"", "answers":[` + answers + `] } `,
	} {
		id := b.requireTaken(b.apply(body, me...))
		docs, _, err := b.Runtime.Store().ListApplicationDocuments(t.Context(), "acme", id, 0, 10)
		require.NoError(t, err)
		require.Len(t, docs, 1, n)
		require.EqualValues(t, len(sample(t, "resume.pdf")), docs[0].Size)
	}
	require.Len(t, b.files(), 4)
}

func TestAllThatIsWrongIsToldAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	answers := append(with(fine(t), "phone", "123", "email", without, "startDate", "2026-02-29", "citizenWorkStatus",
		"authorized"),
		answered{"nobody asked", "x"}, answered{"firstName", "Augusta"}, answered{"nobody asked", "y"})
	w := b.apply(application(t, code, answers), me...)
	require.Equal(t, http.StatusBadRequest, w.Code)
	var body struct {
		Code    int
		Message string
		Errors  []struct {
			QuestionID string
			Messages   []string
		}
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
	require.Equal(t, http.StatusBadRequest, body.Code)
	var ids []string
	for _, item := range body.Errors {
		ids = append(ids, item.QuestionID)
		require.NotEmpty(t, item.Messages)
	}
	require.Equal(t, []string{"firstName", "email", "phone", "startDate", "citizenWorkStatus", "nobody asked"}, ids,
		"in the order of the questions")
	require.Equal(t, []string{"Phone: at least 7 digits are needed"}, body.Errors[2].Messages)
	require.Empty(t, b.applications("acme"))
	require.Empty(t, b.files(), "the resume was kept")
	uploads, err := b.Runtime.Store().ListUploads(t.Context(), time.Now().Add(time.Hour), 0, 10)
	require.NoError(t, err)
	require.Empty(t, uploads)
}

func TestAJobThatClosesMeanwhile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	body := application(t, code, fine(t))
	w := b.askReading(&closing{Reader: strings.NewReader(body), b: b}, me...)
	b.requireError(w, http.StatusBadRequest, noJob, "null")
	require.Empty(t, b.applications("acme"))
	require.Empty(t, b.files())
}

// The day of an application is that of the tenant's zone.
func TestTheDayIsThatOfTheTenant(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tenant, _ := b.API.Gateway.Config.Tenant("acme")
	tenant.Zone = "Pacific/Kiritimati" // 14 hours ahead of UTC
	b.requireTaken(b.apply(application(t, code, fine(t)), b.bearer(partner)...))
	c, err := b.Runtime.Store().Candidate(t.Context(), "acme", b.applications("acme")[0].Candidate)
	require.NoError(t, err)
	require.Equal(t, b.Clock.Now().UTC().Add(14*time.Hour).Format(time.DateOnly), c.ApplyDate)
	require.NotEqual(t, b.Clock.Now().UTC().Format(time.DateOnly), c.ApplyDate)
}

// A job with a time closes by itself: from then on nobody applies, and the feed does not have it.
func TestAJobClosesByItself(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	b.job("acme", &model.Job{BoardCode: "SOON", ID: "soon", Questions: sampleQuestions(t), Syndicate: true, LanguageCode: "de",
		ClosesAt: b.Clock.Now().Add(time.Hour).In(time.FixedZone("", -8*60*60))})
	body := application(t, "SOON", with(fine(t), "eeocDisability", without, "eeocDisabilitySignature", without,
		"eeocDisabilitySignatureDate", without))
	id := b.requireTaken(b.apply(body, me...))
	taken, err := b.Runtime.Store().JobApplication(t.Context(), "acme", id)
	require.NoError(t, err)
	require.Equal(t, "de", taken.LanguageCode)
	feed := func() string { return b.ask(http.MethodGet, "/feed/jobs.json?tenant=acme", "").Body.String() }
	require.Contains(t, feed(), "SOON")
	db := b.Runtime.Store()
	n, err := db.CloseJobs(t.Context(), b.Clock.Now())
	require.NoError(t, err)
	require.Zero(t, n)

	b.Clock.Advance(time.Hour)
	b.requireError(b.apply(body, me...), http.StatusBadRequest, noJob, "null")
	require.NotContains(t, feed(), "SOON")
	n, err = db.CloseJobs(t.Context(), b.Clock.Now())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	j, err := db.Job(t.Context(), "acme", "SOON")
	require.NoError(t, err)
	require.True(t, j.Closed)
	n, err = db.CloseJobs(t.Context(), b.Clock.Now())
	require.NoError(t, err)
	require.Zero(t, n)
}

// Who applied is in the log, by ids alone.
func TestTheLogTellsWhoApplied(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.requireTaken(b.apply(application(t, code, fine(t)), append(b.bearer(partner), "X-Request-Id", "r-1")...))
	told := b.Logged.FilterMessage("application accepted").All()
	require.Len(t, told, 1)
	require.Equal(t, map[string]any{"user": "u-1", "tenant": "acme", "application": id, "result": "accepted",
		"request": "r-1"}, told[0].ContextMap())
}
