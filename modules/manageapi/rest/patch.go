package rest

import (
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/problem"
)

// mergePatchOf reads the body as changes of a resource: one JSON object.
func mergePatchOf(r *Request) (jsontext.Value, error) {
	if kind := gateway.TextType(r.Header); kind != api.MergePatchType && kind != "application/json" {
		return nil, problem.New(http.StatusUnsupportedMediaType, "send the changes as a JSON Merge Patch, with the header "+
			"Content-Type: "+api.MergePatchType)
	}
	var changes jsontext.Value
	if err := json.Unmarshal(r.Content, &changes); err != nil {
		return nil, problem.New(http.StatusBadRequest, Unreadable(err))
	}
	if changes.Kind() != '{' {
		return nil, problem.New(http.StatusBadRequest, "the body is no JSON object: send one, with the members to change")
	}
	return changes, nil
}

// patched reads into v what changes make of before.
func patched[T any](v, before *T, changes jsontext.Value) error {
	raw, err := json.Marshal(before, jsontext.AllowInvalidUTF8(true))
	if err == nil {
		raw, err = merged(raw, changes)
	}
	if err != nil {
		return err
	}
	err = json.Unmarshal(raw, v, json.RejectUnknownMembers(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return problem.New(http.StatusBadRequest, Unreadable(err))
	}
	return nil
}

// merged applies a merge patch to a value: null removes a member, an object changes members, all else replaces.
func merged(target, patch jsontext.Value) (jsontext.Value, error) {
	if patch.Kind() != '{' {
		return patch, nil
	}
	into, changes := map[string]jsontext.Value{}, map[string]jsontext.Value{}
	if err := json.Unmarshal(patch, &changes); err != nil {
		return nil, err
	}
	if target.Kind() == '{' {
		if err := json.Unmarshal(target, &into, jsontext.AllowInvalidUTF8(true)); err != nil {
			return nil, err
		}
	}
	for name, change := range changes {
		if change.Kind() == 'n' {
			delete(into, name)
			continue
		}
		var err error
		if into[name], err = merged(into[name], change); err != nil {
			return nil, err
		}
	}
	return json.Marshal(into, jsontext.AllowInvalidUTF8(true))
}
