package schemas

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/xeipuuv/gojsonschema"
)

// Deviation is a listed difference from the contract. Real senders have them, so a body with deviations and without any
// other fault may be accepted, passed on unchanged, and noted. The list is in export.schema.json: the keyword deviations
// at its top has them by name, each with its evidence; at a place it names those that may be there.
type Deviation struct {
	Note     string `json:"note"`     // a sentence about a body that has it
	Evidence string `json:"evidence"` // why it is listed
	// Accepts is the schema of what may stand there instead.
	Accepts map[string]any `json:"accepts"`
	// Around has the characters that may stand around what the contract wants there; empty: Accepts alone decides.
	Around string `json:"around,omitempty"`
}

// Deviations returns the listed deviations of exports, by name.
var Deviations = sync.OnceValue(func() map[string]Deviation {
	var list struct {
		Deviations map[string]Deviation `json:"deviations"`
	}
	if err := json.Unmarshal([]byte(exportSchema), &list); err != nil {
		panic(err) // it is a part of the program
	}
	return list.Deviations
})

// mark is a deviation that may be at a place.
type mark struct {
	name     string
	accepts  *gojsonschema.Schema
	around   string
	expected *regexp.Regexp // what the contract wants there; nil where around is empty
}

// has reports whether a value that breaks the contract is this deviation.
func (m *mark) has(value any) bool {
	result, err := m.accepts.Validate(gojsonschema.NewRawLoader(value))
	if err != nil || !result.Valid() {
		return false
	}
	return m.expected == nil || m.expected.MatchString(strings.Trim(value.(string), m.around))
}

// deviation returns the name of the deviation that a value at a pointer is; empty: it is none.
func (s *schema) deviation(pointer string, value any) string {
	for n := range s.marks[pointer] {
		if m := &s.marks[pointer][n]; m.has(value) {
			return m.name
		}
	}
	return ""
}

// mark collects the marks of a value that a node describes, and of its members, but not of the items of lists.
func (c *compiler) mark(node object, pointer string, all map[string][]mark) error {
	if name, ok := reference(node); ok {
		node, _ = c.definitions[name].(object)
	}
	names, _ := node["deviations"].([]any)
	for _, name := range names {
		m, err := c.deviation(fmt.Sprint(name), node)
		if err != nil {
			return fmt.Errorf("%s: %w", pointer, err)
		}
		all[pointer] = append(all[pointer], m)
	}
	for _, keyword := range []string{"then", "else"} {
		if below, ok := node[keyword].(object); ok {
			if err := c.mark(below, pointer, all); err != nil {
				return err
			}
		}
	}
	properties, _ := node["properties"].(object)
	for name, property := range properties {
		if err := c.mark(property.(object), pointer+"/"+name, all); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) deviation(name string, at object) (m mark, err error) {
	listed, ok := Deviations()[name]
	if !ok {
		return m, fmt.Errorf("the deviation %s is not listed", name)
	}
	m = mark{name: name, around: listed.Around}
	if listed.Around != "" {
		if m.expected, err = regexp.Compile(fmt.Sprint(at["pattern"])); err != nil {
			return m, err
		}
	}
	m.accepts, err = load(listed.Accepts, true)
	return m, err
}
