package schemas

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// fault breaks one thing in export-full.json.
type fault struct {
	pointer string
	value   any
	rule    string
}

const (
	aString  = "type: string"
	anArray  = "type: array"
	anObject = "type: object"
	aDate    = "date: YYYY-MM-DD"
	aTime    = "datetime: YYYY-MM-DD HH:mm:ss"
	agency   = "const: Service"
	person   = "/candidate/person"
	profile  = "/candidate/profiles/0"
	opening  = profile + "/associatedPositionOpenings/0"
)

// faults has a case for every property, schemeId and date in the tables of the contract's part B.
var faults = flatten(
	[]fault{
		{"", []any{}, anObject},
		{"/candidate", "x", anObject},
		{"/candidate", absent{}, "required"},
		{"/candidate", nil, "required"},
	},
	list("/candidate/alternateIds", anObject),
	identifier("/candidate/alternateIds/0", "const: Service Legacy Candidate"),

	[]fault{
		{person, "x", anObject},
		{person, absent{}, "required"},
		{person + "/id", absent{}, "required"},
		{person + "/id", nil, "required"},
	},
	identifier(person+"/id", "const: Service Candidate"),
	[]fault{
		{person + "/name", "Zoë", anObject},
		{person + "/name/formattedName", 1, aString},
		{person + "/name/given", 1, aString},
		{person + "/name/family", 1, aString},
		{person + "/gender", 1, aString},
	},
	list(person+"/citizenShip", aString),
	[]fault{
		{person + "/applyDate", 20261002, aString},
		{person + "/applyDate", "02.10.2026", aDate},
		{person + "/communication", "x", anObject},
	},
	list(person+"/communication/address", anObject),
	list(person+"/communication/address/0/countrySubdivisions", anObject),
	[]fault{
		{person + "/communication/address/0/countrySubdivisions/0/type", 1, aString},
		{person + "/communication/address/0/countrySubdivisions/0/value", 1, aString},
		{person + "/communication/address/0/city", 1, aString},
		{person + "/communication/address/0/postalCode", 97205, aString},
		{person + "/communication/address/0/line", 1, aString},
		{person + "/communication/address/0/formattedAddress", 1, aString},
	},
	list(person+"/communication/phone", anObject),
	[]fault{{person + "/communication/phone/0/formattedNumber", 15035550142, aString}},
	list(person+"/communication/email", anObject),
	[]fault{
		{person + "/communication/email/0/address", 1, aString},
		{person + "/communication/web", map[string]any{}, aString},
	},
	list(person+"/customFields", anObject),
	customField(person+"/customFields/0", "const: Service Custom Field"),
	customField(person+"/customFields/1", "const: Service Custom Field"),

	list("/candidate/profiles", anObject),
	list(profile+"/alternateIds", anObject),
	identifier(profile+"/alternateIds/0", "const: Service Legacy Job Application"),
	[]fault{{profile + "/languageCode", 1, aString}},
	identifier(profile+"/profileId", "const: Service Job Application"),

	list(profile+"/associatedPositionOpenings", anObject),
	list(opening+"/alternateIds", anObject),
	identifier(opening+"/alternateIds/0", "const: Service Legacy Job"),
	identifier(opening+"/positionOpeningId", "const: Service Job"),
	[]fault{
		{opening + "/positionTitle", 1, aString},
		{opening + "/positionUri", 1, aString},
		{opening + "/candidateStatus", "Hired", anObject},
		{opening + "/candidateStatus/name", 1, aString},
		{opening + "/candidateStatus/category", 1, aString},
		{opening + "/candidateStatus/transitionDateTime", 1, aString},
		{opening + "/candidateStatus/transitionDateTime", "2026-11-12", aTime},
	},
	list(opening+"/customFields", anObject),
	customField(opening+"/customFields/0", "one of: Service Custom Field, Service Start Date"),
	[]fault{
		{opening + "/customFields/0/name", "firstDay", "const: startDate"},
		{opening + "/customFields/0/type", "text", "const: date"},
		{opening + "/customFields/0/value", "soon", aDate},
	},
	customField(opening+"/customFields/1", "one of: Service Custom Field, Service Start Date"),

	list(profile+"/education", anObject),
	list(profile+"/education/0/educationLevelCodes", anObject),
	[]fault{{profile + "/education/0/educationLevelCodes/0/name", 1, aString}},

	list(profile+"/attachments", anObject),
	attachment(profile+"/attachments/0"),
	attachment(profile+"/attachments/1"),
)

// identifier has the faults of an Identifier object.
func identifier(at, scheme string) []fault {
	return []fault{
		{at, "c-1", anObject},
		{at + "/value", absent{}, "required"},
		{at + "/value", nil, "required"},
		{at + "/value", 184467, aString},
		{at + "/schemeId", absent{}, "required"},
		{at + "/schemeId", 1, aString},
		{at + "/schemeId", "Service Something", scheme},
		{at + "/schemeAgencyId", absent{}, "required"},
		{at + "/schemeAgencyId", 1, aString},
		{at + "/schemeAgencyId", "Agency", agency},
	}
}

// customField has the faults of a Custom Field object.
func customField(at, scheme string) []fault {
	faults := []fault{{at + "/id", absent{}, "required"}}
	for _, name := range []string{"name", "type", "value"} {
		faults = append(faults,
			fault{at + "/" + name, absent{}, "required"},
			fault{at + "/" + name, nil, "required"},
			fault{at + "/" + name, true, aString})
	}
	return append(faults, identifier(at+"/id", scheme)...)
}

func attachment(at string) []fault {
	return flatten(
		[]fault{
			{at + "/id", absent{}, "required"},
			{at + "/url", absent{}, "required"},
			{at + "/url", nil, "required"},
			{at + "/url", 1, aString},
		},
		identifier(at+"/id", "const: Service Document to Candidate"),
		list(at+"/descriptions", aString))
}

// list has the faults of an array and of its first element.
func list(at, element string) []fault {
	return []fault{{at, "x", anArray}, {at + "/0", 1, element}, {at + "/0", nil, element}}
}

func flatten(lists ...[]fault) (all []fault) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func TestEveryFaultIsFoundWhereItIs(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, len(faults), 60)
	body, v := sample(t, "export-full.json"), validator(t, "Service")
	require.Nil(t, v.Export(guarded(t, body)))
	for _, f := range faults {
		findings := v.Export(guarded(t, edited(t, body, f.pointer, f.value)))
		require.Len(t, findings, 1, "%s: %v", f.pointer, findings)
		require.Equal(t, f.pointer, findings[0].Pointer)
		require.Equal(t, f.rule, findings[0].Rule, f.pointer)
		require.NotEmpty(t, findings[0].Found)
	}
}

// Nothing but the schema may find a fault.
func TestAnEmptySchemaFindsNothing(t *testing.T) {
	t.Parallel()
	empty, err := compile("{}", "Service")
	require.NoError(t, err)
	body, v := sample(t, "export-full.json"), &Validator{export: empty}
	for _, f := range faults {
		require.Nil(t, v.Export(guarded(t, edited(t, body, f.pointer, f.value))), f.pointer)
	}
}

// The table must not forget a property: export-full.json has all of them.
func TestFaultsCoverTheSample(t *testing.T) {
	t.Parallel()
	covered := make(map[string]bool)
	for _, f := range faults {
		covered[f.pointer] = true
	}
	var root any
	require.NoError(t, json.Unmarshal(sample(t, "export-full.json"), &root))
	others := regexp.MustCompile(`/[1-9][0-9]*$`) // elements after the first
	walk(root, "", func(pointer string, _ any) {
		if !others.MatchString(pointer) {
			require.True(t, covered[pointer], pointer)
		}
	})
}
