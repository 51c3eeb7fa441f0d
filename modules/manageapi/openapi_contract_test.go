package manageapi_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/modules/manageapi"
)

const documentURL = "https://gate.example.com/openapi.json"

var (
	document         = sync.OnceValues(func() (*contract, error) { return served("/openapi.json") })
	receiverDocument = sync.OnceValues(func() (*contract, error) { return served("/openapi-receiver.json") })
)

// contract is an OpenAPI document, as the API serves it.
type contract struct {
	root     map[string]any
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

func served(path string) (*contract, error) {
	w := httptest.NewRecorder()
	manageapi.NewKeyed(func() *gateway.Gateway { return nil }, zap.NewNop()).ServeHTTP(w,
		httptest.NewRequest(http.MethodGet, path, nil))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
		return nil, fmt.Errorf("the document is not served: %d", w.Code)
	}
	root, err := jsonschema.UnmarshalJSON(w.Body)
	if err != nil {
		return nil, err
	}
	c := &contract{root: root.(map[string]any), compiler: jsonschema.NewCompiler(),
		compiled: map[string]*jsonschema.Schema{}}
	c.compiler.AssertFormat()
	return c, c.compiler.AddResource(documentURL, root)
}

// schema is the schema at a JSON pointer of the document.
func (c *contract) schema(pointer string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.compiled[pointer]; ok {
		return s, nil
	}
	s, err := c.compiler.Compile(documentURL + "#" + pointer)
	c.compiled[pointer] = s
	return s, err
}

// at is what stands at a pointer, and the pointer of what it refers to, if it does.
func (c *contract) at(pointer string) (map[string]any, string) {
	var v any = c.root
	for _, token := range strings.Split(pointer, "/")[1:] {
		o, ok := v.(map[string]any)
		if !ok {
			return nil, pointer
		}
		v = o[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
	}
	o, _ := v.(map[string]any)
	if ref, ok := o["$ref"].(string); ok && len(o) == 1 {
		return c.at(strings.TrimPrefix(ref, "#"))
	}
	return o, pointer
}

func escape(token string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(token) }

// operation is the pointer of the operation that a request asks for; empty when there is none.
func (c *contract) operation(method, escapedPath string) string {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	segments := strings.Split(escapedPath, "/")
	for path, item := range c.root["paths"].(map[string]any) {
		matches := func(template, segment string) bool {
			return template == segment || strings.HasPrefix(template, "{") && segment != ""
		}
		if _, ok := item.(map[string]any)[strings.ToLower(method)]; ok &&
			slices.EqualFunc(strings.Split(path, "/"), segments, matches) {
			return "/paths/" + escape(path) + "/" + strings.ToLower(method)
		}
	}
	return ""
}

// check tells how an answer is another than the document says.
func (c *contract) check(method, escapedPath string, sent []byte, res *http.Response, body []byte) error {
	operation := c.operation(method, escapedPath)
	pointer := "/components/responses/Problem"
	if operation != "" {
		pointer = operation + "/responses/" + fmt.Sprint(res.StatusCode)
		if described, _ := c.at(pointer); described == nil {
			pointer = operation + "/responses/default"
		}
	}
	described, pointer := c.at(pointer)
	headers, _ := described["headers"].(map[string]any)
	for name := range headers {
		if header, _ := c.at(pointer + "/headers/" + name); header["required"] == true && res.Header.Get(name) == "" {
			return fmt.Errorf("the header %s is missing", name)
		}
	}
	content, ok := described["content"].(map[string]any)
	switch {
	case !ok && len(body) > 0:
		return fmt.Errorf("%s: there should be no body", pointer)
	case !ok || method == http.MethodHead:
		return nil
	}
	kind := res.Header.Get("Content-Type")
	if _, ok := content[kind]; !ok {
		return fmt.Errorf("%s: the media type is %q", pointer, kind)
	}
	if !strings.HasSuffix(kind, "json") || kind == api.LinesType { // one object, not a list of them
		return nil
	}
	if err := c.valid(pointer+"/content/"+escape(kind)+"/schema", body); err != nil {
		return err
	}
	request, at := c.at(operation + "/requestBody/content/application~1json")
	// as it is
	file := res.Request != nil && !strings.Contains(strings.ToLower(res.Request.Header.Get("Content-Type")), "json")
	if res.StatusCode/100 != 2 || request == nil || len(sent) == 0 || file {
		return nil
	}
	return c.valid(at+"/schema", sent) // what was accepted is described as well
}

func (c *contract) valid(pointer string, raw []byte) error {
	s, err := c.schema(pointer)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

// described is a transport that holds each answer against the OpenAPI document.
type described struct {
	t     testing.TB
	mount string
}

func (d described) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		sent, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	c, err := document()
	if err == nil {
		err = c.check(r.Method, strings.TrimPrefix(r.URL.EscapedPath(), d.mount), sent, res, body)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: the answer %d is not as openapi.json says: %w\n%s", r.Method, r.URL.Path,
			res.StatusCode, err, body)
	}
	return res, nil
}

// requireValid checks a document without its operations. It has these members.
func (c *contract) requireValid(t *testing.T, members ...string) {
	t.Helper()
	require.Regexp(t, `^3\.1\.\d+$`, c.root["openapi"])
	require.ElementsMatch(t, members, slices.Collect(maps.Keys(c.root)))
	info := c.root["info"].(map[string]any)
	require.NotEmpty(t, info["title"])
	require.NotEmpty(t, info["version"])
	components := c.root["components"].(map[string]any)
	for kind, all := range components {
		require.Contains(t, []string{"schemas", "responses", "parameters", "headers", "securitySchemes"}, kind)
		for name := range all.(map[string]any) {
			require.Regexp(t, `^[a-zA-Z0-9._-]+$`, name)
		}
	}
	used := map[string]bool{}
	walk(c.root, "", func(pointer string, o map[string]any) {
		if ref, ok := o["$ref"].(string); ok {
			target, _ := c.at(strings.TrimPrefix(ref, "#"))
			require.NotNil(t, target, "%s refers to %s, which is not there", pointer, ref)
			used[ref] = true
		}
		if strings.HasSuffix(pointer, "/schema") || regexp.MustCompile(`^/components/schemas/[^/]+$`).MatchString(pointer) {
			_, err := c.schema(pointer) // against the JSON Schema of JSON Schema, 2020-12
			require.NoError(t, err, pointer)
		}
	})
	for _, kind := range []string{"schemas", "parameters", "responses", "headers"} {
		all, _ := components[kind].(map[string]any)
		for name := range all {
			require.True(t, used["#/components/"+kind+"/"+name], "nothing refers to %s", name)
		}
	}
}

// inline returns a part of a document in which nothing refers to the rest.
func inline(c *contract, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			target, _ := c.at(strings.TrimPrefix(ref, "#"))
			return inline(c, target)
		}
		all := map[string]any{}
		for name, one := range v {
			all[name] = inline(c, one)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for n := range v {
			all[n] = inline(c, v[n])
		}
		return all
	}
	return v
}

func (c *contract) requireOperation(
	t *testing.T, path, method string, o map[string]any, inPath any, ids map[string]bool,
) {
	t.Helper()
	at := method + " " + path
	id, _ := o["operationId"].(string)
	require.NotEmpty(t, id, at)
	require.False(t, ids[id], "two operations are called %s", id)
	ids[id] = true
	require.NotEmpty(t, o["summary"], at)
	require.Len(t, o["tags"], 1, at)
	require.Contains(t, fmt.Sprint(c.root["tags"]), o["tags"].([]any)[0], at)
	require.Equal(t, method == "post" || method == "put" || method == "patch", o["requestBody"] != nil || method == "post" &&
		regexp.MustCompile(`/(answers|body|choose|enable|end|test|sample|retry|pause|resume|reopen|cancel|release|fetch|totp|submissions/\{id\}/(show|redeliver|erase))$`).MatchString(path), at)
	shared, _ := inPath.([]any)
	own, _ := o["parameters"].([]any)
	seen := map[string]bool{}
	var names []string
	for _, p := range append(slices.Clone(shared), own...) {
		if ref, ok := p.(map[string]any)["$ref"].(string); ok {
			p, _ = c.at(strings.TrimPrefix(ref, "#"))
		}
		one := p.(map[string]any)
		key := fmt.Sprint(one["in"], " ", one["name"])
		require.False(t, seen[key], "%s has two parameters %s", at, key)
		seen[key] = true
		require.NotNil(t, one["schema"], "%s %s", at, key)
		if one["in"] == "path" {
			require.Equal(t, true, one["required"])
			names = append(names, one["name"].(string))
		}
	}
	var wanted []string
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
		wanted = append(wanted, m[1])
	}
	require.ElementsMatch(t, wanted, names, at)
	require.Equal(t, method == "post", seen["header Idempotency-Key"], at)
	for status, response := range o["responses"].(map[string]any) {
		require.Regexp(t, `^([1-5]\d\d|default)$`, status, at)
		r := response.(map[string]any)
		if ref, ok := r["$ref"].(string); ok {
			r, _ = c.at(strings.TrimPrefix(ref, "#"))
		}
		require.NotEmpty(t, r["description"], "%s %s", at, status)
	}
}

func walk(v any, pointer string, visit func(string, map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(pointer, v)
		for name, one := range v {
			walk(one, pointer+"/"+escape(name), visit)
		}
	case []any:
		for n, one := range v {
			walk(one, fmt.Sprintf("%s/%d", pointer, n), visit)
		}
	}
}
