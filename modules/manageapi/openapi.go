package manageapi

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"strings"
	"sync"
)

//go:embed openapi/*.json
var written embed.FS

// object is a JSON object of the OpenAPI document.
type object = map[string]any

// receiverFile is the OpenAPI document of a partner's receiver. Its webhooks are in the API's own document, too.
const receiverFile = "openapi/openapi-receiver.json"

// descriptions returns the OpenAPI documents by the paths where everybody may read them. The API's own names the mount of
// the API relative to itself.
var descriptions = sync.OnceValue(func() map[string][]byte {
	receiver, err := written.ReadFile(receiverFile)
	if err != nil {
		panic(err)
	}
	all := map[string][]byte{"/openapi-receiver.json": receiver}
	for address, mount := range map[string]string{"/openapi.json": ".", "/v1/openapi.json": ".."} {
		d := maps.Clone(description())
		d["servers"] = []any{object{"url": mount}}
		raw, err := json.Marshal(d)
		if err != nil {
			panic(err) // it was read from JSON
		}
		all[address] = append(raw, '\n')
	}
	return all
})

// description is the OpenAPI document (version 3.1): base.json, a file for each resource, the webhooks, the generated
// schemas, and in each operation the parameters and problems that all operations share. The files are part of the
// program: if one is wrong, nothing starts, and no test passes.
var description = sync.OnceValue(func() object {
	base := read("openapi/base.json")
	components := base["components"].(object)
	files, err := written.ReadDir("openapi")
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		if f.Name() == "base.json" {
			continue
		}
		part := read("openapi/" + f.Name())
		if webhooks, ok := part["webhooks"]; ok {
			base["webhooks"] = inlined(webhooks, part)
			continue
		}
		if paths, ok := part["paths"].(object); ok {
			maps.Copy(base["paths"].(object), paths)
		}
		for _, kind := range []string{"schemas", "parameters"} {
			if more, ok := part[kind].(object); ok {
				maps.Copy(components[kind].(object), more)
			}
		}
	}
	for address, item := range base["paths"].(object) {
		complete(address, item.(object))
	}
	return base
})

// inlined replaces the references in a part of a document by what they refer to: generators of code leave out what only
// webhooks refer to.
func inlined(node any, document object) any {
	switch n := node.(type) {
	case []any:
		all := make([]any, len(n))
		for i := range n {
			all[i] = inlined(n[i], document)
		}
		return all
	case object:
		if ref, ok := n["$ref"].(string); ok {
			var target any = document
			for _, name := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
				target = target.(object)[name]
			}
			return inlined(target, document)
		}
		all := object{}
		for name, value := range n {
			all[name] = inlined(value, document)
		}
		return all
	}
	return node
}

func read(name string) object {
	raw, err := written.ReadFile(name)
	if err != nil {
		panic(err)
	}
	var o object
	if err := json.Unmarshal(raw, &o); err != nil {
		panic(fmt.Sprintf("%s: %v", path.Base(name), err))
	}
	return o
}

var parameter = regexp.MustCompile(`\{([a-z]+)\}`)

// complete adds the parameters of the path, the problems that each operation may answer, and the header
// Idempotency-Key of POST.
func complete(address string, item object) {
	for method, o := range item {
		operation := o.(object)
		operation["responses"].(object)["default"] = object{"$ref": "#/components/responses/Problem"}
		if method == "post" {
			parameters, _ := operation["parameters"].([]any)
			operation["parameters"] = append(parameters, object{"$ref": "#/components/parameters/idempotencyKey"})
		}
	}
	var inPath []any
	for _, match := range parameter.FindAllStringSubmatch(address, -1) {
		inPath = append(inPath, object{"$ref": "#/components/parameters/" + match[1] + "InPath"})
	}
	if len(inPath) > 0 {
		item["parameters"] = inPath
	}
}
