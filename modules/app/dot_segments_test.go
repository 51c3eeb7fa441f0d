package app_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/webhook"
)

// A request reaches what its sender named, or nothing: handle_path takes dot segments for steps, also those that were
// escaped.
func TestDotSegmentsLeadNowhere(t *testing.T) {
	s := newSite(t)
	c := s.with("acme")
	c.handlers = `handle_path /manage/* {
		manage_api
	}
	handle_path /apply/* {
		apply_api
	}`
	s.load(c)
	ask := func(method, path, body, key string) (int, string) {
		t.Helper()
		r, err := http.NewRequest(method, fmt.Sprintf("http://127.0.0.1:%d%s", s.port, path), strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		res, err := s.client.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(raw)
	}
	must := func(want int, method, path, body string) {
		t.Helper()
		status, raw := ask(method, path, body, "dev-key")
		require.Equal(t, want, status, "%s %s: %s", method, path, raw)
	}
	const tenant = "/manage/v1/tenants/initech"
	must(http.StatusCreated, http.MethodPut, tenant, `{}`)
	must(http.StatusCreated, http.MethodPut, tenant+"/jobs/q", `{"id":"job-q"}`)
	must(http.StatusCreated, http.MethodPut, tenant+"/candidates/c-1", `{}`)
	must(http.StatusCreated, http.MethodPut, tenant+"/job-applications/a-1", `{"candidate":"c-1"}`)
	for _, up := range []string{"%2E%2E", "..", ".%2e", "%2F..", "x%2F..%2F..", "x%2F%2E%2E/..", "."} {
		must(http.StatusNotFound, http.MethodDelete, tenant+"/job-applications/a-1/documents/"+up, "")
		must(http.StatusNotFound, http.MethodDelete, tenant+"/candidates/"+up, "")
		must(http.StatusNotFound, http.MethodPut, tenant+"/jobs/J1%2F"+up+"%2Fq", `{"id":"job-1"}`)
	}
	must(http.StatusOK, http.MethodGet, tenant+"/job-applications/a-1", "")
	must(http.StatusOK, http.MethodGet, tenant+"/jobs/q", "")
	for _, fine := range []string{"J1%2Fq", "...", "a..b", "J1%2F...%2Fq", "%252E%252E", "%2Fq", "q%2F", "a%2F%2Fb"} {
		must(http.StatusCreated, http.MethodPut, tenant+"/jobs/"+fine, `{"id":"job `+fine+`"}`)
		must(http.StatusNoContent, http.MethodDelete, tenant+"/jobs/"+fine, "")
	}
	must(http.StatusUnprocessableEntity, http.MethodPost, tenant+"/job-applications/a-1/documents?id=..",
		`{"content":"aGk="}`)

	// A UUID is its sender's, and may be what no address holds.
	const sent = "../../x"
	s.accepted("acme", sent)
	must(http.StatusNotFound, http.MethodGet, "/manage/v1/tenants/acme/exports/"+url.PathEscape(sent), "")
	for _, at := range []string{"/exports/" + webhook.KeySegment(sent), "/exports/~Li4vLi4veA"} {
		must(http.StatusOK, http.MethodGet, "/manage/v1/tenants/acme"+at, "")
	}
	must(http.StatusNotFound, http.MethodGet, "/manage/v1/tenants/acme/exports/~", "")
	must(http.StatusNotFound, http.MethodGet, "/manage/v1/tenants/acme/exports/~Li4vLi4veA==", "")

	status, raw := ask(http.MethodPost, tenant+"/api-users",
		`{"userName":"partner@example.com","password":"correct horse"}`, "dev-key")
	require.Equal(t, http.StatusCreated, status, raw)
	status, raw = ask(http.MethodPost, "/apply/v2/authentication",
		`{"userName":"partner@example.com","password":"correct horse"}`, "")
	require.Equal(t, http.StatusOK, status, raw)
	token := strings.Split(raw, `"`)[3]
	for code, want := range map[string]int{"q": http.StatusOK, "A%2F..%2Fq": http.StatusNotFound,
		"../job/q": http.StatusNotFound, "A%2Fq": http.StatusBadRequest} {
		status, raw = ask(http.MethodGet, "/apply/v2/job/"+code+"/question", "", token)
		require.Equal(t, want, status, "%s: %s", code, raw)
	}
}
