package schemas

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func sample(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile("../testdata/samples/" + name)
	require.NoError(t, err)
	return body
}

func validator(t testing.TB, serviceName string) *Validator {
	t.Helper()
	v, err := New(serviceName)
	require.NoError(t, err)
	return v
}

func guarded(t testing.TB, body []byte) *Document {
	t.Helper()
	doc, err := Guard(body)
	require.NoError(t, err)
	return doc
}

// found is a finding to the letter.
func found(pointer, rule, what string) Finding {
	return Finding{Pointer: pointer, Rule: rule, Found: what}
}

// absent, as the new value of an edit, removes the property.
type absent struct{}

// edited returns the body with what the pointer leads to replaced. The pointer may lead to a property that is not there
// yet.
func edited(t testing.TB, body []byte, pointer string, value any) []byte {
	t.Helper()
	var root any
	require.NoError(t, json.Unmarshal(body, &root))
	if pointer == "" {
		root = value
	} else {
		up := strings.LastIndexByte(pointer, '/')
		name := pointer[up+1:]
		switch parent := lookup(t, root, pointer[:up]).(type) {
		case map[string]any:
			if value == (any)(absent{}) {
				require.Contains(t, parent, name)
				delete(parent, name)
			} else {
				parent[name] = value
			}
		case []any:
			parent[index(t, name)] = value
		}
	}
	out, err := json.Marshal(root)
	require.NoError(t, err)
	return out
}

func lookup(t testing.TB, node any, pointer string) any {
	t.Helper()
	for _, name := range strings.Split(pointer, "/")[1:] {
		switch n := node.(type) {
		case map[string]any:
			require.Contains(t, n, name)
			node = n[name]
		case []any:
			node = n[index(t, name)]
		}
	}
	return node
}

func index(t testing.TB, name string) int {
	t.Helper()
	i, err := strconv.Atoi(name)
	require.NoError(t, err)
	return i
}

// walk calls visit with every value of a decoded JSON text and the pointer to it.
func walk(node any, pointer string, visit func(pointer string, node any)) {
	visit(pointer, node)
	switch n := node.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(n)) {
			walk(n[name], pointer+"/"+name, visit)
		}
	case []any:
		for i, v := range n {
			walk(v, pointer+"/"+strconv.Itoa(i), visit)
		}
	}
}
