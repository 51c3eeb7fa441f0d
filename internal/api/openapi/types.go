package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// named is a declared type: a struct, or a string with constants.
type named struct {
	within string // its package
	doc    string
	fields []field // of a struct
	text   bool    // it is a string
	values []string
}

// field is a field of a struct.
type field struct {
	name     string
	embedded bool
	of       ast.Expr
	doc      string
	json     string // the name of the member
	options  []string
	schema   []string // the words of the tag schema
}

// parse reads the types of the packages in some folders. Their names have the package in front, such as model.Job.
func parse(folders ...string) (map[string]*named, error) {
	all := map[string]*named{}
	for _, folder := range folders {
		names, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			return nil, err
		}
		var files []*ast.File
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
			if err := declarations(f, all); err != nil {
				return nil, err
			}
		}
		for _, f := range files {
			constants(f, all)
		}
	}
	return all, nil
}

func declarations(f *ast.File, all map[string]*named) error {
	for _, d := range f.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.TYPE {
			continue
		}
		for _, spec := range group.Specs {
			s := spec.(*ast.TypeSpec)
			t := &named{within: f.Name.Name, doc: sentence(group.Doc.Text()+s.Doc.Text(), s.Name.Name)}
			switch kind := s.Type.(type) {
			case *ast.Ident:
				t.text = kind.Name == "string"
			case *ast.StructType:
				for _, one := range kind.Fields.List {
					if err := t.add(one); err != nil {
						return fmt.Errorf("%s: %w", s.Name.Name, err)
					}
				}
			}
			all[t.within+"."+s.Name.Name] = t
		}
	}
	return nil
}

// add adds the fields of a line of a struct, unless JSON does not have them.
func (t *named) add(line *ast.Field) error {
	f := field{of: line.Type, embedded: len(line.Names) == 0}
	if line.Tag != nil {
		text, err := strconv.Unquote(line.Tag.Value)
		if err != nil {
			return err
		}
		words := strings.Split(reflect.StructTag(text).Get("json"), ",")
		f.json, f.options, f.schema = words[0], words[1:], strings.Fields(reflect.StructTag(text).Get("schema"))
	}
	if !f.embedded {
		f.name = line.Names[0].Name
		f.doc = sentence(line.Doc.Text()+line.Comment.Text(), f.name)
	}
	if f.embedded || f.json != "" && f.json != "-" {
		t.fields = append(t.fields, f)
	}
	return nil
}

// constants notes the values of the constants of each string type, and what their comments say in its description.
func constants(f *ast.File, all map[string]*named) {
	for _, d := range f.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			s := spec.(*ast.ValueSpec)
			of, ok := s.Type.(*ast.Ident)
			if !ok || len(s.Values) != 1 {
				continue
			}
			t := all[f.Name.Name+"."+of.Name]
			if value, ok := s.Values[0].(*ast.BasicLit); ok && t != nil && t.text {
				text, _ := strconv.Unquote(value.Value)
				t.values = append(t.values, text)
				if meaning := phrase(s.Doc.Text()+s.Comment.Text(), s.Names[0].Name); meaning != "" {
					t.doc += " " + text + ": " + meaning
				}
			}
		}
	}
}

// phrase returns a comment on one line, without the name that it begins with, and with a full stop.
func phrase(comment, name string) string {
	text := strings.Join(strings.Fields(comment), " ")
	if rest, ok := strings.CutPrefix(text, name+" "); ok {
		text = strings.TrimPrefix(strings.TrimPrefix(rest, "is "), "are ")
	}
	if text != "" && !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// sentence returns a comment as a description: a phrase with a capital letter, unless it begins with a value, such as
// "none: there was none".
func sentence(comment, name string) string {
	text := phrase(comment, name)
	first, _, ok := strings.Cut(text, ":")
	if text != "" && (!ok || strings.Contains(first, " ") || first == "absent" || first == "empty") {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}
