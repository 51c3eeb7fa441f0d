package schemas

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xeipuuv/gojsonschema"
)

// MaxFindings is how many findings an answer lists at most: enough to see what is wrong with a body.
const MaxFindings = 50

// Finding is one way in which a body breaks its schema. It never holds a value of the body.
type Finding struct {
	// Pointer (RFC 6901) leads to what is wrong; to where it should be, if it is missing.
	Pointer string `json:"pointer"`
	// Rule is the rule of the schema at that place: "required", "type: string", "const: Service", "one of: a, b",
	// "date: YYYY-MM-DD", "datetime: YYYY-MM-DD HH:mm:ss".
	Rule string `json:"rule"`
	// Found is the kind of value at that place: "absent", "null", "object", "string of 12 characters".
	Found string `json:"found"`
	// Deviation is the name of the listed deviation that it is; empty: it is a fault.
	Deviation string `json:"-"`
}

// check has the library validate a document. Both lists have at most MaxFindings, in order; there is one of each
// deviation.
func (s *schema) check(d *Document) (faults, deviations []Finding) {
	defer func() {
		// The guard keeps out what is known to make the library panic. What is not known must not end the process,
		// and a body that could not be checked must not count as valid.
		if recover() != nil {
			faults = []Finding{{Rule: "schema could not be applied", Found: kind(d.Value)}}
		}
	}()
	w := &search{doc: d}
	w.check(s, d.Value)
	return first(w.faults), w.deviations
}

// first sorts findings, and returns at most MaxFindings of them.
func first(findings []Finding) []Finding {
	slices.SortFunc(findings, inOrder)
	return findings[:min(len(findings), MaxFindings)]
}

func inOrder(a, b Finding) int {
	return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Rule, b.Rule))
}

// finding translates an error of the library, whose texts and values quote the body. It reports false for an error that
// only says that there are others.
func (s *schema) finding(e gojsonschema.ResultError, d *Document) (f Finding, ok bool) {
	// Our schemas describe no property whose name would need escapes in a pointer.
	pointer := strings.TrimPrefix(e.Context().String("/"), gojsonschema.STRING_CONTEXT_ROOT)
	details, value := e.Details(), e.Value()
	f = Finding{Pointer: pointer, Found: kind(value)}
	switch e.(type) {
	case *gojsonschema.ConditionThenError, *gojsonschema.ConditionElseError, *gojsonschema.NumberAllOfError:
		return Finding{}, false
	case *gojsonschema.RequiredError:
		// The library names the object.
		name := fmt.Sprint(details["property"])
		f = Finding{Pointer: pointer + "/" + name, Rule: "required", Found: "absent"}
		if !d.isNull(value, name) {
			return f, true
		}
		value = nil
	case *gojsonschema.InvalidTypeError:
		f.Rule = "type: " + fmt.Sprint(details["expected"])
	case *gojsonschema.DoesNotMatchPatternError:
		f.Rule = s.literals[fmt.Sprint(details["pattern"])]
	case *gojsonschema.DoesNotMatchFormatError:
		what := "datetime"
		f.Rule = "datetime: YYYY-MM-DD HH:mm:ss"
		if details["format"] == dateFormat {
			what, f.Rule = "date", "date: YYYY-MM-DD"
		}
		f.Found += " that is not a " + what
	default:
		f.Rule = e.Type()
	}
	f.Deviation = s.deviation(f.Pointer, value)
	return f, true
}

// kind says what kind of thing v is, without saying what it is.
func kind(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case string:
		if n := utf8.RuneCountInString(v); n != 1 {
			return fmt.Sprintf("string of %d characters", n)
		}
		return "string of 1 character"
	}
	return "unknown"
}
