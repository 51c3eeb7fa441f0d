package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const messages = `package api

import "example.com/model"

type List[T any] struct {
	Items []T     ` + "`json:\"items\"`" + `
	Next  *string ` + "`json:\"next\"`" + `
}

// Lamp is a lamp that is shown.
type Lamp struct {
	Fixture
	Name   string      ` + "`json:\"name\" schema:\"minLength=1\"`" + ` // for people
	Colour model.Colour ` + "`json:\"colour,omitempty\"`" + `
	Key    string      ` + "`json:\"key,omitempty\" schema:\"once\"`" + `
	Watts  []int       ` + "`json:\"watts\" schema:\"optional items.minimum=1\"`" + `
}

type Fixture struct {
	Name string ` + "`json:\"name\"`" + `
	At   string ` + "`json:\"at\" schema:\"optional enum=wall|ceiling\"`" + ` // wall: not above
	left int
}
`

const stored = `package model

// Colour is the colour of the light.
type Colour string

const (
	Red  Colour = "red" // warm
	Blue Colour = "blue"
)

type Row struct {
	Version int ` + "`json:\"version\"`" + `
}

type Room struct {
	Row
	Doors []string ` + "`json:\"doors\" schema:\"required\"`" + `
	Walls []string ` + "`json:\"walls\"`" + `
}

type Lamp struct{}

type House struct {
	Lamp Lamp ` + "`json:\"lamp\"`" + `
}
`

// generate returns the schemas of the types above that some paths refer to.
func generate(t *testing.T, paths string) (string, error) {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{"api/a.go": messages, "model/m.go": stored, "openapi/paths.json": paths} {
		name = filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(content), 0o644))
	}
	raw, err := document(root, filepath.Join(root, "openapi"))
	return string(raw), err
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	got, err := generate(t, `{"paths": ["#/components/schemas/LampList", "#/components/schemas/LampInput", "#/components/schemas/NewLamp", "#/components/schemas/RoomInput"]}`)
	require.NoError(t, err)
	require.Equal(t, `{
  "schemas": {
    "Colour": {"type":"string","description":"The colour of the light. red: warm.","enum":["red","blue"]},
    "Lamp": {"type":"object","description":"A lamp that is shown.","required":["at","name","watts"],"additionalProperties":false,"properties":{
      "at": {"type":"string","enum":["wall","ceiling"],"description":"wall: not above."},
      "name": {"type":"string","minLength":1,"description":"For people."},
      "colour": {"$ref":"#/components/schemas/Colour"},
      "watts": {"type":"array","items":{"type":"integer","minimum":1}}}},
    "LampInput": {"type":"object","description":"A lamp that is shown.","required":["name"],"additionalProperties":false,"properties":{
      "at": {"type":"string","enum":["wall","ceiling"],"description":"wall: not above."},
      "name": {"type":"string","minLength":1,"description":"For people."},
      "colour": {"$ref":"#/components/schemas/Colour"},
      "watts": {"type":["array","null"],"items":{"type":"integer","minimum":1}}}},
    "LampList": {"type":"object","required":["items","next"],"additionalProperties":false,"properties":{
      "items": {"type":"array","items":{"$ref":"#/components/schemas/Lamp"}},
      "next": {"type":["string","null"]}}},
    "NewLamp": {"type":"object","description":"A lamp that is shown.","required":["at","name","watts"],"additionalProperties":false,"properties":{
      "at": {"type":"string","enum":["wall","ceiling"],"description":"wall: not above."},
      "name": {"type":"string","minLength":1,"description":"For people."},
      "colour": {"$ref":"#/components/schemas/Colour"},
      "key": {"type":"string"},
      "watts": {"type":"array","items":{"type":"integer","minimum":1}}}},
    "RoomInput": {"type":"object","required":["doors"],"additionalProperties":false,"properties":{
      "version": {},
      "doors": {"type":"array","items":{"type":"string"}},
      "walls": {"type":["array","null"],"items":{"type":"string"}}}}
  }
}
`, got)
}

func TestNamesThatHaveNoSchema(t *testing.T) {
	t.Parallel()
	_, err := generate(t, `{"paths": ["#/components/schemas/Sofa"]}`)
	require.ErrorContains(t, err, "Sofa, which is no type")
	_, err = generate(t, `{"paths": ["#/components/schemas/House"]}`)
	require.ErrorContains(t, err, "Lamp is the name of two types")
}
