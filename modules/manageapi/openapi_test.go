package manageapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/modules/manageapi"
)

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
