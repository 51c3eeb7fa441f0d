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
}

// check has the library validate a document.
func (s *schema) check(d *Document) (findings []Finding) {
	defer func() {
		// The guard keeps out what is known to make the library panic. What is not known must not end the process,
		// and a body that could not be checked must not count as valid.
		if recover() != nil {
			findings = []Finding{{Rule: "schema could not be applied", Found: kind(d.Value)}}
		}
	}()
	w := new(search)
	w.check(s, d.Value)
	slices.SortFunc(w.findings, inOrder)
	return w.findings[:min(len(w.findings), MaxFindings)]
}

func inOrder(a, b Finding) int {
	return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Rule, b.Rule))
}

// finding translates an error of the library, whose texts and values quote the body. It reports false for an error that
// only says that there are others.
func (s *schema) finding(e gojsonschema.ResultError) (Finding, bool) {
	// Our schemas describe no property whose name would need escapes in a pointer.
	pointer := strings.TrimPrefix(e.Context().String("/"), gojsonschema.STRING_CONTEXT_ROOT)
	found := kind(e.Value())
	details := e.Details()
	switch e.(type) {
	case *gojsonschema.ConditionThenError, *gojsonschema.ConditionElseError, *gojsonschema.NumberAllOfError:
		return Finding{}, false
	case *gojsonschema.RequiredError:
		// The library names the object.
		return Finding{pointer + "/" + fmt.Sprint(details["property"]), "required", "absent"}, true
	case *gojsonschema.InvalidTypeError:
		return Finding{pointer, "type: " + fmt.Sprint(details["expected"]), found}, true
	case *gojsonschema.DoesNotMatchPatternError:
		return Finding{pointer, s.literals[fmt.Sprint(details["pattern"])], found}, true
	case *gojsonschema.DoesNotMatchFormatError:
		if details["format"] == dateFormat {
			return Finding{pointer, "date: YYYY-MM-DD", found + " that is not a date"}, true
		}
		return Finding{pointer, "datetime: YYYY-MM-DD HH:mm:ss", found + " that is not a datetime"}, true
	}
	return Finding{pointer, e.Type(), found}, true
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
