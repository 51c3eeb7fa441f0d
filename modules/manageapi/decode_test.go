package manageapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBodiesAreReadStrictly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const path = "/v1/tenants/acme/candidates/c-1"
	for body, want := range map[string]string{
		``:                            "send the body as JSON",
		` `:                           "is not JSON",
		`{`:                           "is not JSON",
		`{} {}`:                       "is not JSON",
		`{}x`:                         "is not JSON",
		"{\"gender\":\"\xff\"}":       "is not JSON",
		`[]`:                          "is not what goes here",
		` null `:                      "send one JSON object",
		`{"gender":1}`:                `the member "gender" of the body is not what goes there`,
		`{"gender":"a","gender":"b"}`: `the member "gender" twice`,
		`{"colour":"red"}`:            `a member "colour", which is unknown here`,
		`{"Gender":"x"}`:              `a member "Gender", which is unknown here`,
		`{"customFields":[{"id":"1","shade":"red"}]}`: `"customFields[0].shade"`,
		`{"createdAt":"yesterday"}`:                   `"createdAt"`,
	} {
		status := http.StatusBadRequest
		if body == "" {
			status = http.StatusUnsupportedMediaType
		}
		require.Contains(t, b.refused(status, http.MethodPut, path, body), want, body)
	}
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "application/jsonp",
		"application/merge-patch+json", "application/json; charset=latin1"} {
		require.Contains(t, b.refused(http.StatusUnsupportedMediaType, http.MethodPut, path, "{}", "Content-Type", kind),
			"Content-Type: application/json")
	}
	require.Contains(t, b.refused(http.StatusUnsupportedMediaType, http.MethodPut, path, "{}", "Content-Encoding",
		"gzip"), "without Content-Encoding")
	for _, kind := range []string{"application/json; charset=utf-8", `application/json;charset="UTF-8"`,
		"Application/JSON", "application/json; profile=x"} {
		require.Contains(t, []int{http.StatusOK, http.StatusCreated},
			b.send(http.MethodPut, path, "{}", "Content-Type", kind).status)
	}
}

// What takes no body ignores none: its members would be lost.
func TestWhatTakesNoBodyRefusesOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, err := document()
	require.NoError(t, err)
	walked := 0
	for path, item := range c.root["paths"].(map[string]any) {
		o, ok := item.(map[string]any)["post"].(map[string]any)
		if !ok || o["requestBody"] != nil {
			continue
		}
		walked++
		address := strings.ReplaceAll(others.Replace(path), "{id}", "nobody")
		require.Contains(t, b.refused(http.StatusBadRequest, http.MethodPost, address, `{"till":"2027-01-01"}`),
			`a member "till", which is unknown here`, path)
		require.Contains(t, b.refused(http.StatusBadRequest, http.MethodPost, address, `{`), "is not JSON", path)
		b.refused(http.StatusUnsupportedMediaType, http.MethodPost, address, "till=2027-01-01", "Content-Type",
			"application/x-www-form-urlencoded")
		require.NotEqual(t, http.StatusBadRequest, b.send(http.MethodPost, address, "{}").status, path)
	}
	require.Equal(t, 20, walked)
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	padded := func(n int) string { return "{" + strings.Repeat(" ", n-2) + "}" }
	b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/acme/candidates/c-1", padded(1<<20))
	require.Contains(t, b.refused(http.StatusRequestEntityTooLarge, http.MethodPut, "/v1/tenants/acme/candidates/c-2",
		padded(1<<20+1)), "larger than 1 MiB")
	b.must(http.StatusNotFound, http.MethodGet, "/v1/tenants/acme/candidates/c-2", "")
}

func TestRulesOfAResourceAreTold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.must(http.StatusUnprocessableEntity, http.MethodPut, "/v1/tenants/acme/candidates/c-1",
		`{"applyDate":"2026-02-30","customFields":[{"id":"","name":"n","type":"t","value":"jane@example.org"}]}`)
	p := parsed[struct{ Findings []string }](b, a)
	require.Len(t, p.Findings, 2)
	require.Contains(t, a.body, "applyDate is no day")
	require.NotContains(t, a.body, "jane@example.org")
	b.must(http.StatusUnprocessableEntity, http.MethodPut, "/v1/tenants/acme/candidates/c-1", `{"id":"c-2"}`)
	b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/acme/candidates/c-1", `{"id":"c-1"}`)
}
