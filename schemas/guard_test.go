package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGuardDecodes(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]any{
		`null`:                   nil,
		` true `:                 true,
		"\r\n\t false":           false,
		`""`:                     "",
		`"\u00e9\n\"\\\/\u0000"`: "é\n\"\\/\x00",
		`"\ud83d\ude00 😀"`:       "😀 😀",
		`-0.5e+10`:               json.Number("-0.5e+10"),
		`[]`:                     []any{},
		`[null,[1,[]],"a"]`:      []any{nil, []any{json.Number("1"), []any{}}, "a"},
		`{}`:                     map[string]any{},
		`{"a":null,"b":{"c":[{"d":null}]},"":1}`: map[string]any{
			"b": map[string]any{"c": []any{map[string]any{}}}, "": json.Number("1"),
		},
		`{"\u0061":1}`: map[string]any{"a": json.Number("1")},
	} {
		doc, err := Guard([]byte(body))
		require.NoError(t, err, body)
		doc.nulls = nil
		require.Equal(t, &Document{Value: want}, doc, body)
	}
}

func nested(n int) string {
	return strings.Repeat("[", n/2) + strings.Repeat(`{"a":`, n-n/2) + "1" + strings.Repeat("}", n-n/2) +
		strings.Repeat("]", n/2)
}

func array(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]" }

// values returns an array of n arrays of m elements: 1 + n + n·m values.
func values(n, m int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(array(m)+",", n), ",") + "]"
}

func TestGuardLimits(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"depth":    nested(32),
		"elements": array(10_000),
		"values":   values(10, 9_998),
		"number":   strings.Repeat("9", 64),
		"exponent": "[1e308,1E+308,1e-308,1e0000000308,0e308]",
		"double":   "[1.7976931348623157e308,-1.7976931348623157e308,17976931348623157e292,0.0001e308,1e-308,0.001e-308]",
	} {
		_, err := Guard([]byte(body))
		require.NoError(t, err, name)
	}
	for name, body := range map[string]string{
		"levels deep":    nested(33),
		"10,000 element": array(10_001),
		"100,000 values": values(10, 9_999),
		"64 characters":  strings.Repeat("9", 65),
		"exponent":       "1e309",
	} {
		_, err := Guard([]byte(body))
		require.ErrorContains(t, err, name)
	}
	// Members of objects count as well.
	_, err := Guard([]byte(`{"a":` + values(10, 9_997) + `,"b":` + array(17) + `}`))
	require.NoError(t, err)
	_, err = Guard([]byte(`{"a":` + values(10, 9_997) + `,"b":` + array(18) + `}`))
	require.ErrorContains(t, err, "100,000 values")
}

func TestGuardWithinLimits(t *testing.T) {
	t.Parallel()
	few := Limits{Values: 1_005, Items: 1_000}
	_, err := few.Guard([]byte(`{"a":` + array(1_000) + `,"b":[1]}`))
	require.NoError(t, err)
	_, err = few.Guard([]byte(`{"a":` + array(1_001) + `}`))
	require.ErrorContains(t, err, "more than 1,000 elements")
	_, err = few.Guard([]byte(`{"a":` + array(1_000) + `,"b":[1,2,3]}`))
	require.ErrorContains(t, err, "more than 1,005 values")
}

// Whatever a body looks like, what is allocated while it is read and validated is no more than its weight.
func TestWeight(t *testing.T) {
	v := validator(t, "Service")
	fields := func(item string) string {
		return `{"candidate":{"person":{"customFields":[` + strings.TrimSuffix(strings.Repeat(item+",", 1_500), ",") + `]}}}`
	}
	members := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"%d":0`, i))
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	l := Limits{Values: 20_000, Items: 2_000}
	for name, body := range map[string]string{
		"the sample":    string(sample(t, "export-full.json")),
		"numbers":       fields("0"),
		"strings":       fields(`"12345678"`),
		"empty objects": fields("{}"),
		"empty lists":   fields("[]"),
		"wrong members": fields(`{"id":1,"name":1}`),
		"nulls":         fields(`{"a":null}`),
		"nine members":  fields(members(9)),
		"many members":  members(19_000),
		"nested":        fields(strings.Repeat(`{"":`, 12) + "0" + strings.Repeat("}", 12)),
		"too many":      fields(members(100)),
		"no values":     `{"a":"` + strings.Repeat("long", 1_000_000) + `"}`,
	} {
		raw := []byte(body)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if doc, err := l.Guard(raw); err == nil {
			v.Export(doc)
		}
		runtime.ReadMemStats(&after)
		weight := l.Weight(raw)
		require.Less(t, int64(after.TotalAlloc-before.TotalAlloc), weight+100_000, name)
		require.LessOrEqual(t, weight, int64(3*len(body)+20_001*512), name)
	}
}

// hostile holds bodies that no sender has a reason to send, and a word of the reason to refuse each.
var hostile = map[string]string{
	"":                          "empty",
	" \r\n\t":                   "empty",
	"\ufeff{}":                  "byte order mark",
	"\xff\xfe{\x00}\x00":        "UTF-8",
	"{}\x00":                    "follows",
	"\x00{}":                    "not valid JSON",
	"{\x00}":                    "not valid JSON",
	"\"a\x00b\"":                "not valid JSON",
	"\"a\nb\"":                  "not valid JSON",
	"{} {}":                     "follows",
	"{},":                       "follows",
	`{"":1,"":2}`:               "same name",
	`{"a":1 ,"a":2}`:            "same name",
	`{"a":1,"a" :2}`:            "same name",
	`{,"a":1}`:                  "not valid JSON",
	`{"a":1"b":2}`:              "not valid JSON",
	`{"a":1,"b"2}`:              "not valid JSON",
	`{"a":1,"b`:                 "ends in the middle",
	`{"a":1,"b"`:                "ends in the middle",
	"{}}":                       "follows",
	"1 2":                       "follows",
	"{}//":                      "follows",
	`{"a":1,"a":1}`:             "twice",
	`{"a":1,"\u0061":2}`:        "twice",
	`{"/":1,"\/":2}`:            "twice",
	`{"é":1,"\u00e9":2}`:        "twice",
	`{"x":{"a":1,"b":2,"a":3}}`: "twice",
	`{"a":null,"a":null}`:       "twice",
	`{"id":1,"id":2}`:           "twice",
	`{"id":1,"\u0069d":2}`:      "twice",
	`{"id":1,"x":2,"id":3}`:     "twice",
	`{"id":{"id":1},"id":2}`:    "twice",
	"\"\xff\"":                  "UTF-8",
	"\"\xc0\xaf\"":              "UTF-8",
	"\"\xed\xa0\x80\"":          "UTF-8",
	"{\"\xff\":1}":              "UTF-8",
	`"\ud800"`:                  "surrogates",
	`"\udc00x"`:                 "surrogates",
	`"\ud800\ud800"`:            "surrogates",
	`{"\ud800":1}`:              "surrogates",
	`1e10000000`:                "exponent",
	`-1E-10000000`:              "exponent",
	`[1e309]`:                   "exponent",
	`9.99e308`:                  "double",
	`[-1.8e308]`:                "double",
	`{"a":10e308}`:              "double",
	`{"a":1.5e+99999999999999999999999999999}`: "exponent",
	strings.Repeat("1", 1<<20):                 "64 characters",
	strings.Repeat("[", 1<<20):                 "deep",
	strings.Repeat(`{"a":`, 1<<16):             "deep",
	strings.Repeat("[", 32):                    "ends",
	`{"a":[1,2`:                                "ends",
	`{"a`:                                      "ends",
	`{"a":`:                                    "ends",
	`{"a"`:                                     "ends",
	`[1,`:                                      "ends",
	`tru`:                                      "ends",
	`[1,]`:                                     "not valid JSON",
	`[,1]`:                                     "not valid JSON",
	`{"a":1,}`:                                 "not valid JSON",
	`{"a" 1}`:                                  "not valid JSON",
	`{a:1}`:                                    "not valid JSON",
	`{1:1}`:                                    "not valid JSON",
	`{{}:1}`:                                   "not valid JSON",
	`{"a":}`:                                   "not valid JSON",
	`{"a":1]`:                                  "not valid JSON",
	`[1}`:                                      "not valid JSON",
	`]`:                                        "not valid JSON",
	`01`:                                       "",
	`+1`:                                       "not valid JSON",
	`.5`:                                       "not valid JSON",
	`1.`:                                       "",
	`0x10`:                                     "",
	`NaN`:                                      "not valid JSON",
	`'a'`:                                      "not valid JSON",
	`"\x41"`:                                   "not valid JSON",
	`True`:                                     "not valid JSON",
	`<candidate/>`:                             "not valid JSON",
}

func TestGuardRefusesHostileJSON(t *testing.T) {
	t.Parallel()
	for body, reason := range hostile {
		doc, err := Guard([]byte(body))
		require.Nil(t, doc, "%.40q", body)
		var refused *GuardError
		require.ErrorAs(t, err, &refused, "%.40q", body)
		require.Contains(t, refused.Reason, reason, "%.40q", body)
		require.Regexp(t, `^[A-Z].*\.$`, refused.Reason)
		require.GreaterOrEqual(t, refused.Offset, int64(0))
		require.LessOrEqual(t, refused.Offset, int64(len(body)))
	}
}

// Names are told apart however many an object has, and those of the objects around it and in it are others.
func TestGuardFindsANameThatComesTwiceAmongMany(t *testing.T) {
	t.Parallel()
	object := func(names []string) string {
		members := make([]string, len(names))
		for n, name := range names {
			members[n] = `"` + name + `":1`
		}
		return strings.Join(members, ",")
	}
	for _, many := range []int{1, 2, 15, 16, 17, 18, 48} {
		names := make([]string, many)
		for n := range names {
			names[n] = fmt.Sprint("name ", n)
		}
		all := object(names)
		inner := `{` + all + `,"another":{` + all + `},"the last":[{` + all + `}]}`
		_, err := Guard([]byte(`{` + all + `,"another":` + inner + `}`))
		require.NoError(t, err, many)
		for _, again := range append(names, "another") {
			_, err := Guard([]byte(`{` + all + `,"another":` + inner + `,"` + again + `":1}`))
			require.ErrorContains(t, err, "the same name twice", "%d names, %s", many, again)
		}
	}
}

// A GuardError goes into logs.
func TestGuardErrorsHoldNothingOfTheBody(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"Marker":1,"Marker":2}`, `{"a":"Marker" Marker}`, `["Marker\ud800"]`, "[\"Marker\xff\"]", `"Marker`,
		`{"Marker":[1e999]}`, `{"a":1} Marker`, `Marker`, `{"Marker":` + nested(40) + `}`,
	} {
		_, err := Guard([]byte(body))
		require.Error(t, err, body)
		require.NotContains(t, err.Error(), "Marker")
	}
	_, err := Guard([]byte(`{"a":1,"a":2}`))
	require.EqualError(t, err, "guarding json at byte 7: An object has the same name twice; send each name once.")
}

func TestGuardRecordsWhatTheGatewayNeeds(t *testing.T) {
	t.Parallel()
	body := sample(t, "export-full.json")
	before := bytes.Clone(body)
	doc := guarded(t, body)
	require.Equal(t, before, body)
	require.Equal(t, "c0a8b5f2-6c1e-4c55-9a53-0d2f6a1d7e10", doc.CandidateID)
	require.Len(t, doc.Attachments, 2)
	for i, id := range []string{"doc-1", "doc-2"} {
		a := doc.Attachments[i]
		require.Equal(t, id, a.ID)
		require.Equal(t, i, a.Index)
		require.Equal(t, "http://127.0.0.1:9099/documents/"+id, a.URL)
		require.Equal(t, `"`+a.URL+`"`, string(body[a.Start:a.End]))
	}
	require.Zero(t, doc.Attachments[1].Profile)
}

func TestGuardRecordsAttachmentsByPath(t *testing.T) {
	t.Parallel()
	body := []byte(`{
		"url": "no", "attachments": [{"url": "no"}],
		"candidate": {
			"attachments": [{"url": "no"}], "url": "no", "id": {"value": "no"},
			"person": {"url": "no", "id": {"deep": {"value": "no"}, "value": "c-\u0031"}, "value": "no"},
			"profiles": [
				{"url": "no", "attachments": []},
				7, [{"attachments": [{"url": "no"}]}],
				{"attachments": [
					{"url": "a\u002Fb\\", "id": {"value": "d\u0031", "more": {"value": "no"}}},
					null, {"id": {"value": "no url"}}, {"url": null}, {"url": 5}, {"url": ["no"]}, {"url": {"url": "no"}},
					[{"url": "no"}],
					{"id": "no object", "extra": {"url": "no", "id": {"value": "no"}}, "url" : "", "more": [{"url": "no"}]}
				]},
				{"attachments": {"url": "no"}}
			]
		}
	}`)
	doc := guarded(t, body)
	require.Equal(t, "c-1", doc.CandidateID)
	first, second := bytes.Index(body, []byte(`"a\u002Fb`)), bytes.Index(body, []byte(`""`))
	require.Equal(t, []Attachment{
		{
			URL: `a/b\`, ID: "d1", Profile: 3, Index: 0,
			Start: first, End: first + len(`"a\u002Fb\\"`),
		},
		{
			URL: "", ID: "", Profile: 3, Index: 8,
			Start: second, End: second + 2,
		},
	}, doc.Attachments)

	for _, other := range []string{
		`[{"candidate":{"person":{"id":{"value":"x"}}}}]`, `{"candidate":[{"person":{"id":{"value":"x"}}}]}`,
		`{"candidate":{"person":{"id":"x"}}}`, `{"candidate":{"person":{"id":{"value":1}}}}`,
		`{"candidate":{"profiles":{"attachments":[{"url":"x"}]}}}`, `"candidate"`,
	} {
		doc := guarded(t, []byte(other))
		require.Empty(t, doc.CandidateID, other)
		require.Empty(t, doc.Attachments, other)
	}
}

// The receiver reads the next body into the same memory.
func TestDocumentSharesNoMemoryWithTheBody(t *testing.T) {
	t.Parallel()
	full := sample(t, "export-full.json")
	body := bytes.Clone(full)
	doc := guarded(t, body)
	for n := range body {
		body[n] = 'x'
	}
	require.Equal(t, guarded(t, full), doc)
}
