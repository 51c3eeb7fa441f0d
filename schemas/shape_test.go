package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What a remembered shape says is what the library says. The values are those that the schema tells apart, and some that look
// like them; they are put anywhere into the sample, so that most bodies are near to a valid one.
func TestShapesChangeNoVerdict(t *testing.T) {
	t.Parallel()
	v := validator(t, "Service")
	body := sample(t, "export-full.json")
	var root any
	require.NoError(t, json.Unmarshal(body, &root))
	var pointers []string
	walk(root, "", func(pointer string, _ any) { pointers = append(pointers, pointer) })
	require.Greater(t, len(pointers), 100)
	candidates := []any{nil, true, 0, "", "text", "2026-11-20", "2026-02-30", "2026-11-20 23:59:59", "2026-11-20T23:59:59", "startDate", "date",
		"Service", "service", "Service Candidate", "Service Custom Field", "Service Start Date", "Service Job",
		[]any{}, []any{"a", "b"}, []any{"a", nil}, []any{0}, []any{"a", 0}, map[string]any{}, map[string]any{"value": "x"},
		map[string]any{"value": "x", "schemeId": "Service Job", "schemeAgencyId": "Service"}}
	valid, remembered := 0, 0
	test := t
	rapid.Check(t, func(t *rapid.T) {
		changed := body
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			pointer := rapid.SampledFrom(pointers).Draw(t, "pointer")
			if value := rapid.SampledFrom(candidates).Draw(t, "value"); present(changed, pointer) {
				changed = edited(test, changed, pointer, value)
			}
		}
		doc, err := Guard(changed)
		require.NoError(t, err)
		want := v.export.ask(doc.Value)
		if v.export.shapes.valid.Contains(v.export.shapes.of(doc.Value)) {
			remembered++
		}
		require.Equal(t, want, v.Export(doc))
		require.Equal(t, want, v.Export(doc), "asked again")
		lean, err := v.Guard(changed)
		require.NoError(t, err)
		require.Equal(t, v.export.shapes.of(doc.Value), lean.shape, "the guard and the validator disagree about a shape")
		require.Equal(t, doc.Attachments, lean.Attachments)
		require.Equal(t, doc.CandidateID, lean.CandidateID)
		require.Equal(t, want, v.Export(lean))
		if len(want) == 0 {
			valid++
		}
	})
	require.NotZero(t, valid)
	require.NotZero(t, remembered, "no shape came twice: nothing was compared")
}

// Two candidates differ in all they say and not in shape; a third thing of a kind does not make another shape.
func TestShapesAreFew(t *testing.T) {
	t.Parallel()
	shapes := validator(t, "Service").export.shapes
	of := func(text string) uint64 { return shapes.of(guarded(t, []byte(text)).Value) }
	require.Equal(t, of(`{"a":["x","y"],"b":"2026-11-20"}`), of(`{"b":"2025-01-01","a":["z"],"c":null}`))
	for _, other := range []string{`{"a":["x"],"b":"tomorrow"}`, `{"a":["x"],"b":"Service"}`, `{"a":["x",1],"b":"2026-11-20"}`, `{"a":[],"b":"2026-11-20"}`,
		`{"a":"x","b":"2026-11-20"}`, `{"b":["x"],"a":"2026-11-20"}`, `{"a":["x"],"b":"2026-11-20","c":true}`, `{"a":{"x":"x"},"b":"2026-11-20"}`} {
		require.NotEqual(t, of(`{"a":["x"],"b":"2026-11-20"}`), of(other), other)
	}
	require.NotEqual(t, of(`["Service","Service Job"]`), of(`["Service","Service Candidate"]`))
}

// A name is not another one, though it differs from it as little as can be, or in its length and one bit more: a body with such a
// name in the place of one that must be there must not pass for a valid one.
func TestNoNamePassesForAnother(t *testing.T) {
	t.Parallel()
	v := validator(t, "Service")
	shapes := v.export.shapes
	of := func(name string) uint64 { return shapes.mix(shapes.ofName([]byte(name)), 0) }
	for _, name := range []string{"", "a", "id", "name", "value", "schemeId", "profileId", "schemeAgencyId", "positionOpeningId"} {
		for _, padded := range []string{name, name + "\x00", "\x00" + name, name + "\x00\x00", "\x00\x00" + name} {
			for at := range padded {
				for bits := range byte(32) {
					other := []byte(padded)
					if other[at] ^= bits; string(other) != name {
						require.NotEqual(t, of(name), of(string(other)), "%q and %q", name, other)
					}
				}
			}
		}
	}

	body := sample(t, "export-full.json")
	lean, err := v.Guard(body)
	require.NoError(t, err)
	require.Empty(t, v.Export(lean))
	for from, to := range map[string]string{`"schemeId"`: `"rchemeId\u0000"`, `"value"`: `"\u0000valuf"`} {
		doc, err := v.Guard(bytes.Replace(body, []byte(from), []byte(to), 1))
		require.NoError(t, err)
		require.NotEmpty(t, v.Export(doc), "%s in the place of %s", to, from)
	}
}

// Names that a schema has are told apart by bits of their own; beyond 64 of them they are read as any others.
func TestNamesOfASchemaAreToldApart(t *testing.T) {
	t.Parallel()
	names, properties := []string{"", "other"}, map[string]any{}
	for n := range 70 {
		names = append(names, fmt.Sprint("name-", n))
		properties[names[len(names)-1]] = map[string]any{}
	}
	shapes, err := newShapes(map[string]any{"properties": properties})
	require.NoError(t, err)
	found := map[uint64]string{}
	for _, a := range names {
		for _, b := range names {
			doc, err := guard(fmt.Appendf(nil, `{"%s":{"%s":1,"%s":2},"%s":3}`, a, a, b, b), shapes, true)
			if a == b {
				require.ErrorContains(t, err, "twice", a)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, shapes.of(doc.Value), doc.shape)
			require.Empty(t, found[doc.shape], "%s and %s", a, b)
			found[doc.shape] = a + " and " + b
		}
	}
}

// A schema that looks at more than shapes can't be remembered by them.
func TestOnlyKeywordsOfShapesAreTaken(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"minLength":1}`, `{"items":[{}]}`, `{"items":{"maxItems":3}}`, `{"properties":{"a":{"pattern":"x"}}}`, `{"type":"integer"}`,
		`{"const":1}`, `{"enum":["a",2]}`, `{"format":"email"}`, `{"allOf":[{"uniqueItems":true}]}`, `{"if":{"minimum":1}}`} {
		var schema any
		require.NoError(t, json.Unmarshal([]byte(text), &schema))
		_, err := newShapes(schema)
		require.Error(t, err, text)
	}
}

func present(body []byte, pointer string) bool {
	var root any
	if json.Unmarshal(body, &root) != nil {
		return false
	}
	found := false
	walk(root, "", func(at string, _ any) { found = found || at == pointer })
	return found
}

func TestGuardOfTheValidatorRefusesTheSame(t *testing.T) {
	t.Parallel()
	v := validator(t, "Service")
	for name, text := range hostile {
		_, want := Guard([]byte(text))
		_, got := v.Guard([]byte(text))
		require.Equal(t, want, got, name)
	}
	doc, err := v.Guard([]byte(`{"data":"Service Verify Event"}`))
	require.NoError(t, err)
	require.Empty(t, v.Verification(doc))
	doc, err = v.Guard([]byte(`{"data":"Service"}`))
	require.NoError(t, err)
	require.NotEmpty(t, v.Verification(doc))
}
