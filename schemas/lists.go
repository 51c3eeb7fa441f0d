package schemas

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/xeipuuv/gojsonschema"
)

// schema is a compiled schema without the items of its lists: each list has a schema of its own for them. The library
// collects every fault before it returns, 1.5 KiB each; one item at a time, validation ends at MaxFindings.
type schema struct {
	compiled *gojsonschema.Schema
	lists    []listSchema
	// literals gives the rule for each pattern that sharpen wrote.
	literals map[string]string
	// marks has the deviations that may be in the value, by the pointer to where.
	marks map[string][]mark
}

// listSchema is a list below the value that a schema describes.
type listSchema struct {
	path    []string // names of the members that lead to it
	pointer string   // the same, as RFC 6901 writes it
	items   *schema
}

// in returns the items of the list in a value; nil: it is not there, or no list.
func (l *listSchema) in(value any) []any {
	for _, name := range l.path {
		object, _ := value.(object)
		value = object[name]
	}
	items, _ := value.([]any)
	return items
}

// search looks for faults, on its way through a document. It lends the library the value that it is at.
type search struct {
	gojsonschema.JSONLoader // of which the library calls LoadJSON only

	doc        *Document
	value      any
	at         []step // that lead to the value
	faults     []Finding
	deviations []Finding // the first of each, and no more than MaxFindings others
}

func (w *search) add(f Finding) {
	switch {
	case f.Deviation == "":
		w.faults = append(w.faults, f)
	case len(w.deviations) < MaxFindings || !slices.ContainsFunc(w.deviations, func(before Finding) bool {
		return before.Deviation == f.Deviation
	}):
		w.deviations = append(w.deviations, f)
	}
}

// step leads to an item of a list.
type step struct {
	list *listSchema
	item int
}

// LoadJSON returns the value that is validated.
func (w *search) LoadJSON() (any, error) { return w.value, nil }

// check validates a value, and the lists below it until there are MaxFindings faults.
func (w *search) check(s *schema, value any) {
	w.value = value
	result, err := s.compiled.Validate(w)
	if err != nil {
		panic(err)
	}
	if !result.Valid() {
		for _, f := range s.findings(result.Errors(), w.doc) {
			f.Pointer = w.pointer() + f.Pointer
			w.add(f)
		}
	}
	for n := range s.lists {
		l := &s.lists[n]
		for i, item := range l.in(value) {
			if len(w.faults) >= MaxFindings {
				return
			}
			w.at = append(w.at, step{l, i})
			w.check(l.items, item)
			w.at = w.at[:len(w.at)-1]
		}
	}
}

// pointer leads to the value (RFC 6901).
func (w *search) pointer() string {
	pointer := ""
	for _, s := range w.at {
		pointer += s.list.pointer + "/" + strconv.Itoa(s.item)
	}
	return pointer
}

// findings translates the errors of a value of the document, each once. Their pointers begin at the value.
func (s *schema) findings(errors []gojsonschema.ResultError, d *Document) (all []Finding) {
	for _, e := range errors {
		if f, ok := s.finding(e, d); ok {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, inOrder)
	return slices.Compact(all)
}

// compiler compiles a schema and those of its lists.
type compiler struct {
	literals    map[string]string
	definitions object
	named       map[string]*schema // of lists' items, by the name of the definition
}

func (c *compiler) schema(node object) (*schema, error) {
	s := &schema{literals: c.literals, marks: map[string][]mark{}}
	return s, c.complete(s, node)
}

func (c *compiler) complete(s *schema, node object) (err error) {
	own := withoutItems(node).(object)
	if c.definitions != nil {
		own["definitions"] = withoutItems(c.definitions)
	}
	if s.compiled, err = load(own, false); err != nil {
		return err
	}
	if err := c.mark(own, "", s.marks); err != nil {
		return err
	}
	s.lists, err = c.lists(node, nil)
	return err
}

// lists returns the lists below a node, in the order of their pointers.
func (c *compiler) lists(node object, path []string) (all []listSchema, err error) {
	if name, ok := reference(node); ok {
		node, _ = c.definitions[name].(object)
	}
	if items, ok := node["items"].(object); ok {
		s, err := c.items(items)
		if err != nil {
			return nil, fmt.Errorf("/%s: %w", strings.Join(path, "/"), err)
		}
		pointer := ""
		for _, name := range path {
			pointer += "/" + name
		}
		all = append(all, listSchema{path: slices.Clone(path), pointer: pointer, items: s})
	}
	properties, _ := node["properties"].(object)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(object)
		below, err := c.lists(property, append(path, name))
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return all, nil
}

// items returns the schema of a list's items. Lists of the same definition share it.
func (c *compiler) items(node object) (*schema, error) {
	name, ok := reference(node)
	if !ok {
		return c.schema(node)
	}
	if s := c.named[name]; s != nil {
		return s, nil
	}
	s := &schema{literals: c.literals, marks: map[string][]mark{}}
	c.named[name] = s
	node, _ = c.definitions[name].(object)
	return s, c.complete(s, node)
}

// reference returns the name of the definition that a node refers to.
func reference(node object) (name string, ok bool) {
	ref, _ := node["$ref"].(string)
	return strings.CutPrefix(ref, "#/definitions/")
}

// withoutItems returns a copy of a schema in which lists may have any items.
func withoutItems(node any) any {
	switch n := node.(type) {
	case object:
		copied := make(object, len(n))
		for key, value := range n {
			if key != "items" || n["type"] != "array" {
				copied[key] = withoutItems(value)
			}
		}
		return copied
	case []any:
		copied := make([]any, len(n))
		for i, value := range n {
			copied[i] = withoutItems(value)
		}
		return copied
	}
	return node
}
