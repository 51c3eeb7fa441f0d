package hropen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hropen"
	"github.com/hiregate/hiregate/internal/model"
)

func TestTheFullSampleIsRead(t *testing.T) {
	t.Parallel()
	want, wantApps := full()
	c, apps, err := hropen.Read(namesFor(t, "Service"), sample(t, "export-full.json"))
	require.NoError(t, err)
	require.Equal(t, want, c)
	require.Equal(t, wantApps, apps)
}

func TestTheMinimalSampleIsRead(t *testing.T) {
	t.Parallel()
	n := namesFor(t, "Service")
	c, apps, err := hropen.Read(n, sample(t, "export-minimal.json"))
	require.NoError(t, err)
	require.Equal(t, nobody(), c)
	require.Empty(t, apps)

	// Built again, it has all that the contract names.
	body, err := hropen.Build(n, c, apps)
	require.NoError(t, err)
	requireValid(t, validatorFor(t, "Service"), body)
	require.Contains(t, string(body), `"communication":{"address":[],"phone":[],"email":[]}`)
}

// nobody is a candidate of whom only the id is known.
func nobody() *model.Candidate {
	return &model.Candidate{
		ID: "c-1", AlternateIDs: []string{}, CitizenShip: []string{}, Address: []model.Address{}, Phone: []string{},
		Email:        []string{},
		CustomFields: []model.CustomField{},
	}
}

// A body that was accepted may lack nearly everything, hold nulls, and have more than the contract knows.
func TestAbsentNullAndUnknown(t *testing.T) {
	t.Parallel()
	id := func(kind, value string) string {
		return `{"value":"` + value + `","schemeId":"Service ` + kind + `","schemeAgencyId":"Service","more":1}`
	}
	body := `{"candidate":{"alternateIds":null,"extra":{"deep":[1e3,null]},"person":{"id":` + id("Candidate", "c-1") + `,
		"name":null,"gender":null,"citizenShip":null,"citizenship":["x"],"applyDate":null,"communication":null,"customFields":null},
		"profiles":[{},{"alternateIds":null,"languageCode":null,"profileId":null,"associatedPositionOpenings":null,"education":null,"attachments":null},
			{"associatedPositionOpenings":[{"candidateStatus":null,"customFields":null}],"education":[{}],"attachments":[{"id":` +
		id("Document to Candidate", "d-1") + `,"url":"u","content":"x"}]},
			{"alternateIds":[` + id("Legacy Job Application", "1") + `,` + id("Legacy Job Application", "2") + `],"associatedPositionOpenings":[
				{"customFields":[` + field(id("Custom Field", "cf"), "text", "v") + `,` + field(id("Start Date", "sd"), "date", "2026-12-07") + `,` +
		field(id("Start Date", "sd-2"), "date", "2026-12-08") + `]},
				{"positionOpeningId":` + id("Job", "second") + `}]}]}}`
	requireValid(t, validatorFor(t, "Service"), []byte(body))
	c, apps, err := hropen.Read(namesFor(t, "Service"), []byte(body))
	require.NoError(t, err)
	require.Equal(t, nobody(), c)

	empty := func() hropen.Application {
		return hropen.Application{
			JobApplication: &model.JobApplication{Candidate: "c-1", LanguageCode: "en-US", Education: []model.Education{}},
			Attachments:    []hropen.Attachment{},
		}
	}
	third, fourth := empty(), empty()
	third.Job = &model.Job{CustomFields: []model.CustomField{}}
	third.Education = []model.Education{{Levels: []string{}}}
	third.Attachments = []hropen.Attachment{{ID: "d-1", Descriptions: []string{}, URL: "u"}}
	fourth.LegacyID = "1"
	fourth.Job = &model.Job{CustomFields: []model.CustomField{{ID: "cf", Name: "startDate", Type: "text", Value: "v"}}}
	fourth.StartDate = &model.StartDate{ID: "sd", Date: "2026-12-07"}
	require.Equal(t, []hropen.Application{empty(), empty(), third, fourth}, apps)
}

func field(id, kind, value string) string {
	return `{"id":` + id + `,"name":"startDate","type":"` + kind + `","value":"` + value + `"}`
}

// What guard or schema would have refused is an error, and the error is safe to log.
func TestWhatCanNotBeRead(t *testing.T) {
	t.Parallel()
	full := string(sample(t, "export-full.json"))
	for _, edit := range [][2]string{
		{`"Female"`, `4711`},
		{`"Female"`, `["Female"]`},
		{`"Female"`, "\"Female\xff\""},
		{`"gender"`, `"gender":"","gender"`},
		{`2026-11-12 16:04:59`, `2026-11-31 16:04:59`},
		{`{`, ``},
	} {
		body := strings.Replace(full, edit[0], edit[1], 1)
		require.NotEqual(t, full, body)
		c, apps, err := hropen.Read(namesFor(t, "Service"), []byte(body))
		require.ErrorContains(t, err, "reading")
		for _, personal := range []string{"Female", "4711", "2026-11-31"} {
			require.NotContains(t, err.Error(), personal)
		}
		require.Nil(t, c)
		require.Nil(t, apps)
	}
}
