package apply_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/modules/apply"
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

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := append(b.bearer(partner), "Idempotency-Key", "k-1")
	body := application(t, code, fine(t))
	require.Equal(t, http.StatusBadRequest, b.apply(application(t, code, []answered{}), me...).Code,
		"what was refused takes no key")
	first := b.apply(body, me...)
	id := b.requireTaken(first)
	require.Empty(t, first.Header().Get("Idempotency-Replayed"))
	again := b.apply(body, me...)
	require.Equal(t, id, b.requireTaken(again), "a repeat is the same application")
	require.Equal(t, "true", again.Header().Get("Idempotency-Replayed"))
	require.Len(t, b.applications("acme"), 1)
	require.Len(t, b.files(), 1)
	b.requireError(b.apply(body+" ", me...), http.StatusUnprocessableEntity,
		"this Idempotency-Key was sent with another application before: take a new one for each", "null")
	for _, keys := range [][]string{{""}, {"a b"}, {strings.Repeat("k", 256)}, {"a", "b"}} {
		headers := b.bearer(partner)
		for _, k := range keys {
			headers = append(headers, "Idempotency-Key", k)
		}
		b.requireError(b.apply(body, headers...), http.StatusBadRequest,
			"send one Idempotency-Key, of 1 to 255 visible ASCII characters", "null")
	}
	b.Write(t, func(tx *store.Tx) error {
		u, err := b.Runtime.Store().APIUser(t.Context(), "acme", "u-1")
		if err != nil {
			return err
		}
		u.ID, u.Name = "u-3", "second@example.com"
		return tx.InsertAPIUser(u)
	})
	other := append(b.bearer("second@example.com"), "Idempotency-Key", "k-1")
	require.NotEqual(t, id, b.requireTaken(b.apply(body, other...)), "a key is its user's own")
	b.Clock.Advance(14 * 24 * time.Hour)
	require.Equal(t, id, b.requireTaken(b.apply(body, append(b.bearer(partner), "Idempotency-Key", "k-1")...)),
		"repeats may last for two weeks")
	b.Clock.Advance(24 * time.Hour)
	require.NotEqual(t, id, b.requireTaken(b.apply(body, append(b.bearer(partner), "Idempotency-Key", "k-1")...)))
}

// Whoever has a copy of the database can't try guesses at an application's answers against what is kept of its request.
func TestKeptFingerprintsCanNotBeGuessed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	body := application(t, code, fine(t))
	for _, key := range []string{"k-1", "k-2"} {
		b.requireTaken(b.apply(body, append(b.bearer(partner), "Idempotency-Key", key)...))
	}
	require.Equal(t, 2, b.Fingerprints(t), "they are made of the body alone")
}

// A repeat gets the answer of before, whatever became of the job since.
func TestRepeatsAreNotJudgedAnew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := append(b.bearer(partner), "Idempotency-Key", "k-1")
	body, other := application(t, code, fine(t)), application(t, code, with(fine(t), "email", "no address"))
	id := b.requireTaken(b.apply(body, me...))
	for n, change := range []func(){
		func() {},
		func() {
			b.job("acme", &model.Job{BoardCode: code, ID: "job-1",
				Questions: []model.Question{{ID: "resume", Format: model.File, Label: "Resume"},
					{ID: "why", Format: model.Text, Label: "Why", IsRequired: true}}})
		},
		func() { b.job("acme", &model.Job{BoardCode: code, ID: "job-1", Closed: true}) },
	} {
		change()
		require.Equal(t, id, b.requireTaken(b.apply(body, me...)), n)
		b.requireError(b.apply(other, me...), http.StatusUnprocessableEntity,
			"this Idempotency-Key was sent with another application before: take a new one for each", "null")
	}
	require.Equal(t, http.StatusBadRequest, b.apply(body, b.bearer(partner)...).Code,
		"a request without the key is judged")
	require.Len(t, b.applications("acme"), 1)
	require.Len(t, b.files(), 1)
	uploads, err := b.Runtime.Store().ListUploads(t.Context(), time.Now().Add(time.Hour), 0, 10)
	require.NoError(t, err)
	require.Empty(t, uploads)
}

// Of many requests with one key at once one is taken; the others are told to wait, or get its answer.
func TestOneKeyManyRequests(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := append(b.bearer(partner), "Idempotency-Key", "k-1")
	body := application(t, code, fine(t))
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			w := b.apply(body, me...)
			if w.Code == http.StatusConflict {
				require.Contains(t, w.Body.String(), "is being taken in")
				require.NotEmpty(t, w.Header().Get("Retry-After"))
				return
			}
			b.requireTaken(w)
		})
	}
	group.Wait()
	require.Len(t, b.applications("acme"), 1)
	require.Len(t, b.files(), 1)
}

// So it is where each request comes to another node, which knows nothing of the others.
func TestOneKeyManyNodes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	headers := append(b.bearer(partner), "Idempotency-Key", "k-1")
	body := application(t, code, fine(t))
	ids := make([]string, 16)
	var group sync.WaitGroup
	for n := range ids {
		api := *b.API
		api.Guards = apply.NewGuards(b.Clock.Now)
		node := &fixture{Fixture: b.Fixture, API: apply.New(api), t: t}
		group.Go(func() { ids[n] = node.requireTaken(node.apply(body, headers...)) })
	}
	group.Wait()
	require.Len(t, slices.Compact(ids), 1)
	require.Len(t, b.applications("acme"), 1)
	require.Len(t, b.files(), 1)
}

func TestSizes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	pdf := func(size int) string {
		content := append([]byte("%PDF-1.4\n"), make([]byte, size-9)...)
		return base64.StdEncoding.EncodeToString(content)
	}
	answering := func(board, question, plain string) string { // which the detector would watch being escaped
		return strings.Replace(application(t, board, []answered{{question, "PLAIN"}}), "PLAIN", plain, 1)
	}
	const mega = 1 << 20
	b.requireTaken(b.apply(application(t, code, with(fine(t), "resume", pdf(2*mega-1))), me...))
	w := b.apply(application(t, code, with(fine(t), "resume", pdf(2*mega))), me...)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), `{"questionId":"resume","messages":["Resume: `)
	require.Len(t, b.files(), 1)

	b.job("acme", &model.Job{BoardCode: "FILES", ID: "job-5",
		Questions: []model.Question{{ID: "letter", Format: model.File, Label: "Letter"},
			{ID: "why", Format: model.Textarea, Label: "Why"}}})
	b.requireTaken(b.apply(answering("FILES", "letter", pdf(10*mega-1)), me...))
	require.Contains(t, b.apply(answering("FILES", "letter", pdf(10*mega)), me...).Body.String(),
		`"questionId":"letter"`)
	b.requireTaken(b.apply(answering("FILES", "why", strings.Repeat("x", mega)), me...))
	require.Contains(t, b.apply(answering("FILES", "why", strings.Repeat("x", mega+1)), me...).Body.String(),
		`"questionId":"why"`)

	const tooLarge = "the application is larger than any job here asks for"
	b.requireError(b.apply(answering("FILES", "nobody", strings.Repeat("x", 64*mega)), me...),
		http.StatusRequestEntityTooLarge, tooLarge, "null")
	many := make([]model.Question, 6)
	for n := range many {
		many[n] = model.Question{ID: fmt.Sprint("f-", n), Format: model.File, Label: "File"}
	}
	b.job("acme", &model.Job{BoardCode: "MANY", ID: "job-6", Questions: many})
	w = b.apply(answering("FILES", "nobody", strings.Repeat("x", 64*mega)), me...)
	require.Equal(t, http.StatusBadRequest, w.Code, "6 files of 14 MiB and 2 MiB more make 86")
	require.Contains(t, w.Body.String(), "nobody")
	b.requireError(b.apply(answering("FILES", "nobody", strings.Repeat("x", 86*mega)), me...),
		http.StatusRequestEntityTooLarge, tooLarge, "null")
	require.Len(t, b.files(), 2)
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

// Who is revoked while their application arrives has not applied, and learns nothing of what they sent before.
func TestATokenIsRevokedWhileABodyArrives(t *testing.T) {
	t.Parallel()
	b := setup(t)
	body := application(t, code, fine(t))
	for n, end := range []func(tx *store.Tx) (bool, error){
		func(tx *store.Tx) (bool, error) { return tx.ResetAPIUser("acme", "u-1", "another") },
		func(tx *store.Tx) (bool, error) { return tx.DisableAPIUser("acme", "u-1", b.Clock.Now()) },
	} {
		if n > 0 {
			hash, err := hashed()
			require.NoError(t, err)
			b.Write(t, func(tx *store.Tx) error {
				_, err := tx.ResetAPIUser("acme", "u-1", hash)
				return err
			})
		}
		me := append(b.bearer(partner), "Idempotency-Key", "i-1")
		if n > 0 {
			b.requireTaken(b.apply(body, me...))
		}
		kept, files := len(b.applications("acme")), len(b.files())
		w := b.askReading(io.MultiReader(strings.NewReader(body[:len(body)/2]), doing(func() {
			b.Write(t, func(tx *store.Tx) error {
				_, err := end(tx)
				return err
			})
		}), strings.NewReader(body[len(body)/2:])), me...)
		b.requireError(w, http.StatusUnauthorized,
			"the token is unknown, expired or revoked: ask /v2/authentication for a new one", "null")
		require.Contains(t, w.Header().Get("WWW-Authenticate"), "invalid_token")
		require.Len(t, b.applications("acme"), kept)
		require.Len(t, b.files(), files)
		require.Equal(t, n, b.Fingerprints(t))
	}
}

// doing is empty, and does something when it is read.
type doing func()

func (d doing) Read([]byte) (int, error) {
	d()
	return 0, io.EOF
}

// What breaks off is the sender's affair, however it does so, and leaves nothing behind.
func TestABodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bearer := b.bearer(partner)[1]
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	begun := application(t, code, fine(t))
	begun = begun[:strings.Index(begun, "JVBERi0")+200] // within the resume, which goes to the disk meanwhile
	for name, sent := range map[string]string{
		"bad chunk":  fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\nnot a length\r\n", len(begun), begun),
		"long chunk": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s and more\r\n0\r\n\r\n", len(begun), begun),
		"bad head":   "Transfer-Encoding: chunked\r\n\r\n{\r\n",
		"short":      fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(begun)+1, begun),
	} {
		connection, err := net.Dial("tcp", server.Listener.Addr().String())
		require.NoError(t, err)
		_, err = fmt.Fprintf(connection, "POST /v2/application HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Type: "+
			"application/json\r\n%s", bearer, sent)
		require.NoError(t, err)
		require.NoError(t, connection.(*net.TCPConn).CloseWrite())
		answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
		require.NoError(t, err, name)
		raw, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, connection.Close())
		require.Equal(t, http.StatusBadRequest, answer.StatusCode, "%s: %s", name, raw)
		require.Contains(t, string(raw), `"message":"the body broke off: send it again","errors":null`, name)
	}
	require.Empty(t, b.Logged.FilterLevelExact(zap.ErrorLevel).All())
	require.Empty(t, b.applications("acme"))
	require.Empty(t, b.files())
}
