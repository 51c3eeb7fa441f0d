package schemas

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMinimalExportIsValid(t *testing.T) {
	t.Parallel()
	v := validator(t, "Service")
	require.Nil(t, v.Export(guarded(t, sample(t, "export-minimal.json"))))
	// profiles is not required either.
	require.Nil(t, v.Export(guarded(t, edited(t, sample(t, "export-minimal.json"), "/candidate/profiles", absent{}))))
}

// Everything that is not required may be absent, and null counts as absent.
func TestOptionalPropertiesMayBeAbsentOrNull(t *testing.T) {
	t.Parallel()
	required := map[string]bool{
		"/candidate": true, person: true, person + "/id": true,
		profile + "/attachments/0/id": true, profile + "/attachments/0/url": true,
		profile + "/attachments/1/id": true, profile + "/attachments/1/url": true,
	}
	isRequired := func(pointer, parent string, siblings map[string]any) bool {
		_, isIdentifier := siblings["schemeId"]
		return required[pointer] || isIdentifier || strings.Contains(parent, "/customFields/")
	}
	body, v := sample(t, "export-full.json"), validator(t, "Service")
	var root any
	require.NoError(t, json.Unmarshal(body, &root))
	optional := 0
	walk(root, "", func(parent string, node any) {
		object, _ := node.(map[string]any)
		for name := range object {
			pointer := parent + "/" + name
			without := v.Export(guarded(t, edited(t, body, pointer, absent{})))
			null := v.Export(guarded(t, edited(t, body, pointer, nil)))
			require.Equal(t, without, null, pointer)
			if isRequired(pointer, parent, object) {
				require.Equal(t, []Finding{found(pointer, "required", "absent")}, without)
			} else {
				require.Nil(t, without, pointer)
				optional++
			}
		}
	})
	require.Greater(t, optional, 30)
}

func TestUnknownExtrasAreAccepted(t *testing.T) {
	t.Parallel()
	body, v := sample(t, "export-full.json"), validator(t, "Service")
	var root any
	require.NoError(t, json.Unmarshal(body, &root))
	walk(root, "", func(parent string, node any) {
		if _, ok := node.(map[string]any); ok {
			extra := edited(t, body, parent+"/grownSince", []any{1.5, nil, map[string]any{"x": false}})
			require.Nil(t, v.Export(guarded(t, extra)), parent)
		}
	})
	// Not the contract's spelling, so an extra, whatever it holds.
	require.Nil(t, v.Export(guarded(t, edited(t, body, person+"/citizenship", 7))))
	require.Nil(t, v.Verification(guarded(t, []byte(`{"data":"Service Verify Event","more":1}`))))
}

func TestUnlistedValuesAreAnyString(t *testing.T) {
	t.Parallel()
	body, v := sample(t, "export-full.json"), validator(t, "Service")
	for _, pointer := range []string{
		person + "/gender", person + "/citizenShip/0", person + "/communication/web", person + "/customFields/0/type",
		profile + "/languageCode", profile + "/education/0/educationLevelCodes/0/name", opening + "/positionUri",
		opening + "/candidateStatus/category", opening + "/customFields/1/type",
		person + "/communication/email/0/address",
	} {
		for _, value := range []string{"", "not in any list", "http://[", "<script>\x00"} {
			require.Nil(t, v.Export(guarded(t, edited(t, body, pointer, value))), pointer)
		}
	}
}

func TestDates(t *testing.T) {
	t.Parallel()
	days := map[string]bool{
		"2024-02-29": true, "2000-02-29": true, "2026-12-31": true, "2026-04-30": true, "0001-01-01": true,
		"2026-02-29": false, "1900-02-29": false, "2026-04-31": false, "2026-13-01": false, "2026-00-10": false,
		"2026-10-00": false, "2026-10-32": false, "0000-01-01": false, "26-10-02": false, "2026-10-2": false,
		"2026/10/02": false, "20261002": false, "2026-10-02 ": false, "2026-10-02Z": false, "": false,
		"+026-10-02": false, "2026-1０-02": false, "2026-10-02\n": false,
	}
	times := map[string]bool{
		" 00:00:00": true, " 23:59:59": true,
		" 24:00:00": false, " 23:60:00": false, " 23:59:60": false, "T16:04:59": false, "t16:04:59": false,
		" 16:04:59Z": false, " 16:04:59+02:00": false, " 16:04:59.000": false, " 16:04": false, "": false,
		"  16:04:59": false, " 16.04.59": false, " -1:04:59": false, " 16:04:5x": false,
	}
	body, v := sample(t, "export-full.json"), validator(t, "Service")
	check := func(pointer, value, rule, what string, valid bool) {
		t.Helper()
		findings := v.Export(guarded(t, edited(t, body, pointer, value)))
		if valid {
			require.Nil(t, findings, "%s %q", pointer, value)
			return
		}
		require.Equal(t, []Finding{found(pointer, rule, kind(value)+" that is not a "+what)}, findings, value)
	}
	const status = opening + "/candidateStatus/transitionDateTime"
	for day, valid := range days {
		check(person+"/applyDate", day, aDate, "date", valid)
		check(opening+"/customFields/0/value", day, aDate, "date", valid)
		check(status, day+" 16:04:59", aTime, "datetime", valid)
	}
	for clock, valid := range times {
		check(status, "2024-02-29"+clock, aTime, "datetime", valid)
	}
}

func TestStartDateEntry(t *testing.T) {
	t.Parallel()
	body, v := sample(t, "export-full.json"), validator(t, "Service")
	entry := func(scheme, name, kind, value string) map[string]any {
		return map[string]any{
			"id":   map[string]any{"value": "sd-1", "schemeId": scheme, "schemeAgencyId": "Service"},
			"name": name, "type": kind, "value": value,
		}
	}
	start := entry("Service Start Date", "startDate", "date", "2028-02-29")
	plain := entry("Service Custom Field", "startDate", "text", "as soon as I can")
	fields := opening + "/customFields"

	for _, accepted := range [][]any{{}, {start}, {plain}, {plain, start}, {start, plain}} {
		require.Nil(t, v.Export(guarded(t, edited(t, body, fields, accepted))))
	}
	// The entry belongs to a job, not to a person.
	require.Equal(t,
		[]Finding{found(person+"/customFields/0/id/schemeId", "const: Service Custom Field", "string of 18 characters")},
		v.Export(guarded(t, edited(t, body, person+"/customFields", []any{start}))))
	// All that is wrong with one is told at once.
	wrong := entry("Service Start Date", "start", "datetime", "2028-02-30")
	require.Equal(t, []Finding{
		found(fields+"/1/name", "const: startDate", "string of 5 characters"),
		found(fields+"/1/type", "const: date", "string of 8 characters"),
		found(fields+"/1/value", aDate, "string of 10 characters that is not a date"),
	}, v.Export(guarded(t, edited(t, body, fields, []any{plain, wrong}))))
	for _, scheme := range []string{"Start Date", "service start date", "Service Start Date ", "Service Start Date\n"} {
		findings := v.Export(guarded(t, edited(t, body, fields, []any{entry(scheme, "startDate", "date", "2028-02-29")})))
		require.Len(t, findings, 1)
		require.Equal(t, fields+"/0/id/schemeId", findings[0].Pointer)
	}
}

func TestVerificationTextIsExact(t *testing.T) {
	t.Parallel()
	v := validator(t, "Service")
	require.Nil(t, v.Verification(guarded(t, sample(t, "verify.json"))))
	require.Nil(t, v.Verification(guarded(t, []byte(`{"data":"Service\u0020Verify Event"}`))))
	for _, text := range []string{"", "Verify Event", "service verify event", "Service Verify Event ",
		"Service Verify Event\n"} {
		body, err := json.Marshal(map[string]string{"data": text})
		require.NoError(t, err)
		require.Equal(t, []Finding{found("/data", "const: Service Verify Event", kind(text))}, v.Verification(guarded(t, body)))
	}
	for body, want := range map[string]Finding{
		`{}`:                     found("/data", "required", "absent"),
		`{"data":null}`:          found("/data", "required", "absent"),
		`{"data":1}`:             found("/data", aString, "number"),
		`null`:                   found("", anObject, "null"),
		`[]`:                     found("", anObject, "array"),
		`"Service Verify Event"`: found("", anObject, "string of 20 characters"),
	} {
		require.Equal(t, []Finding{want}, v.Verification(guarded(t, []byte(body))), body)
	}
}

func TestServiceName(t *testing.T) {
	t.Parallel()
	body := sample(t, "export-full.json")
	for _, name := range []string{"Acme", "A.c+m$e", "x^y|z", "!#$%&'*+-.^_`|~9"} {
		v := validator(t, name)
		require.Nil(t, v.Export(guarded(t, bytes.ReplaceAll(body, []byte(`"Service`), []byte(`"`+name)))))
		require.Nil(t, v.Verification(guarded(t, []byte(`{"data":"`+name+` Verify Event"}`))))
		require.Contains(t, v.Export(guarded(t, body)),
			found(person+"/id/schemeId", "const: "+name+" Candidate", "string of 17 characters"))
	}
	// A name is no pattern.
	findings := validator(t, "A.me").Export(guarded(t, bytes.ReplaceAll(body, []byte(`"Service`), []byte(`"Acme`))))
	require.NotEmpty(t, findings)

	for _, name := range []string{"", "two words", `a"b`, `a\b`, "a/b", "Zoë", "a\n"} {
		_, err := New(name)
		require.ErrorContains(t, err, "service_name", name)
	}
}

func TestFindingsAreCappedAndSorted(t *testing.T) {
	t.Parallel()
	v := validator(t, "Service")
	findings := v.Export(guarded(t, faulty(2, 60)))
	require.Len(t, findings, 50)
	for i := 1; i < len(findings); i++ {
		require.Less(t, findings[i-1].Pointer, findings[i].Pointer)
	}
	require.Equal(t, found("/candidate/person", "required", "absent"), findings[0])
	require.Equal(t, found("/candidate/profiles/0/attachments/0", anObject, "number"), findings[1])
}

// The search ends at the last finding that is shown: thousands of faults cost as little as fifty. It allocates, and so
// it runs alone.
func TestFindingsEndTheSearch(t *testing.T) {
	v, doc := validator(t, "Service"), guarded(t, faulty(9, 9_999))
	require.Less(t, testing.AllocsPerRun(1, func() { v.Export(doc) }), 10_000.)
}

// A finding goes into answers and logs.
func TestFindingsHoldNoValues(t *testing.T) {
	t.Parallel()
	const marker = "Marker-Zq7"
	v := validator(t, "Service")
	var root any
	require.NoError(t, json.Unmarshal(sample(t, "export-full.json"), &root))
	check := func(body []byte) {
		findings := v.Export(guarded(t, body))
		require.NotEmpty(t, findings)
		text, err := json.Marshal(findings)
		require.NoError(t, err)
		require.NotContains(t, string(text), marker)
		require.NotContains(t, string(text), "424242")
	}
	all := sample(t, "export-full.json")
	walk(root, "", func(pointer string, node any) {
		switch node.(type) {
		case string:
			all = edited(t, all, pointer, marker)
		case map[string]any:
			all = edited(t, all, pointer+"/"+marker, marker)
		}
	})
	check(all)
	for _, planted := range []any{marker, map[string]any{marker: marker}, []any{marker}, 424242} {
		walk(root, "", func(pointer string, node any) {
			body := edited(t, sample(t, "export-full.json"), pointer, planted)
			if v.Export(guarded(t, body)) != nil {
				check(body)
			}
		})
	}
}

// A body with a name that looks like a required one is as invalid as one without it.
func TestNoNamePassesForAnother(t *testing.T) {
	t.Parallel()
	v := validator(t, "Service")
	body := sample(t, "export-full.json")
	for from, to := range map[string]string{`"schemeId"`: `"rchemeId\u0000"`, `"value"`: `"\u0000valuf"`, `"id"`: `"Id"`} {
		require.NotEmpty(t, v.Export(guarded(t, bytes.Replace(body, []byte(from), []byte(to), 1))), "%s in the place of %s",
			to, from)
	}
}

func TestAPanicIsAFinding(t *testing.T) {
	t.Parallel()
	v := &Validator{export: &schema{}} // nothing compiled: the library dereferences nil
	require.Equal(t, []Finding{found("", "schema could not be applied", "object")}, v.Export(guarded(t, []byte(`{}`))))
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	v := validator(t, "Service")
	body := sample(t, "export-full.json")
	broken := edited(t, body, person+"/applyDate", "soon")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				doc, err := Guard(body)
				if err != nil || v.Export(doc) != nil {
					t.Error("the valid body was refused")
				}
				if doc, err = Guard(broken); err != nil || len(v.Export(doc)) != 1 {
					t.Error("the broken body has not one finding")
				}
				if _, err = Guard(body[:len(body)/2]); err == nil {
					t.Error("half a body passed")
				}
			}
		})
	}
	group.Wait()
}

// What doc.go says of the schema files, and what the mapping of findings relies on.
func TestSchemaConventions(t *testing.T) {
	t.Parallel()
	for _, source := range []string{exportSchema, verificationSchema} {
		var root any
		require.NoError(t, json.Unmarshal([]byte(source), &root))
		require.Regexp(t, `^urn:`, root.(map[string]any)["$id"])
		walk(root, "", func(pointer string, node any) {
			object, _ := node.(map[string]any)
			if ref, ok := object["$ref"]; ok {
				require.Regexp(t, `^#/definitions/\w+$`, ref)
				require.Len(t, object, 1, pointer)
			}
			if format, ok := object["format"]; ok {
				require.Contains(t, []any{dateFormat, datetimeFormat, isoFormat}, format)
			}
			if properties, ok := object["properties"].(map[string]any); ok {
				for name := range properties {
					require.NotRegexp(t, `[/~]`, name)
				}
			}
			if pointer != "" {
				require.NotContains(t, object, "$id")
			}
		})
		// Neither is left for the library, which is slow at them.
		s, err := compile(source, "Service")
		require.NoError(t, err)
		require.NotEmpty(t, s.literals)
		(&compiler{literals: s.literals}).sharpen(root)
		text, err := json.Marshal(root)
		require.NoError(t, err)
		require.NotContains(t, string(text), `"const"`)
		require.NotContains(t, string(text), `"enum"`)
	}
	_, err := compile(`{"type":"strange"}`, "Service")
	require.Error(t, err)
	_, err = compile(`{`, "Service")
	require.Error(t, err)
}
