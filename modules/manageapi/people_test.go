package manageapi_test

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// application is where people puts a job application.
const application = "/v1/tenants/acme/job-applications/a-1"

// people fills the tenant acme with a candidate, a job, two steps and a job application.
func (b *fixture) people() {
	b.t.Helper()
	b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/acme/candidates/c-1",
		`{"name":{"given":"Zoë"},"email":["Zoe@example.org"]}`)
	b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/acme/jobs/NURSE-1", `{"id":"job-1","title":"Nurse"}`)
	b.must(http.StatusOK, http.MethodPut, "/v1/tenants/acme/steps",
		`{"items":[{"id":"applied","name":"Applied"},{"id":"hired","name":"Hired","category":"Done"}]}`)
	b.must(http.StatusCreated, http.MethodPut, application, `{"candidate":"c-1","jobBoardCode":"NURSE-1"}`)
}

// initech makes a tenant that is kept in the database.
func (b *fixture) initech() {
	b.t.Helper()
	b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/initech",
		`{"name":"Initech","secrets":["initech-inbound-key"]}`)
}

// partner is a partner's server, which the gateway may send to.
func (b *fixture) partner(answer http.HandlerFunc) (address string) {
	b.t.Helper()
	server := httptest.NewServer(answer)
	b.t.Cleanup(server.Close)
	b.AllowLoopback(b.t)
	return server.URL
}

// files are the files of the document store.
func (b *fixture) files() (all []string) {
	b.t.Helper()
	require.NoError(b.t, filepath.WalkDir(filepath.Join(b.Folder, "documents"),
		func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				all = append(all, path)
			}
			return err
		}))
	return all
}

// parsed is the JSON of an answer.
func parsed[T any](b *fixture, a reply) (v T) {
	b.t.Helper()
	require.NoError(b.t, json.Unmarshal([]byte(a.body), &v), a.body)
	return v
}

// items is the first page of a list.
func items(b *fixture, path string) []map[string]any {
	b.t.Helper()
	return get[struct{ Items []map[string]any }](b, path).Items
}

// ids are those of the first page of a list.
func ids(b *fixture, path string) []string {
	b.t.Helper()
	all := []string{}
	for _, one := range items(b, path) {
		all = append(all, one["id"].(string))
	}
	return all
}

// pagedIDs walks a list with two items a page.
func pagedIDs(b *fixture, path string) (all []string) {
	b.t.Helper()
	for cursor := ""; ; {
		page := get[struct {
			Items []struct{ ID string }
			Next  *string
		}](b, path+"?limit=2"+cursor)
		require.LessOrEqual(b.t, len(page.Items), 2)
		for _, one := range page.Items {
			all = append(all, one.ID)
		}
		if page.Next == nil {
			return all
		}
		cursor = "&cursor=" + *page.Next
	}
}

func TestListsArePaged(t *testing.T) {
	t.Parallel()
	onEach(t, testListsArePaged)
}

func testListsArePaged(t *testing.T, b *fixture) {
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/acme/candidates/"+id, `{}`)
		b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/acme/jobs/"+id, `{"id":"`+id+`"}`)
		b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/acme/job-applications/"+id, `{"candidate":"a"}`)
		b.must(http.StatusCreated, http.MethodPost, "/v1/tenants/acme/job-applications/a/documents?id="+id, "file")
	}
	b.must(http.StatusOK, http.MethodPut, "/v1/tenants/acme/steps", `{"items":[{"id":"e","name":"n"},{"id":"d","name":"n"},{"id":"c","name":"n"},{"id":"b","name":"n"},{"id":"a","name":"n"}]}`)
	for _, path := range []string{"/candidates", "/jobs", "/job-applications/a/documents"} {
		require.Equal(t, []string{"a", "b", "c", "d", "e"}, pagedIDs(b, "/v1/tenants/acme"+path))
	}
	require.Equal(t, []string{"e", "d", "c", "b", "a"}, pagedIDs(b, "/v1/tenants/acme/job-applications"))
	require.Equal(t, []string{"e", "d", "c", "b", "a"}, pagedIDs(b, "/v1/tenants/acme/steps"), "the order of the workflow")
	require.Equal(t, []string{"crm", "hris", "own"}, pagedIDs(b, "/v1/tenants/acme/integrations"))
	require.Equal(t, []string{"crm", "hris", "own", "hris"}, pagedIDs(b, "/v1/integrations"))
	require.Equal(t, []string{"acme", "globex", "idle"}, pagedIDs(b, "/v1/tenants"))

	next := *get[listed](b, "/v1/tenants/acme/candidates?limit=1").Next
	require.Contains(t, b.problem(http.MethodGet, "/v1/tenants/acme/jobs?cursor="+next, "", http.StatusGone),
		"of another list")
}
