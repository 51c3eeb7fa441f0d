package console

import (
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/erasure"
	"github.com/hiregate/hiregate/internal/model"
)

// A recruiter looks for a name, ticks some of those who have it, sees how many and who they are, and erases these and no other.
func TestRecruiterErasesThoseWhoAreTicked(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	list, err := erasure.Open(filepath.Join(b.Fixture.Folder, "erasures"))
	require.NoError(t, err)
	for id, given := range map[string]string{"c-1": "Zoë", "c-3": "Zoë", "c-2": "Zoë Ann", "c-4": "Ada"} {
		require.NoError(t, b.admin().call(http.MethodPut, "/v1/tenants/globex/candidates/"+id, nil,
			map[string]any{"name": map[string]string{"given": given}, "email": []string{id + "@example.com"}}, nil))
	}
	found := b.post(recruiter, "/candidates", url.Values{"tenant": {"globex"}, "sought": {"Zoë"}}, http.StatusOK)
	ticks := regexp.MustCompile(`type="checkbox" name="id" value="(c-\d)"`).FindAllStringSubmatch(found, -1)
	require.Len(t, ticks, 3)
	require.Equal(t, []string{"c-1", "c-3", "c-2"}, []string{ticks[0][1], ticks[1][1], ticks[2][1]}, "namesakes stand beside each other")

	b.post(recruiter, "/candidates/erase", url.Values{"tenant": {"globex"}}, http.StatusBadRequest)
	b.post(recruiter, "/candidates/erase", url.Values{"tenant": {"globex"}, "id": {"nobody"}}, http.StatusNotFound)
	ticked := url.Values{"tenant": {"globex"}, "id": {"c-1", "c-2", "c-2"}}
	preview := b.post(recruiter, "/candidates/erase", ticked, http.StatusOK)
	require.Contains(t, preview, "These 2 people and nobody else are erased. Nothing is erased yet.")
	require.Contains(t, preview, "Erase 2 people")
	require.Equal(t, 2, strings.Count(preview, `type="hidden" name="id"`))
	require.NotContains(t, preview, "c-3")
	b.see(recruiter, "/candidates/globex/c-1", http.StatusOK)

	ticked["sure"], ticked["once"] = []string{"yes"}, []string{"1"}
	require.Contains(t, b.post(recruiter, "/candidates/erase", ticked, http.StatusConflict), "add the option erasures")
	b.Fixture.Gateway.Runtime.Retention.List = list
	erased := b.post(recruiter, "/candidates/erase", ticked, http.StatusOK)
	require.Contains(t, erased, "2 people are erased.")
	require.Contains(t, erased, "&#34;signature&#34;")
	for id, want := range map[string]int{"c-1": http.StatusNotFound, "c-2": http.StatusNotFound, "c-3": http.StatusOK, "c-4": http.StatusOK} {
		b.see(recruiter, "/candidates/globex/"+id, want)
	}
	var audit api.List[model.AuditEntry]
	require.NoError(t, b.admin().get("/v1/audit", url.Values{"tenant": {"globex"}, "action": {"erase"}}, &audit))
	require.Len(t, audit.Items, 1)
	require.Equal(t, "Candidates: 2.", audit.Items[0].Detail)
	require.Equal(t, recruiter, audit.Items[0].Email)
	b.post(viewer, "/candidates/erase", ticked, http.StatusForbidden)

	b.candidate("globex", "c-5", "Eve") // with a file whose name is none: the form is told that, not to ask again
	b.post(recruiter, "/candidates/erase", url.Values{"id": {"c-5"}, "sure": {"yes"}, "once": {"2"}}, http.StatusInternalServerError)
}
