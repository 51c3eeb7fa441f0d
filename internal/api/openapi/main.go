// Command openapi writes the schemas of the management API's OpenAPI document: those of the messages that its paths
// refer to, from the types of internal/api and internal/model. It also writes the OpenAPI document of a partner's receiver.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// generated is the name of the file that the command writes, beside those that are written by hand.
const generated = "schemas.json"

func main() {
	if len(os.Args) != 3 {
		log.Fatal("name the folder of internal and the folder of the OpenAPI document, such as: " +
			"openapi internal modules/manageapi/openapi")
	}
	// The receiver's first: the management API's refers to its schemas.
	raw, err := receiver(filepath.Join(os.Args[1], "..", "schemas"))
	if err == nil {
		err = os.WriteFile(filepath.Join(os.Args[2], receiverFile), raw, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
	if raw, err = document(os.Args[1], os.Args[2]); err == nil {
		err = os.WriteFile(filepath.Join(os.Args[2], generated), raw, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

var reference = regexp.MustCompile(`"#/components/schemas/([A-Za-z]+)"`)

// document returns the file of the generated schemas. internal is the folder of internal, written is the folder of the
// files that are written by hand.
func document(internal, written string) ([]byte, error) {
	types, err := parse(filepath.Join(internal, "api"), filepath.Join(internal, "model"))
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(written, "*.json"))
	if err != nil {
		return nil, err
	}
	g := &generator{types: types, schemas: map[string]object{}, byHand: map[string]bool{}}
	var wanted []string
	for _, name := range files {
		if filepath.Base(name) == generated {
			continue
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var file struct {
			Schemas    map[string]any
			Components struct{ Schemas map[string]any }
		}
		if err := json.Unmarshal(raw, &file); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, schemas := range []map[string]any{file.Schemas, file.Components.Schemas} {
			for name := range schemas {
				g.byHand[name] = true
			}
		}
		for _, match := range reference.FindAllSubmatch(raw, -1) {
			wanted = append(wanted, string(match[1]))
		}
	}
	for _, name := range wanted {
		if err := g.add(name); err != nil {
			return nil, err
		}
	}
	return g.write()
}

// write returns the schemas as JSON, in the order of their names, with a line for each property.
func (g *generator) write() ([]byte, error) {
	var names []string
	for name := range g.schemas {
		names = append(names, name)
	}
	slices.Sort(names)
	var b bytes.Buffer
	b.WriteString("{\n  \"schemas\": {")
	for n, name := range names {
		fmt.Fprintf(&b, "%s\n    %q: ", comma(n), name)
		if err := writeSchema(&b, g.schemas[name]); err != nil {
			return nil, err
		}
	}
	b.WriteString("\n  }\n}\n")
	return b.Bytes(), nil
}

func writeSchema(b *bytes.Buffer, schema object) error {
	last := len(schema) - 1
	properties, ok := schema[last].value.(object)
	if !ok {
		return encode(b, schema)
	}
	if err := encode(b, schema[:last]); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // its brace
	fmt.Fprintf(b, ",%q:{", schema[last].name)
	for n, p := range properties {
		fmt.Fprintf(b, "%s\n      %q: ", comma(n), p.name)
		if err := encode(b, p.value); err != nil {
			return err
		}
	}
	b.WriteString("}}")
	return nil
}

// comma separates the members of an object; nothing is in front of the first one.
func comma(n int) string {
	if n == 0 {
		return ""
	}
	return ","
}

// object is a JSON object whose members have an order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for n, m := range o {
		fmt.Fprintf(&b, "%s%q:", comma(n), m.name)
		if err := encode(&b, m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encode writes a value as JSON, without escapes for HTML.
func encode(b *bytes.Buffer, v any) error {
	out := json.NewEncoder(b)
	out.SetEscapeHTML(false)
	if err := out.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the line break
	return nil
}
