package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/schemas"
)

// receiverFile is the name of the document that receiver returns.
const receiverFile = "openapi-receiver.json"

//go:embed receiver.json
var receiverBase []byte

// receiver returns the OpenAPI document of a partner's receiver: the webhooks of receiver.json, with the schemas of their
// bodies from the folder of the contract's JSON Schemas. The maker's name is Service, as in the contract.
func receiver(folder string) ([]byte, error) {
	var d struct {
		OpenAPI    string          `json:"openapi"`
		Info       json.RawMessage `json:"info"`
		Servers    json.RawMessage `json:"servers"`
		Webhooks   json.RawMessage `json:"webhooks"`
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(receiverBase, &d); err != nil {
		return nil, fmt.Errorf("receiver.json: %w", err)
	}
	d.Components.Schemas = map[string]any{}
	for name, file := range map[string]string{"CandidateExport": "export", "Verification": "verification"} {
		raw, err := os.ReadFile(filepath.Join(folder, file+".schema.json"))
		if err != nil {
			return nil, err
		}
		var s map[string]any
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(raw), "{service_name}", "Service")), &s); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		definitions, _ := s["definitions"].(map[string]any)
		for _, keyword := range []string{"$schema", "$id", "definitions", "deviations"} {
			delete(s, keyword)
		}
		d.Components.Schemas[name] = converted(s)
		for name, definition := range definitions {
			d.Components.Schemas[exported(name)] = converted(definition)
		}
	}
	raw, err := json.MarshalIndent(d, "", "  ")
	return append(raw, '\n'), err
}

// exported is the name of a definition's schema. The management API has schemas of its own for persons, fields and others.
func exported(definition string) string {
	return "Exported" + strings.ToUpper(definition[:1]) + definition[1:]
}

// converted turns a schema of the contract into one of OpenAPI 3.1: definitions are elsewhere, the contract's formats are not
// known there, and null, which counts as absent, has to be a type.
func converted(node any) any {
	switch n := node.(type) {
	case []any:
		for i := range n {
			n[i] = converted(n[i])
		}
	case map[string]any:
		for name, value := range n {
			n[name] = converted(value)
		}
		if ref, ok := n["$ref"].(string); ok {
			n["$ref"] = "#/components/schemas/" + exported(strings.TrimPrefix(ref, "#/definitions/"))
		}
		switch n["format"] {
		case "contract-date":
			n["format"], n["examples"] = "date", []any{"2026-11-20"}
		case "contract-datetime":
			delete(n, "format")
			n["examples"] = []any{"2026-11-20 17:18:30"}
			n["pattern"] = `^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$`
		}
		if names, ok := n["deviations"].([]any); ok {
			for _, name := range names {
				deviate(n, schemas.Deviations()[name.(string)])
			}
			delete(n, "deviations")
		}
		properties, _ := n["properties"].(map[string]any)
		required, _ := n["required"].([]any)
		for name, property := range properties {
			if n["type"] == "object" && !slices.Contains(required, any(name)) {
				properties[name] = orNull(property.(map[string]any))
			}
		}
	}
	return node
}

// deviate makes the schema of a place take a deviation as well.
func deviate(n map[string]any, d schemas.Deviation) {
	kinds, ok := n["type"].([]any)
	if !ok {
		kinds = []any{n["type"]}
	}
	kind := d.Accepts["type"]
	switch {
	case slices.Contains(kinds, kind):
	case kind == "null":
		n["type"] = append(kinds, kind)
		return
	default: // generators of code know no list of types but for null
		n["anyOf"] = []any{map[string]any{"type": n["type"]}, map[string]any{"type": kind}}
		delete(n, "type")
		return
	}
	if expected, ok := n["const"]; ok {
		n["examples"] = []any{expected}
	} else if expected, ok := n["enum"]; ok {
		n["examples"] = expected
	}
	for _, keyword := range []string{"const", "enum", "format", "pattern"} {
		delete(n, keyword)
	}
	note := "Some services deviate: " + d.Note + "."
	if before, ok := n["description"].(string); ok {
		note = before + " " + note
	}
	n["description"] = note
}

func orNull(s map[string]any) map[string]any {
	if kinds, ok := s["type"].([]any); ok {
		if !slices.Contains(kinds, any("null")) {
			s["type"] = append(kinds, "null")
		}
		return s
	}
	if forms, ok := s["anyOf"].([]any); ok {
		s["anyOf"] = append(forms, map[string]any{"type": "null"})
		return s
	}
	if kind, ok := s["type"]; ok {
		s["type"] = []any{kind, "null"}
		return s
	}
	return map[string]any{"anyOf": []any{s, map[string]any{"type": "null"}}}
}
