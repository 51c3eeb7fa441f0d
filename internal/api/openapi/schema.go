package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// generator makes schemas of types.
type generator struct {
	types   map[string]*named
	schemas map[string]object
	byHand  map[string]bool // the names of the schemas that are written by hand
}

// form says where a message stands. The schemas of a type differ with it.
type form int

const (
	answered form = iota
	// made is the answer that makes the thing: it has the fields that are tagged once.
	made
	// sent is a request.
	sent
)

// add makes the schema of a name, and of the types that it refers to. The name is that of a type of internal/api or
// internal/model. JobList is a page of a list of Job, JobInput is Job in a request, NewJob is Job in the answer that
// makes it.
func (g *generator) add(name string) error {
	if g.byHand[name] || g.schemas[name] != nil {
		return nil
	}
	t, as := g.called(name), answered
	if stem, ok := strings.CutSuffix(name, "Input"); ok {
		t, as = cmp.Or(t, g.called(stem)), sent
	}
	if stem, ok := strings.CutPrefix(name, "New"); t == nil && ok {
		t, as = g.called(stem), made
	}
	if item, ok := strings.CutSuffix(name, "List"); t == nil && ok {
		t = g.listOf(item)
	}
	if t == nil {
		return fmt.Errorf("the OpenAPI document refers to %s, which is no type of internal/api or internal/model", name)
	}
	g.schemas[name] = object{} // so that a type may refer to itself
	s, err := g.declared(t, as)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	g.schemas[name] = s
	return nil
}

// called returns the type that a schema is called after; nil: there is none.
func (g *generator) called(name string) *named {
	return cmp.Or(g.types["api."+name], g.types["model."+name])
}

// listOf returns a page of a list whose items are of a type; nil: there is no such type.
func (g *generator) listOf(item string) *named {
	t := g.called(item)
	if t == nil {
		return nil
	}
	list := *g.types["api.List"]
	list.doc, list.within = "", t.within
	list.fields = slices.Clone(list.fields)
	list.fields[0].of = &ast.ArrayType{Elt: ast.NewIdent(item)}
	return &list
}

// declared is the schema of a declared type. In a request, null is as good as leaving a list or an object out.
func (g *generator) declared(t *named, as form) (object, error) {
	if t.text {
		return append(described(object{{"type", "string"}}, t.doc), member{"enum", t.values}), nil
	}
	if t.fields == nil {
		return nil, fmt.Errorf("it is neither a struct nor a string")
	}
	var required []string
	properties, err := g.properties(t, as, &required)
	if err != nil {
		return nil, err
	}
	s := described(object{{"type", "object"}}, t.doc)
	if len(required) > 0 {
		s = append(s, member{"required", required})
	}
	return append(s, member{"additionalProperties", false}, member{"properties", properties}), nil
}

func described(s object, doc string) object {
	if doc != "" {
		s = append(s, member{"description", doc})
	}
	return s
}

// properties are the members of a struct and of those that are embedded in it. An outer one hides those within.
func (g *generator) properties(t *named, as form, required *[]string) (all object, err error) {
	stored := false // the server keeps the fields of model.Row by itself
	for _, f := range t.fields {
		if !f.embedded {
			continue
		}
		name := typeName(f.of, t.within)
		inner := g.types[name]
		if inner == nil {
			return nil, fmt.Errorf("%s is embedded and not known", name)
		}
		stored = stored || name == "model.Row"
		within, err := g.properties(inner, as, required)
		if err != nil {
			return nil, err
		}
		if as == sent && name == "model.Row" {
			*required = nil
			for n := range within {
				within[n].value = object{}
			}
		}
		all = append(all, within...)
	}
	for _, f := range t.fields {
		if f.embedded {
			continue
		}
		all = slices.DeleteFunc(all, func(m member) bool { return m.name == f.json })
		*required = slices.DeleteFunc(*required, func(name string) bool { return name == f.json })
		if slices.Contains(f.schema, "once") && as != made {
			continue
		}
		must := !slices.Contains(f.options, "omitempty") && !slices.Contains(f.options, "omitzero")
		if as == sent && (stored || slices.Contains(f.schema, "optional")) {
			must = slices.Contains(f.schema, "required")
		}
		if must {
			*required = append(*required, f.json)
		}
		s, err := g.property(&f, t.within, as, must)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.json, err)
		}
		all = append(all, member{f.json, s})
	}
	return all, nil
}

// words are the words of the tag schema that are no constraints.
var words = []string{"optional", "required", "once"}

// property is the schema of a field.
func (g *generator) property(f *field, within string, as form, must bool) (s object, err error) {
	pointer, of := false, f.of
	if p, ok := of.(*ast.StarExpr); ok {
		pointer, of = true, p.X
	}
	if typeName(of, within) == "model.Schedule" { // it is written as a list of durations
		of = &ast.ArrayType{Elt: ast.NewIdent("string")}
	}
	var own, items []string
	for _, word := range f.schema {
		if rest, ok := strings.CutPrefix(word, "items."); ok {
			items = append(items, rest)
		} else if !slices.Contains(words, word) {
			own = append(own, word)
		}
	}
	if slices.Contains(f.options, "string") {
		s = object{{"type", "string"}}
	} else if s, err = g.expression(of, within, as, own, items); err != nil {
		return nil, err
	}
	_, list := of.(*ast.ArrayType)
	null := as == sent && !must && (pointer || list) || as != sent && must && pointer
	if s, err = constrain(s, own); err != nil {
		return nil, err
	}
	switch {
	case !null:
	case s[0].name == "type":
		s[0].value = []any{s[0].value, "null"}
	default:
		s = object{{"oneOf", []object{s, {{"type", "null"}}}}}
	}
	return described(s, f.doc), nil
}

// expression is the schema of a type as it stands in a field.
func (g *generator) expression(of ast.Expr, within string, as form, own, items []string) (object, error) {
	if slices.ContainsFunc(own, func(word string) bool { return strings.HasPrefix(word, "ref=") }) {
		return object{}, nil // constrain adds it
	}
	switch of := of.(type) {
	case *ast.StarExpr:
		return g.expression(of.X, within, as, own, items)
	case *ast.ArrayType:
		one, err := g.expression(of.Elt, within, as, items, nil)
		if err == nil {
			one, err = constrain(one, items)
		}
		return object{{"type", "array"}, {"items", one}}, err
	case *ast.MapType:
		one, err := g.expression(of.Value, within, as, nil, nil)
		return object{{"type", "object"}, {"additionalProperties", one}}, err
	}
	switch name := typeName(of, within); name {
	case "string":
		return object{{"type", "string"}}, nil
	case "bool":
		return object{{"type", "boolean"}}, nil
	case "int", "int64":
		return object{{"type", "integer"}}, nil
	case "float64":
		return object{{"type", "number"}}, nil
	case "time.Time":
		return object{{"$ref", "#/components/schemas/Time"}}, nil
	default:
		return g.refer(name, as, own)
	}
}

// refer is a reference to the schema of a declared type, or a string with values of its own.
func (g *generator) refer(name string, as form, own []string) (object, error) {
	t := g.types[name]
	if t == nil {
		return nil, fmt.Errorf("the type %s is not known", name)
	}
	name, stored := strings.CutPrefix(name, "model.")
	name = strings.TrimPrefix(name, "api.")
	if stored && g.types["api."+name] != nil || g.byHand[name] {
		return nil, fmt.Errorf("%s is the name of two types, or of a schema that is written by hand: rename one", name)
	}
	if t.text && slices.ContainsFunc(own, func(word string) bool {
		return strings.HasPrefix(word, "enum=") || strings.HasPrefix(word, "pattern=")
	}) {
		return object{{"type", "string"}}, nil
	}
	if as == sent && !t.text && !strings.HasSuffix(name, "Input") {
		answer, err := g.declared(t, answered)
		if err != nil {
			return nil, err
		}
		request, err := g.declared(t, sent)
		if err != nil {
			return nil, err
		}
		if !reflect.DeepEqual(answer, request) {
			name += "Input"
		}
	}
	return object{{"$ref", "#/components/schemas/" + name}}, g.add(name)
}

// typeName is the name of a type as a package names it, with its package in front unless it is built in.
func typeName(of ast.Expr, within string) string {
	switch of := of.(type) {
	case *ast.Ident:
		if ast.IsExported(of.Name) {
			return within + "." + of.Name
		}
		return of.Name
	case *ast.SelectorExpr:
		return of.X.(*ast.Ident).Name + "." + of.Sel.Name
	}
	return fmt.Sprintf("%T", of)
}

// constrain adds the words of the tag schema to a schema.
func constrain(s object, constraints []string) (object, error) {
	for _, word := range constraints {
		name, value, ok := strings.Cut(word, "=")
		switch {
		case !ok:
			return nil, fmt.Errorf("the tag schema has %q, which is not name=value", word)
		case name == "ref":
			s = append(object{{"$ref", "#/components/schemas/" + value}}, s...)
		case name == "enum":
			s = append(s, member{"enum", strings.Split(value, "|")})
		case name == "pattern", name == "format":
			s = append(s, member{name, value})
		case name == "uniqueItems":
			s = append(s, member{name, value == "true"})
		default:
			if _, err := strconv.Atoi(value); err != nil {
				return nil, fmt.Errorf("the tag schema has %q, which is no number", word)
			}
			s = append(s, member{name, json.Number(value)})
		}
	}
	return s, nil
}
