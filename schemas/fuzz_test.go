package schemas

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"github.com/xeipuuv/gojsonschema"
)

// FuzzGuard: the guard never panics, it takes for JSON what others take for it, the spans are those of the URLs, and
// neither Rewrite nor the validator stumbles over a body that passed.
func FuzzGuard(f *testing.F) {
	for _, name := range []string{"export-full.json", "export-minimal.json", "verify.json", "questions.json"} {
		f.Add(sample(f, name))
	}
	for body := range hostile {
		if len(body) < 200 {
			f.Add([]byte(body))
		}
	}
	f.Add([]byte(`{"candidate":{"profiles":[{"attachments":[{"url":"\u0061\ud83d\ude00","id":{"value":"\n"}}]}]}}`))
	v, whole := validator(f, "Service"), whole(f)

	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		doc, err := Guard(body)
		require.Equal(t, before, body)
		if err != nil {
			require.Nil(t, doc)
			require.IsType(t, new(GuardError), err)
			refused := err.(*GuardError)
			require.LessOrEqual(t, refused.Offset, int64(len(body)))
			if !slices.ContainsFunc(bounds, func(bound string) bool { return strings.Contains(refused.Reason, bound) }) {
				require.False(t, jsontext.Value(body).IsValid(), refused.Reason)
			}
			return
		}
		require.True(t, jsontext.Value(body).IsValid())
		want := decode(t, body)
		require.Equal(t, withoutNulls(want), doc.Value)

		var urls []string
		for _, a := range doc.Attachments {
			var url string
			require.NoError(t, json.Unmarshal(body[a.Start:a.End], &url))
			require.Equal(t, url, a.URL)
			require.Equal(t, url, lookup(t, want,
				"/candidate/profiles/"+strconv.Itoa(a.Profile)+"/attachments/"+strconv.Itoa(a.Index)+"/url"))
			urls = append(urls, url)
		}
		require.Equal(t, want, decode(t, doc.Rewrite(body, urls)))

		for _, finding := range append(v.Export(doc), v.Verification(doc)...) {
			require.NotContains(t, finding.Rule, "could not be applied")
			require.True(t, finding.Pointer == "" || strings.HasPrefix(finding.Pointer, "/"))
		}
		result, err := whole.Validate(gojsonschema.NewRawLoader(doc.Value))
		require.NoError(t, err)
		require.Equal(t, result.Valid(), v.Export(doc) == nil, "the schema in parts finds what the whole finds")
	})
}

// whole is the schema of an export as one, with the items of its lists.
func whole(t testing.TB) *gojsonschema.Schema {
	t.Helper()
	var document object
	require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(exportSchema, "{service_name}", "Service")), &document))
	(&compiler{literals: map[string]string{}}).sharpen(document)
	s, err := load(document, true)
	require.NoError(t, err)
	return s
}

// bounds are words of the refusals of what is JSON, and too much.
var bounds = []string{"deep", "10,000 element", "100,000 values", "64 characters", "exponent", "double"}

func decode(t *testing.T, body []byte) (value any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&value))
	require.True(t, json.Valid(body))
	return value
}

// withoutNulls returns a copy without the members of objects that are null.
func withoutNulls(node any) any {
	switch n := node.(type) {
	case map[string]any:
		object := make(map[string]any)
		for name, v := range n {
			if v != nil {
				object[name] = withoutNulls(v)
			}
		}
		return object
	case []any:
		array := make([]any, len(n))
		for i, v := range n {
			array[i] = withoutNulls(v)
		}
		return array
	}
	return node
}
