package hropen_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hropen"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

// testingT is a test or a run of a property.
type testingT interface {
	require.TestingT
	Helper()
}

func namesFor(t testingT, service string) webhook.Names {
	t.Helper()
	n, err := webhook.NamesFor(service)
	require.NoError(t, err)
	return n
}

func validatorFor(t testingT, service string) *schemas.Validator {
	t.Helper()
	v, err := schemas.New(service)
	require.NoError(t, err)
	return v
}

func requireValid(t testingT, v *schemas.Validator, body []byte) {
	t.Helper()
	doc, err := schemas.Guard(body)
	require.NoError(t, err)
	require.Empty(t, v.Export(doc))
}

func sample(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "samples", name))
	require.NoError(t, err)
	return b
}

// tokens are the JSON tokens of a body: its values and the order of its keys, whatever the white space and escapes.
func tokens(t *testing.T, body []byte) (all []string) {
	t.Helper()
	d := jsontext.NewDecoder(bytes.NewReader(body))
	for {
		token, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, string(token.Kind())+token.String())
	}
}

// full is the candidate of export-full.json.
func full() (*model.Candidate, []hropen.Application) {
	c := &model.Candidate{
		ID:           "c0a8b5f2-6c1e-4c55-9a53-0d2f6a1d7e10",
		AlternateIDs: []string{"184467"},
		Name:         model.Name{Formatted: "Zoë Ødegård-O'Neill", Given: "Zoë", Family: "Ødegård-O'Neill"},
		Gender:       "Female",
		CitizenShip:  []string{"I am authorized to work in this country for any employer"},
		ApplyDate:    "2026-10-02",
		Address: []model.Address{{
			Subdivisions: []model.Subdivision{{Type: "state", Value: "OR"}},
			City:         "Portland",
			PostalCode:   "97205",
			Line:         "1120 SW 5th Ave, Apt #9",
			Formatted:    "1120 SW 5th Ave, Apt #9\nPortland, OR 97205",
		}},
		Phone: []string{"+1 (503) 555-0142"},
		Email: []string{"zoe.odegard@example.org"},
		Web:   `<a href="https://zoe.example.org">zoe.example.org</a>`,
		CustomFields: []model.CustomField{
			{ID: "cf-71", Name: "Preferred shift", Type: "text", Value: "Night"},
			{ID: "cf-72", Name: "Notice (weeks)", Type: "number", Value: "4"},
		},
	}
	a := hropen.Application{
		JobApplication: &model.JobApplication{
			ID:           "5f0c7d9e-1b1a-4a35-8d0e-9f5f5a4f3a21",
			LegacyID:     "99120034",
			Candidate:    c.ID,
			LanguageCode: "en-US",
			Education:    []model.Education{{Levels: []string{"Bachelor's degree"}}},
			StartDate:    &model.StartDate{ID: "sd-1", Date: "2026-12-07"},
			Status: model.Status{
				Name: "Offer accepted", Category: "Hired", EnteredAt: time.Date(2026, 11, 12, 16, 4, 59, 0, time.UTC),
			},
		},
		Job: &model.Job{
			ID:           "job-3b7e",
			LegacyID:     "55012",
			Title:        "Registered Nurse – Night Shift",
			URI:          "https://jobs.example.com/positions/job-3b7e",
			CustomFields: []model.CustomField{{ID: "cf-90", Name: "Cost centre", Type: "text", Value: "4411-07"}},
		},
		Attachments: []hropen.Attachment{
			{ID: "doc-1", Descriptions: []string{"Resume"}, URL: "http://127.0.0.1:9099/documents/doc-1"},
			{ID: "doc-2", Descriptions: []string{"Nursing licence"}, URL: "http://127.0.0.1:9099/documents/doc-2"},
		},
	}
	return c, []hropen.Application{a}
}

func TestTheFullSampleIsBuilt(t *testing.T) {
	t.Parallel()
	c, apps := full()
	got, err := hropen.Build(namesFor(t, "Service"), c, apps)
	require.NoError(t, err)
	want := sample(t, "export-full.json")
	require.JSONEq(t, string(want), string(got))
	require.Equal(t, tokens(t, want), tokens(t, got))
	requireValid(t, validatorFor(t, "Service"), got)
}

// Every array and object of the contract is written, empty where there is nothing; unknown strings are left out.
func TestNothingKnown(t *testing.T) {
	t.Parallel()
	const person = `"person":{"id":{"value":"c-1","schemeId":"Service Candidate","schemeAgencyId":"Service"},"name":{},"citizenShip":[],` +
		`"communication":{"address":[],"phone":[],"email":[]},"customFields":[]}`
	const profile = `"alternateIds":[],"languageCode":"en-US",` +
		`"profileId":{"value":"a-1","schemeId":"Service Job Application","schemeAgencyId":"Service"},"associatedPositionOpenings":`
	a := func() *model.JobApplication { return &model.JobApplication{ID: "a-1"} }
	for _, c := range []struct {
		candidate *model.Candidate
		apps      []hropen.Application
		want      string
	}{
		{
			&model.Candidate{ID: "c-1"}, nil,
			`{"candidate":{"alternateIds":[],` + person + `,"profiles":[]}}`,
		}, {
			&model.Candidate{ID: "c-1"}, []hropen.Application{{JobApplication: a()}},
			`{"candidate":{"alternateIds":[],` + person + `,"profiles":[{` + profile + `[],"education":[],"attachments":[]}]}}`,
		}, {
			&model.Candidate{ID: "c-1"}, []hropen.Application{{
				JobApplication: &model.JobApplication{ID: "a-1", Education: []model.Education{{}}},
				Job:            &model.Job{ID: "j-1"},
				Attachments:    []hropen.Attachment{{ID: "d-1", URL: "https://x.example/d"}},
			}},
			`{"candidate":{"alternateIds":[],` + person + `,"profiles":[{` + profile + `[{"alternateIds":[],` +
				`"positionOpeningId":{"value":"j-1","schemeId":"Service Job","schemeAgencyId":"Service"},"candidateStatus":{},"customFields":[]}],` +
				`"education":[{"educationLevelCodes":[]}],"attachments":[{"id":{"value":"d-1","schemeId":"Service Document to Candidate",` +
				`"schemeAgencyId":"Service"},"descriptions":[],"url":"https://x.example/d"}]}]}}`,
		},
	} {
		got, err := hropen.Build(namesFor(t, "Service"), c.candidate, c.apps)
		require.NoError(t, err)
		require.Equal(t, c.want, string(got))
		requireValid(t, validatorFor(t, "Service"), got)
	}
}

// A job application without a job has no place for its status and its start date.
func TestStatusAndStartDateLieInTheOpening(t *testing.T) {
	t.Parallel()
	c, apps := full()
	apps[0].Job = nil
	got, err := hropen.Build(namesFor(t, "Service"), c, apps)
	require.NoError(t, err)
	require.Contains(t, string(got), `"associatedPositionOpenings":[],`)
	require.NotContains(t, string(got), "Start Date")
	require.NotContains(t, string(got), "Offer accepted")
	requireValid(t, validatorFor(t, "Service"), got)
}

func TestNoStartDateNoEntry(t *testing.T) {
	t.Parallel()
	c, apps := full()
	apps[0].StartDate = nil
	got, err := hropen.Build(namesFor(t, "Service"), c, apps)
	require.NoError(t, err)
	require.NotContains(t, string(got), "startDate")
	require.Contains(t, string(got), `"customFields":[{"id":{"value":"cf-90",`)
}

func TestTheTimeOfEnteringIsUTC(t *testing.T) {
	t.Parallel()
	c, apps := full()
	apps[0].Status.EnteredAt = time.Date(2026, 12, 31, 23, 30, 1, 999_999_000, time.FixedZone("", -5*3600))
	got, err := hropen.Build(namesFor(t, "Service"), c, apps)
	require.NoError(t, err)
	require.Contains(t, string(got), `"transitionDateTime":"2027-01-01 04:30:01"`)
}

func TestTheValueOfACustomFieldMayBeEmpty(t *testing.T) {
	t.Parallel()
	c := &model.Candidate{ID: "c-1", CustomFields: []model.CustomField{{ID: "cf-1", Name: "Shift", Type: "text"}}}
	got, err := hropen.Build(namesFor(t, "Service"), c, nil)
	require.NoError(t, err)
	require.Contains(t, string(got), `"name":"Shift","type":"text","value":""}`)
	requireValid(t, validatorFor(t, "Service"), got)
}

func TestAnotherMaker(t *testing.T) {
	t.Parallel()
	c, apps := full()
	got, err := hropen.Build(namesFor(t, "Acme"), c, apps)
	require.NoError(t, err)
	want := strings.ReplaceAll(string(sample(t, "export-full.json")), `"Service`, `"Acme`)
	require.Equal(t, tokens(t, []byte(want)), tokens(t, got))
	requireValid(t, validatorFor(t, "Acme"), got)

	read, readApps, err := hropen.Read(namesFor(t, "Acme"), got)
	require.NoError(t, err)
	require.Equal(t, c, read)
	require.Equal(t, apps, readApps)
}

// Text is written as it is, not as HTML or JavaScript would want it.
func TestTextIsNotEscapedForHTML(t *testing.T) {
	t.Parallel()
	c := &model.Candidate{ID: "c-1", Web: "<b>&\u2028\x00</b>"}
	got, err := hropen.Build(namesFor(t, "Service"), c, nil)
	require.NoError(t, err)
	require.Contains(t, string(got), "\"web\":\"<b>&\u2028\\u0000</b>\"")
	requireValid(t, validatorFor(t, "Service"), got)
}

// What can't be in a valid body is an error that says where, without the value.
func TestWhatCanNotBeExported(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(*model.Candidate, *hropen.Application){
		"applyDate": func(c *model.Candidate, _ *hropen.Application) { c.ApplyDate = "2026-02-30" },
		"startDate": func(_ *model.Candidate, a *hropen.Application) { a.StartDate.Date = "" },
		"status.enteredAt": func(_ *model.Candidate, a *hropen.Application) {
			a.Status.EnteredAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
		},
		"/candidate/person/name/given": func(c *model.Candidate, _ *hropen.Application) { c.Name.Given = "Secret\xff" },
		"/candidate/profiles/0/attachments/1/descriptions/0": func(_ *model.Candidate, a *hropen.Application) {
			a.Attachments[1].Descriptions[0] = "Secret\xc3"
		},
	} {
		c, apps := full()
		spoil(c, &apps[0])
		got, err := hropen.Build(namesFor(t, "Service"), c, apps)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "Secret")
		require.NotContains(t, err.Error(), "2026-02-30")
		require.Nil(t, got)
	}
}

// As many entries as a checked resource may have, in fifty job applications, are still within the guard's limits.
func TestAtTheLimits(t *testing.T) {
	t.Parallel()
	texts := make([]string, 100)
	fields := slices.Repeat([]model.CustomField{{ID: "cf", Name: "n", Type: "text"}}, 100)
	c := &model.Candidate{
		ID: "c-1", AlternateIDs: slices.Repeat([]string{"1"}, 100), CitizenShip: texts, Phone: texts, Email: texts,
		CustomFields: fields,
		Address:      slices.Repeat([]model.Address{{Subdivisions: make([]model.Subdivision, 1)}}, 100),
	}
	a := hropen.Application{
		JobApplication: &model.JobApplication{ID: "a-1", Candidate: "c-1",
			Education: slices.Repeat([]model.Education{{Levels: texts[:1]}}, 100)},
		Job:         &model.Job{BoardCode: "b-1", ID: "j-1", CustomFields: fields},
		Attachments: slices.Repeat([]hropen.Attachment{{ID: "d-1", Descriptions: texts[:1]}}, 20),
	}
	require.NoError(t, c.Validate())
	require.NoError(t, a.Validate())
	require.NoError(t, a.Job.Validate())
	got, err := hropen.Build(namesFor(t, "Service"), c, slices.Repeat([]hropen.Application{a}, 50))
	require.NoError(t, err)
	requireValid(t, validatorFor(t, "Service"), got)
}

// A name that is missing is made of the others.
func TestFormattedNameIsMade(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]model.Name{
		`"formattedName":"Zoë Park"`: {Given: "Zoë", Family: "Park"}, `"formattedName":"Dr. Z"`: {Formatted: "Dr. Z", Given: "Zoë"},
	} {
		got, err := hropen.Build(namesFor(t, "Service"), &model.Candidate{ID: "c-1", Name: n}, nil)
		require.NoError(t, err)
		require.Contains(t, string(got), want)
	}
}
