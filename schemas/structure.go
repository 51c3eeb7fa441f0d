package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hiregate/hiregate/internal/model"
)

// MaxParts is how many parts of a body Structure returns at most.
const MaxParts = 1000

// Structure returns the parts of a body, members in the order of their names, and reports whether there are more than
// MaxParts.
func Structure(body []byte) (parts []model.BodyPart, more bool, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // a float64 can't hold each number
	var whole any
	if err := d.Decode(&whole); err != nil {
		return nil, false, fmt.Errorf("reading the structure of a body: %w", err)
	}
	o := outline{}
	o.add("", whole)
	return o.parts, o.more, nil
}

// outline collects the parts of a body.
type outline struct {
	parts []model.BodyPart
	more  bool
}

func (o *outline) add(path string, value any) {
	if len(o.parts) == MaxParts {
		o.more = true
		return
	}
	part := model.BodyPart{Path: path, Type: kind(value)}
	at := len(o.parts)
	o.parts = append(o.parts, part)
	within := path
	if path != "" {
		within += "/"
	}
	switch v := value.(type) {
	case string:
		part.Type, part.Length = "string", utf8.RuneCountInString(v)
	case []any:
		part.Length = len(v)
		for n, item := range v {
			if o.more {
				break
			}
			o.add(within+strconv.Itoa(n), item)
		}
	case map[string]any:
		part.Length = len(v)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if o.more {
				break
			}
			o.add(within+shownName(name), v[name])
		}
	}
	o.parts[at] = part
}

// Misspelled returns a Finding for each property of a Document that has the name of one of the contract's in another spelling: with other
// capitals, or with underscores or hyphens between its words.
func (d *Document) Misspelled() (all []Finding) {
	var look func(path string, value any)
	look = func(path string, value any) {
		switch v := value.(type) {
		case []any:
			for n, item := range v {
				look(path+"/"+strconv.Itoa(n), item)
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				switch meant := spellings()[spelling(name)]; {
				case names()[name]:
					look(path+"/"+name, v[name])
				case meant != "":
					all = append(all, Finding{Pointer: path + "/" + name, Rule: "spelled " + meant, Found: "another spelling"})
				}
			}
		}
	}
	look("", d.Value)
	return all
}

// spelling is what all spellings of a name have in common.
func spelling(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// spellings has the names of the contract by what their spellings have in common.
var spellings = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for name := range names() {
		all[spelling(name)] = name
	}
	return all
})

// shownName is a name as a path shows it.
func shownName(name string) string {
	if names()[name] {
		return name
	}
	if n := utf8.RuneCountInString(name); n != 1 {
		return fmt.Sprintf("(name of %d characters)", n)
	}
	return "(name of 1 character)"
}

// names has the property names in the schema of an export.
var names = sync.OnceValue(func() map[string]bool {
	var schema any
	if err := json.NewDecoder(strings.NewReader(exportSchema)).Decode(&schema); err != nil {
		panic(err) // it is a part of the program
	}
	all := map[string]bool{}
	var collect func(any)
	collect = func(node any) {
		switch n := node.(type) {
		case []any:
			for _, one := range n {
				collect(one)
			}
		case map[string]any:
			if properties, ok := n["properties"].(map[string]any); ok {
				for name := range properties {
					all[name] = true
				}
			}
			for _, one := range n {
				collect(one)
			}
		}
	}
	collect(schema)
	return all
})
