package manageapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/modules/manageapi"
)

const documentURL = "https://gate.example.com/openapi.json"

// contract is an OpenAPI document, as the API serves it.
type contract struct {
	root     map[string]any
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

var (
	document         = sync.OnceValues(func() (*contract, error) { return served("/openapi.json") })
	receiverDocument = sync.OnceValues(func() (*contract, error) { return served("/openapi-receiver.json") })
)

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

func TestOpenAPIHasEveryRoute(t *testing.T) {
	t.Parallel()
	c, err := document()
	require.NoError(t, err)
	var routes, operations []string
	for _, r := range manageapi.Routes() {
		routes = append(routes, r.Method+" "+r.Path)
	}
	for path, item := range c.root["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			if method != "parameters" {
				operations = append(operations, strings.ToUpper(method)+" "+path)
			}
		}
	}
	require.ElementsMatch(t, routes, operations)
}

// TestOpenAPIIsValid checks what the OpenAPI specification 3.1 asks of a document such as ours.
func TestOpenAPIIsValid(t *testing.T) {
	t.Parallel()
	c, err := document()
	require.NoError(t, err)
	c.requireValid(t, "openapi", "info", "servers", "security", "tags", "paths", "webhooks", "components")
	ids := map[string]bool{}
	for path, item := range c.root["paths"].(map[string]any) {
		for method, o := range item.(map[string]any) {
			if method == "parameters" {
				continue
			}
			c.requireOperation(t, path, method, o.(map[string]any), item.(map[string]any)["parameters"], ids)
		}
	}
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

// TestOpenAPIOfTheReceiver checks the document that partners generate their receivers from, and that the management API's
// own has the same webhooks.
func TestOpenAPIOfTheReceiver(t *testing.T) {
	t.Parallel()
	c, err := receiverDocument()
	require.NoError(t, err)
	whole, err := document()
	require.NoError(t, err)
	c.requireValid(t, "openapi", "info", "servers", "webhooks", "components")
	require.Equal(t, inline(c, c.root["webhooks"]), whole.root["webhooks"])
	for event, names := range map[string][]string{
		"VERIFY": {"X-Service-Event", "X-Service-Signature", "User-Agent"},
		"CANDIDATE-EXPORT": {"X-Service-Event", "X-Service-Signature", "User-Agent", "X-Service-UUID", "Link",
			"X-Service-Export-Context"},
	} {
		o, _ := c.at("/webhooks/" + event + "/post")
		require.NotEmpty(t, o["operationId"])
		require.NotEmpty(t, o["summary"])
		var found []string
		for _, p := range o["parameters"].([]any) {
			one := p.(map[string]any)
			if ref, ok := one["$ref"].(string); ok {
				one, _ = c.at(strings.TrimPrefix(ref, "#"))
			}
			require.Equal(t, "header", one["in"])
			found = append(found, one["name"].(string))
		}
		require.ElementsMatch(t, names, found)
		for status, r := range o["responses"].(map[string]any) {
			require.Regexp(t, `^(200|2XX|default)$`, status)
			require.NotEmpty(t, r.(map[string]any)["description"])
		}
	}
	sample := func(name string) string {
		raw, err := os.ReadFile("../../testdata/samples/" + name)
		require.NoError(t, err)
		return string(raw)
	}
	identifier := func(kind string) string {
		return `{"value":"1","schemeId":"Service ` + kind + `","schemeAgencyId":"Service"}`
	}
	candidate := func(members string) string {
		return `{"candidate":{"person":{"id":` + identifier("Candidate") + members + `}}}`
	}
	full := sample("export-full.json")
	for body, good := range map[string]bool{
		full:                          true,
		sample("export-minimal.json"): true,
		candidate(`,"name":null,"communication":null,"customFields":null,"more":1`): true,
		candidate(`,"name":"Ada"`):                                         false,
		candidate(`,"applyDate":7`):                                        false,
		candidate(`,"communication":{"web":{}}`):                           false,
		`{"candidate":{"person":{"name":{"given":"Ada"}}}}`:                false,
		`{"candidate":{"person":{"id":null}}}`:                             false,
		strings.Replace(full, `"value": "cf-71"`, `"value": null`, 1):      false,
		strings.Replace(full, `"name": "startDate"`, `"name": "start"`, 1): false,
		// The listed deviations.
		candidate(`,"communication":{"web":[]}`):                                             true,
		candidate(`,"communication":{"web":[{"name":"Homepage","url":null}]}`):               true,
		candidate(`,"applyDate":"2026-11-20T00:00:00Z"`):                                     true,
		`{"candidate":{"person":{"id":` + identifier("Candidate,") + `}}}`:                   true,
		strings.Replace(full, "2026-11-12 16:04:59", "2026-11-12T16:04:59Z", 1):              true,
		strings.Replace(full, `"value": "Night"`, `"value": null`, 1):                        true,
		strings.Replace(full, `"schemeAgencyId": "Service"`, `"schemeAgencyId": "Other"`, 1): true,
		strings.Replace(full, "Service Legacy Job Application", "Service Application", 1):    true,
	} {
		err := c.valid("/webhooks/CANDIDATE-EXPORT/post/requestBody/content/application~1json/schema", []byte(body))
		require.Equal(t, good, err == nil, "%s\n%v", body, err)
	}
	verification := "/webhooks/VERIFY/post/requestBody/content/application~1json/schema"
	require.NoError(t, c.valid(verification, []byte(sample("verify.json"))))
	require.Error(t, c.valid(verification, []byte(`{"data":"verify"}`)))
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

// The documents write the maker's name of the gateway that serves them.
func TestOpenAPINamesTheMaker(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Reconfigure(func(c *config.Config) {
		var err error
		c.Names, err = webhook.NamesFor("Acme")
		require.NoError(t, err)
	})
	for _, path := range []string{"/openapi.json", "/openapi-receiver.json"} {
		res, err := http.Get(b.url + path)
		require.NoError(t, err)
		defer res.Body.Close()
		got, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Contains(t, string(got), `"X-Acme-Signature"`)
		require.Contains(t, string(got), `"Acme Verify Event"`)
		require.NotContains(t, string(got), "Service")
	}
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
		regexp.MustCompile(`/(answers|body|choose|enable|end|test|sample|retry|pause|resume|reopen|cancel|release|totp|submissions/\{id\}/(show|redeliver|erase))$`).MatchString(path), at)
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

// Where a class of faults goes in or comes out, it may be any.
func TestOpenAPIHasAllClasses(t *testing.T) {
	t.Parallel()
	c, err := document()
	require.NoError(t, err)
	found := 0
	walk(c.root, "", func(pointer string, schema map[string]any) {
		values, _ := schema["enum"].([]any)
		var classes []model.Class
		for _, value := range values {
			if text, ok := value.(string); ok && slices.Contains(model.Classes, model.Class(text)) {
				classes = append(classes, model.Class(text))
			}
		}
		if !slices.Contains(classes, model.ClassOurFault) {
			return
		}
		found++
		if strings.HasSuffix(pointer, "/Class") {
			require.Equal(t, model.Classes, classes)
			return
		}
		require.Equal(t, model.Faults, classes, pointer)
	})
	require.Greater(t, found, 5)
}

// Lists of exports take the filters that all who ask for them know.
func TestOpenAPIHasAllFiltersOfExports(t *testing.T) {
	t.Parallel()
	c, err := document()
	require.NoError(t, err)
	for _, path := range []string{"/v1/exports", "/v1/tenants/{tenant}/exports", "/v1/export-counts"} {
		operation, _ := c.at("/paths/" + escape(path) + "/get")
		var names []string
		for _, one := range operation["parameters"].([]any) {
			parameter, _ := c.at(strings.TrimPrefix(one.(map[string]any)["$ref"].(string), "#"))
			names = append(names, parameter["name"].(string))
		}
		require.Subset(t, names, api.ExportFilters, path)
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

func TestOpenAPINeedsNoKey(t *testing.T) {
	t.Parallel()
	b := setup(t).keyed()
	for path, mount := range map[string]string{"/openapi.json": ".", "/v1/openapi.json": ".."} {
		res, err := http.Get(b.url + path)
		require.NoError(t, err)
		defer res.Body.Close()
		var d struct {
			OpenAPI string
			Servers []struct{ URL string }
		}
		require.NoError(t, json.NewDecoder(res.Body).Decode(&d))
		require.Equal(t, "3.1.0", d.OpenAPI)
		require.Equal(t, mount, d.Servers[0].URL)
	}
}
