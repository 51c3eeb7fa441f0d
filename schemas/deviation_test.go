package schemas

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// deviations has each listed deviation at each kind of place where it may be, and what was found there.
var deviations = []struct {
	name, pointer string
	value         any
}{
	{"date_form", person + "/applyDate", "2026-10-02T00:00:00Z"},
	{"date_form", person + "/applyDate", "20261002"},
	{"date_form", opening + "/customFields/0/value", "2026-12-07T09:30"},
	{"datetime_form", opening + "/candidateStatus/transitionDateTime", "2026-11-20T17:18:30+00:00"},
	{"datetime_form", opening + "/candidateStatus/transitionDateTime", "2026-11-20T17:18:30.123Z"},
	{"datetime_form", opening + "/candidateStatus/transitionDateTime", "20261120T171830+0100"},
	{"datetime_form", opening + "/candidateStatus/transitionDateTime", "2026-11-20 17:18:30,5-05"},
	{"datetime_form", opening + "/candidateStatus/transitionDateTime", "2026-11-20"},
	{"null", person + "/customFields/0/name", nil},
	{"null", person + "/customFields/0/type", nil},
	{"null", person + "/customFields/0/value", nil},
	{"null", opening + "/customFields/0/value", nil},
	{"null", opening + "/customFields/1/value", nil},
	{"null", person + "/id/schemeId", nil},
	{"null", profile + "/profileId/schemeAgencyId", nil},
	{"web_array", person + "/communication/web", []any{}},
	{"web_array", person + "/communication/web", []any{map[string]any{"url": nil}, 1, "x", nil}},
	{"scheme_id_padded", person + "/id/schemeId", "Service Candidate,"},
	{"scheme_id_padded", "/candidate/alternateIds/0/schemeId", " Service Legacy Candidate\t"},
	{"scheme_id_padded", opening + "/customFields/0/id/schemeId", "Service Start Date ,"},
	{"scheme_id", person + "/id/schemeId", "Service Job"},
	{"scheme_id", profile + "/attachments/0/id/schemeId", ""},
	{"scheme_id", opening + "/customFields/1/id/schemeId", "Own Scheme"},
	{"scheme_agency_id", person + "/id/schemeAgencyId", "Agency"},
	{"scheme_agency_id", opening + "/positionOpeningId/schemeAgencyId", "Service "},
}

// What is listed is no fault when it is received, and stays a finding where the letter counts.
func TestDeviationsAreNoFaults(t *testing.T) {
	t.Parallel()
	body, v := sample(t, "export-full.json"), validator(t, "Service")
	listed := map[string]bool{}
	for _, d := range deviations {
		doc := guarded(t, edited(t, body, d.pointer, d.value))
		faults, noted := v.Received(doc)
		require.Empty(t, faults, "%s %v", d.pointer, d.value)
		require.Len(t, noted, 1, "%s %v", d.pointer, d.value)
		require.Equal(t, d.name, noted[0].Deviation, "%s %v", d.pointer, d.value)
		require.Equal(t, d.pointer, noted[0].Pointer)
		require.Equal(t, []Finding{found(d.pointer, noted[0].Rule, noted[0].Found)}, v.Export(doc))
		listed[d.name] = true
	}
	for name, d := range Deviations() {
		require.True(t, listed[name], name)
		require.NotEmpty(t, d.Note, name)
		require.NotEmpty(t, d.Evidence, name)
	}
	faults, noted := v.Received(guarded(t, body))
	require.Empty(t, faults)
	require.Empty(t, noted)
}

// Whatever is not listed is refused, be it close to what is.
func TestOtherFaultsStayFaults(t *testing.T) {
	t.Parallel()
	body, v := sample(t, "export-full.json"), validator(t, "Service")
	for pointer, value := range map[string]any{
		person + "/id/value":                                      nil,
		person + "/id":                                            nil,
		"/candidate":                                              nil,
		"/candidate/person":                                       absent{},
		person + "/customFields/0/id":                             nil,
		person + "/customFields/0/value":                          absent{},
		person + "/customFields/1/value":                          5,
		person + "/id/schemeId":                                   absent{},
		profile + "/profileId/schemeId":                           7,
		profile + "/attachments/0/url":                            nil,
		profile + "/attachments/0/id":                             nil,
		profile + "/attachments/1/id/value":                       nil,
		person + "/communication/web":                             map[string]any{},
		person + "/applyDate":                                     "2026-02-30T00:00:00Z",
		opening + "/candidateStatus/transitionDateTime":           "2026-11-20T24:18:30Z",
		opening + "/customFields/0/name":                          "firstDay",
		person + "/citizenShip/0":                                 nil,
		"/candidate/profiles":                                     map[string]any{},
		profile + "/education/0/educationLevelCodes/0/name":       []any{},
		person + "/communication/email/0/address":                 []any{},
		opening + "/candidateStatus/name":                         []any{},
		opening + "/positionOpeningId":                            "17",
		person + "/communication/address/0/countrySubdivisions/0": nil,
	} {
		faults, noted := v.Received(guarded(t, edited(t, body, pointer, value)))
		require.NotEmpty(t, faults, "%s %v", pointer, value)
		require.Empty(t, noted, "%s %v", pointer, value)
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	for form, good := range map[string]bool{
		"2026-11-20": true, "20261120": true, "2026-11-20T17": false, "2026-11-20T17:18": true, "2026-11-20T17:18Z": true,
		"2026-11-20t17:18:30z": true, "2026-11-20T17:18:30.123456789Z": true, "2016-12-31T23:59:60Z": true,
		"2024-02-29T00:00:00-03:30": true,
		"2023-02-29T00:00:00Z":      false, "2026-11-20T17:18:61Z": false, "2026-11-20T17:60:00Z": false,
		"2026-11-20T25:00:00Z": false, "2026-11-20T": false, "2026-11": false, "2026": false, "1479662310": false,
		"Fri, 20 Nov 2026 17:18:30 GMT": false, "20/11/2026": false, "2026-11-20T17:18:30+00:00\n": false, "": false,
		" 2026-11-20": false, "2026-11-20T17:18:30 +0000": false, "0000-01-01T00:00:00Z": false,
	} {
		require.Equal(t, good, isISO(form), form)
	}
}

// Bodies as such services send them.
func TestSamplesWithDeviations(t *testing.T) {
	t.Parallel()
	v := validator(t, "Service")
	files, err := filepath.Glob("testdata/deviations/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		faults, noted := v.Received(guarded(t, body))
		require.Empty(t, faults, name)
		require.Len(t, noted, 1, name)
		require.True(t, strings.HasPrefix(filepath.Base(name), noted[0].Deviation), name)
	}
}

// Neither does a crowd of deviations hide a fault or another deviation, nor does it make an answer long.
func TestACrowdOfDeviations(t *testing.T) {
	t.Parallel()
	v := validator(t, "Service")
	field := func(value any) map[string]any {
		return map[string]any{"name": "n", "type": "t", "value": value,
			"id": map[string]any{"value": "1", "schemeId": "Service Custom Field", "schemeAgencyId": "Service"}}
	}
	var fields []any
	for range 1000 {
		fields = append(fields, field(nil))
	}
	last := field("x")
	last["id"].(map[string]any)["schemeAgencyId"] = "Another"
	body := edited(t, sample(t, "export-full.json"), person+"/customFields", append(fields, last))
	faults, noted := v.Received(guarded(t, body))
	require.Empty(t, faults)
	require.Len(t, noted, MaxFindings+1)
	require.True(t, slices.ContainsFunc(noted, func(f Finding) bool { return f.Deviation == "scheme_agency_id" }))
	require.Len(t, v.Export(guarded(t, body)), MaxFindings)
	last["value"] = 5
	faults, _ = v.Received(guarded(t, edited(t, body, person+"/customFields", append(fields, last))))
	require.Equal(t, []Finding{{Pointer: person + "/customFields/1000/value", Rule: aString, Found: "number"}}, faults)
}

// BenchmarkDeviations is the most deviations that a signed body within the receiver's limits can have.
func BenchmarkDeviations(b *testing.B) {
	v := validator(b, "Service")
	var ids []string
	for range 2000 {
		ids = append(ids, `{"value":"1","schemeId":"x","schemeAgencyId":"x"}`)
	}
	id := strings.Join(ids, ",")
	doc := guarded(b, fmt.Appendf(nil, `{"candidate":{"person":{"id":{"value":"1","schemeId":"x","schemeAgencyId":"x"}},`+
		`"alternateIds":[%s],"profiles":[{"alternateIds":[%s]}]}}`, id, id))
	b.ReportAllocs()
	for b.Loop() {
		faults, _ := v.Received(doc)
		require.Empty(b, faults)
	}
}
