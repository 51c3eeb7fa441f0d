package model_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// subjects are one of each resource, sound and with every member set.
type subjects struct {
	c *model.Candidate
	j *model.Job
	s *model.Step
	a *model.JobApplication
	d *model.ApplicationDocument
}

func sound() subjects {
	field := []model.CustomField{{ID: "cf-1", Name: "Shift", Type: "text", Value: "Night"}}
	return subjects{
		c: &model.Candidate{
			ID: "c-1", AlternateIDs: []string{"1"}, Name: model.Name{Formatted: "Zoë Ø", Given: "Zoë", Family: "Ø"},
			Gender:      "Female",
			CitizenShip: []string{"any"}, ApplyDate: "2024-02-29",
			Address: []model.Address{{
				Subdivisions: []model.Subdivision{{Type: "state", Value: "OR"}}, City: "Portland", PostalCode: "97205", Line: "1",
				Formatted: "1\n2",
			}},
			Phone: []string{"+1"}, Email: []string{"z@example.org"}, Web: "<b>", CustomFields: field,
		},
		j: &model.Job{BoardCode: "rn/night 1", ID: "j-1", LegacyID: "1", Title: "Nurse", URI: "https://x.example",
			CustomFields: slices.Clone(field)},
		s: &model.Step{ID: "offer", Name: "Offer", Category: "Hired", Position: 1,
			Helper: &model.Helper{Integrations: []string{"hris"}}},
		a: &model.JobApplication{
			ID: "a-1", LegacyID: "1", Candidate: "c-1", Job: "rn", LanguageCode: "en-US",
			Education: []model.Education{{Levels: []string{"BA"}}},
			StartDate: &model.StartDate{ID: "sd-1", Date: "2026-12-07"},
			Status: model.Status{Step: "offer", Name: "Offer", Category: "Hired",
				EnteredAt: time.Date(2026, 11, 12, 16, 4, 59, 0, time.UTC)},
		},
		d: &model.ApplicationDocument{ID: "d-1", Descriptions: []string{"Resume"}, FileName: "resume.pdf",
			MediaType: "application/pdf"},
	}
}

// check is what is wrong with all of them.
func (s subjects) check(t *testing.T) (faults []string) {
	t.Helper()
	for _, err := range []error{s.c.Validate(), s.j.Validate(), s.s.Validate(), s.a.Validate(), s.d.Validate()} {
		if err != nil {
			invalid := new(model.InvalidError)
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, strings.Join(invalid.Faults, "; "), err.Error())
			faults = append(faults, invalid.Faults...)
		}
	}
	return faults
}

func TestSoundResources(t *testing.T) {
	t.Parallel()
	require.Empty(t, sound().check(t))

	s := subjects{
		c: &model.Candidate{ID: "c"},
		j: &model.Job{BoardCode: "b", ID: "j"},
		s: &model.Step{ID: "s", Name: "S"},
		a: &model.JobApplication{ID: "a", Candidate: "c"},
		d: &model.ApplicationDocument{ID: "d"},
	}
	require.Empty(t, s.check(t), "only what is required")

	s = sound()
	s.c.ID = strings.Repeat("😀", 255)
	s.c.Gender = strings.Repeat("x", 4<<10)
	s.c.Web = strings.Repeat("x", 64<<10)
	s.c.Phone = make([]string, 100)
	s.c.CustomFields[0].Value = ""
	s.s.ID = strings.Repeat("a", 63)
	require.Empty(t, s.check(t), "at the limits")
}

// text are the members that hold any text up to 4 KiB.
var text = map[string]func(subjects) *string{
	"name.formattedName":                  func(s subjects) *string { return &s.c.Name.Formatted },
	"name.given":                          func(s subjects) *string { return &s.c.Name.Given },
	"name.family":                         func(s subjects) *string { return &s.c.Name.Family },
	"gender":                              func(s subjects) *string { return &s.c.Gender },
	"citizenShip[0]":                      func(s subjects) *string { return &s.c.CitizenShip[0] },
	"address[0].city":                     func(s subjects) *string { return &s.c.Address[0].City },
	"address[0].postalCode":               func(s subjects) *string { return &s.c.Address[0].PostalCode },
	"address[0].line":                     func(s subjects) *string { return &s.c.Address[0].Line },
	"address[0].formattedAddress":         func(s subjects) *string { return &s.c.Address[0].Formatted },
	"phone[0]":                            func(s subjects) *string { return &s.c.Phone[0] },
	"email[0]":                            func(s subjects) *string { return &s.c.Email[0] },
	"customFields[0].name":                func(s subjects) *string { return &s.c.CustomFields[0].Name },
	"customFields[0].type":                func(s subjects) *string { return &s.c.CustomFields[0].Type },
	"customFields[0].value":               func(s subjects) *string { return &s.j.CustomFields[0].Value },
	"title":                               func(s subjects) *string { return &s.j.Title },
	"uri":                                 func(s subjects) *string { return &s.j.URI },
	"name":                                func(s subjects) *string { return &s.s.Name },
	"category":                            func(s subjects) *string { return &s.s.Category },
	"education[0].educationLevelCodes[0]": func(s subjects) *string { return &s.a.Education[0].Levels[0] },
	"status.name":                         func(s subjects) *string { return &s.a.Status.Name },
	"status.category":                     func(s subjects) *string { return &s.a.Status.Category },
	"descriptions[0]":                     func(s subjects) *string { return &s.d.Descriptions[0] },
	"address[0].countrySubdivisions[0].type": func(s subjects) *string {
		return &s.c.Address[0].Subdivisions[0].Type
	},
	"address[0].countrySubdivisions[0].value": func(s subjects) *string {
		return &s.c.Address[0].Subdivisions[0].Value
	},
}

// ids are the members of 1 to 255 characters without control characters.
var ids = map[string]func(subjects) *string{
	"id":                 func(s subjects) *string { return &s.c.ID },
	"alternateIds[0]":    func(s subjects) *string { return &s.c.AlternateIDs[0] },
	"customFields[0].id": func(s subjects) *string { return &s.c.CustomFields[0].ID },
	"jobBoardCode":       func(s subjects) *string { return &s.j.BoardCode },
	"candidate":          func(s subjects) *string { return &s.a.Candidate },
	"startDate.id":       func(s subjects) *string { return &s.a.StartDate.ID },
	// The same names elsewhere.
	"id (job)":             func(s subjects) *string { return &s.j.ID },
	"id (job application)": func(s subjects) *string { return &s.a.ID },
	"id (document)":        func(s subjects) *string { return &s.d.ID },
}

// optional are as ids are, or empty.
var optional = map[string]func(subjects) *string{
	"legacyId":                       func(s subjects) *string { return &s.j.LegacyID },
	"legacyId (job application)":     func(s subjects) *string { return &s.a.LegacyID },
	"jobBoardCode (job application)": func(s subjects) *string { return &s.a.Job },
	"fileName":                       func(s subjects) *string { return &s.d.FileName },
	"mediaType":                      func(s subjects) *string { return &s.d.MediaType },
}

// rule is what a member must not be, and what is said about it.
type rule struct{ value, sentence string }

var unreadable = []rule{
	{"\xff", "is not valid UTF-8: encode it as UTF-8"},
	{"Zo\xc3", "is not valid UTF-8: encode it as UTF-8"},
	{"Z\x00", "has the character U+0000: leave it out"},
}

func requireFaults(t *testing.T, member string, at func(subjects) *string, rules ...rule) {
	t.Helper()
	name, _, _ := strings.Cut(member, " (")
	for _, r := range rules {
		s := sound()
		*at(s) = r.value
		require.Equal(t, []string{name + " " + r.sentence}, s.check(t), "%s = %.20q", member, r.value)
	}
}

func TestTextRules(t *testing.T) {
	t.Parallel()
	for member, at := range text {
		requireFaults(t, member, at, append(unreadable, rule{strings.Repeat("é", 2049),
			"is longer than 4 KiB: shorten it"})...)
	}
	requireFaults(t, "web", func(s subjects) *string { return &s.c.Web },
		append(unreadable, rule{strings.Repeat("x", 64<<10+1), "is longer than 64 KiB: shorten it"})...)
}

func TestIDRules(t *testing.T) {
	t.Parallel()
	rules := append([]rule{
		{strings.Repeat("é", 256), "is longer than 255 characters: shorten it"},
		{"a\nb", "has control characters: leave them out"},
		{"a\x7f", "has control characters: leave them out"},
		{"\u0085", "has control characters: leave them out"},
	}, unreadable...)
	for member, at := range optional {
		requireFaults(t, member, at, rules...)
	}
	for member, at := range ids {
		requireFaults(t, member, at, append(rules, rule{"", "is missing: set it"})...)
	}
}

func TestIDsThatStandInAddresses(t *testing.T) {
	t.Parallel()
	for member, at := range map[string]func(subjects) *string{
		"id":                   ids["id"],
		"jobBoardCode":         ids["jobBoardCode"],
		"id (job application)": ids["id (job application)"],
		"id (document)":        ids["id (document)"],
	} {
		for _, id := range []string{".", "..", "../q", "a/..", "a/./b", "a/../b", "/.", "./"} {
			requireFaults(t, member, at, rule{id, "has a part that is only . or .., between slashes or as a whole: an " +
				"address can't hold it, choose another"})
		}
		for _, id := range []string{" a", "a ", "\u00a0a", " "} {
			requireFaults(t, member, at, rule{id, "begins or ends with a blank: leave that out"})
		}
		for _, id := range []string{"a b", "...", ".a", "a.", "a..b", "a//b", "/", "a/...", "%2E%2E"} {
			s := sound()
			*at(s) = id
			require.Empty(t, s.check(t), "%s = %q", member, id)
		}
	}
}

func TestRequiredTexts(t *testing.T) {
	t.Parallel()
	for member, at := range map[string]func(subjects) *string{
		"customFields[0].name":       func(s subjects) *string { return &s.c.CustomFields[0].Name },
		"customFields[0].type":       func(s subjects) *string { return &s.c.CustomFields[0].Type },
		"customFields[0].name (job)": func(s subjects) *string { return &s.j.CustomFields[0].Name },
		"name":                       func(s subjects) *string { return &s.s.Name },
	} {
		requireFaults(t, member, at, rule{"", "is missing: set it"})
	}
}

func TestStepIDs(t *testing.T) {
	t.Parallel()
	const sentence = "is no step's id: use 1 to 63 of the characters a-z, 0-9 and -"
	bad := []rule{{"Offer", sentence}, {"a b", sentence}, {"é", sentence}, {"offer\n", sentence},
		{strings.Repeat("a", 64), sentence}}
	requireFaults(t, "status.step", func(s subjects) *string { return &s.a.Status.Step }, bad...)
	requireFaults(t, "id", func(s subjects) *string { return &s.s.ID }, append(bad, rule{"", sentence})...)
}

func TestSteps(t *testing.T) {
	t.Parallel()
	s := sound()
	s.s.Position = -1
	require.Equal(t, []string{"position is negative: count the steps from 0"}, s.check(t))
	requireFaults(t, "helper.integrations[0]", func(s subjects) *string { return &s.s.Helper.Integrations[0] },
		rule{"HRIS", "is no integration's name: use 1 to 63 of the characters a-z, 0-9 and -"})
	s = sound()
	s.s.Helper.Integrations = []string{"crm", "hris", "crm"}
	require.Equal(t, []string{"helper.integrations[2] is named before: name each integration once"}, s.check(t))
}

func TestDates(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"2026-02-30", "2025-02-29", "1900-02-29", "2026-13-01", "2026-00-10", "2026-01-00", "0000-01-01", "2026-1-01",
		"2026-01-1", "26-01-01",
		"12026-01-01", "02.10.2026", "2026-01-01 ", " 2026-01-01", "2026-01-01T00:00:00Z", "+026-01-01", "tomorrow",
		"２026-01-01",
	} {
		requireFaults(t, "applyDate", func(s subjects) *string { return &s.c.ApplyDate },
			rule{bad, "is no day: write one that exists as YYYY-MM-DD"})
		requireFaults(t, "startDate.date", func(s subjects) *string { return &s.a.StartDate.Date },
			rule{bad, "is no day: write one that exists as YYYY-MM-DD"},
			rule{"", "is no day: write one that exists as YYYY-MM-DD"})
	}
	for _, good := range []string{"0001-01-01", "2000-02-29", "9999-12-31"} {
		require.True(t, model.IsDate(good), good)
	}
}

func TestTimeOfEntering(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("", 3600)
	for _, bad := range []time.Time{
		time.Date(0, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(1, 1, 1, 0, 30, 0, 0, east),
	} {
		s := sound()
		s.a.Status.EnteredAt = bad
		require.Equal(t, []string{"status.enteredAt is not in the years 1 to 9999: write the time at which " +
			"the step was entered"}, s.check(t))
	}
	require.True(t, model.IsTime(time.Time{}))
	require.True(t, model.IsTime(time.Date(10000, 1, 1, 0, 30, 0, 0, east)))
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"en_US", "e", "en-", "-en", "en--US", "en-US ", "english language", "abcdefghi", "en-US-u", "dé", "a\x00", "\xff",
		"12", "*",
		"en" + strings.Repeat("-x-abc", 50),
	} {
		requireFaults(t, "languageCode", func(s subjects) *string { return &s.a.LanguageCode },
			rule{bad, "is no language tag: write one such as en-US (RFC 5646)"})
	}
	for _, good := range []string{
		"en", "EN-us", "de-CH-1901", "zh-Hant-TW", "es-419", "sr-Latn", "sl-rozaj-biske", "de-DE-u-co-phonebk", "x-whatever",
		"qaa", "en-QQ", "xx-YY", "i-klingon",
	} {
		s := sound()
		s.a.LanguageCode = good
		require.Empty(t, s.check(t), good)
	}
}

func TestAtMost100Entries(t *testing.T) {
	t.Parallel()
	for member, fill := range map[string]func(subjects, int){
		"alternateIds":        func(s subjects, n int) { s.c.AlternateIDs = filled(n, "1") },
		"citizenShip":         func(s subjects, n int) { s.c.CitizenShip = filled(n, "") },
		"address":             func(s subjects, n int) { s.c.Address = filled(n, model.Address{}) },
		"phone":               func(s subjects, n int) { s.c.Phone = filled(n, "") },
		"email":               func(s subjects, n int) { s.c.Email = filled(n, "") },
		"customFields":        func(s subjects, n int) { s.c.CustomFields = filled(n, s.c.CustomFields[0]) },
		"customFields (job)":  func(s subjects, n int) { s.j.CustomFields = filled(n, s.j.CustomFields[0]) },
		"helper.integrations": func(s subjects, n int) { s.s.Helper.Integrations = numbered(n) },
		"education":           func(s subjects, n int) { s.a.Education = filled(n, model.Education{}) },
		"descriptions":        func(s subjects, n int) { s.d.Descriptions = filled(n, "") },
	} {
		s := sound()
		fill(s, 100)
		require.Empty(t, s.check(t), member)
		fill(s, 101)
		name, _, _ := strings.Cut(member, " (")
		require.Equal(t, []string{name + " has more than 100 entries: leave some out"}, s.check(t))
	}
}

// Arrays within the entries of an array are counted together, so that an export stays within the guard's limit on
// values.
func TestAtMost100EntriesTogether(t *testing.T) {
	t.Parallel()
	s := sound()
	s.c.Address = filled(2, model.Address{Subdivisions: make([]model.Subdivision, 50)})
	s.a.Education = filled(2, model.Education{Levels: make([]string, 50)})
	require.Empty(t, s.check(t))
	s.c.Address[1].Subdivisions = make([]model.Subdivision, 51)
	s.a.Education[1].Levels = make([]string, 51)
	require.Equal(t, []string{
		"address has more than 100 entries of countrySubdivisions together: leave some out",
		"education has more than 100 entries of educationLevelCodes together: leave some out",
	}, s.check(t))
}

// All faults are told at once, up to a number that people read.
func TestAllFaultsAreTold(t *testing.T) {
	t.Parallel()
	c := &model.Candidate{ApplyDate: "soon", Phone: []string{"1", "\x00"}}
	require.EqualError(t, c.Validate(), "id is missing: set it; applyDate is no day: write one that "+
		"exists as YYYY-MM-DD; "+
		"phone[1] has the character U+0000: leave it out")

	c.Email = filled(100, "\xff")
	invalid := new(model.InvalidError)
	require.ErrorAs(t, c.Validate(), &invalid)
	require.Len(t, invalid.Faults, 20)
}

func filled[T any](n int, v T) []T { return slices.Repeat([]T{v}, n) }

func numbered(n int) (all []string) {
	for i := range n {
		all = append(all, strconv.Itoa(i))
	}
	return all
}

// A custom field of a type that we know has a value of it; users may configure further types.
func TestCustomFieldsHaveValuesOfTheirType(t *testing.T) {
	t.Parallel()
	for kind, values := range map[string]struct{ right, wrong []string }{
		"number":  {[]string{"", "4", "-2.5", "1e3"}, []string{"four", "4,5", "true", `"4"`, "4 5", " 4"}},
		"date":    {[]string{"", "2026-11-20"}, []string{"20.11.2026", "2026-02-30"}},
		"boolean": {[]string{"", "true", "false"}, []string{"yes", "True"}},
		"colour":  {[]string{"", "red"}, nil},
	} {
		for right, all := range map[bool][]string{true: values.right, false: values.wrong} {
			for _, value := range all {
				c := &model.Candidate{ID: "c-1", CustomFields: []model.CustomField{{ID: "f", Name: "n", Type: kind, Value: value}}}
				require.Equal(t, right, c.Validate() == nil, "%s %q", kind, value)
			}
		}
	}
}
