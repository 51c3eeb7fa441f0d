package manageapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/trigger"
)

// What was sent again under an e-mail address stands beside the first: it is read like it, in no list, and exported when a
// person chooses it.
func TestVersionsOfAJobApplication(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	b.must(http.StatusCreated, http.MethodPost, application+"/documents?id=first", "the first")
	b.Write(t, func(tx *store.Tx) error {
		return tx.UpsertJobApplication(&model.JobApplication{Row: model.Row{Tenant: "acme"}, ID: "a-1b", Candidate: "c-1",
			VersionOf: "a-1"}, b.Clock.Now())
	})
	const version = acmeApplications + "/a-1b"
	b.must(http.StatusCreated, http.MethodPost, version+"/documents?id=again", "again")
	require.Equal(t, []string{"a-1"}, idsOf(get[api.JobApplicationList](b, acmeApplications)))
	require.Equal(t, []string{"a-1"}, idsOf(get[api.JobApplicationList](b, acmeApplications+"?order=changed")))
	all := get[api.List[api.JobApplicationVersion]](b, application+"/versions")
	require.Len(t, all.Items, 1)
	require.Equal(t, "a-1b", all.Items[0].ID)
	for verb, body := range map[string]string{"transitions": `{"step":"applied"}`, "end": `{"as":"hired"}`} {
		require.Contains(t, b.refused(http.StatusConflict, http.MethodPost, version+"/"+verb, body), "a-1")
	}
	files := func() string {
		t.Helper()
		var e *model.Export
		b.Write(t, func(tx *store.Tx) (err error) {
			e, err = b.Gateway.Trigger(httptest.NewRequest(http.MethodPost, "/", nil)).Export(tx, trigger.Request{Tenant: "acme",
				Candidate: "c-1", Application: "a-1", Integrations: []string{"hris"}})
			return err
		})
		return string(e.Body)
	}
	require.Contains(t, files(), `"first"`)
	require.NotContains(t, files(), `"again"`)
	require.Equal(t, "a-1b", parsed[model.JobApplication](b, b.must(http.StatusOK, http.MethodPost, version+"/choose", "")).Chosen)
	require.Contains(t, files(), `"again"`)
	require.NotContains(t, files(), `"first"`)
	require.NotContains(t, files(), `"a-1b"`)
	b.must(http.StatusNoContent, http.MethodDelete, version, "")
	require.Contains(t, files(), `"first"`)
	require.Empty(t, get[api.JobApplicationList](b, acmeApplications+"?order=changed").Erased)
	require.NotEmpty(t, b.entries("action=choose"))

	b.Write(t, func(tx *store.Tx) error {
		return tx.UpsertJobApplication(&model.JobApplication{Row: model.Row{Tenant: "acme"}, ID: "a-1c", Candidate: "c-1",
			VersionOf: "a-1"}, b.Clock.Now())
	})
	out, _, err := b.cli("application", "versions", "acme/a-1")
	require.NoError(t, err)
	require.Contains(t, out, "a-1c")
	out, _, err = b.cli("application", "choose", "acme/a-1c")
	require.NoError(t, err)
	require.Contains(t, out, "exports of a-1 have the files of acme/a-1c")
	b.must(http.StatusNoContent, http.MethodDelete, application, "")
	b.must(http.StatusNotFound, http.MethodGet, acmeApplications+"/a-1c", "")
	b.must(http.StatusNoContent, http.MethodDelete, acme+"/candidates/c-1", "")
}
