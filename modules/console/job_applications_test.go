package console

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Job applications are listed by state, step and job, each with its candidate's name, and taken as CSV with these filters.
func TestJobApplicationsAreListed(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.candidate("acme", "c-1", "Zoë")
	b.candidate("acme", "c-2", "<i>Ada")
	b.Write(t, func(tx *store.Tx) error {
		a, _, err := tx.JobApplication("acme", "a-c-2")
		if err != nil {
			return err
		}
		a.Ended = &model.End{As: model.Hired, At: b.Clock.Now()}
		return tx.UpsertJobApplication(a, b.Clock.Now())
	})
	const zoe, ada = "/console/candidates/acme/c-1", "/console/candidates/acme/c-2"
	for query, shown := range map[string][]string{"": {zoe, ada}, "&state=open": {zoe}, "&state=hired": {ada}, "&state=ended": {ada},
		"&state=rejected": nil, "&step=applied": {zoe, ada}, "&step=gone": nil, "&job=JOB-1&state=open": {zoe}, "&job=none": nil} {
		text := b.see(ops, "/job-applications?tenant=acme"+query, http.StatusOK)
		for _, one := range []string{zoe, ada} {
			if len(shown) > 0 && (one == shown[0] || one == shown[len(shown)-1]) {
				require.Contains(t, text, one, query)
			} else {
				require.NotContains(t, text, one, query)
			}
		}
	}
	text := b.see(ops, "/job-applications?tenant=acme&state=hired", http.StatusOK)
	require.Contains(t, text, "&lt;i&gt;Ada")
	require.Contains(t, text, `href="/console/job-applications.csv?state=hired&amp;tenant=acme"`)
	table := b.send(ops, http.MethodGet, "/job-applications.csv?state=hired&tenant=acme", nil)
	require.Equal(t, http.StatusOK, table.Code, table.Body)
	require.Equal(t, "text/csv; charset=utf-8", table.Header().Get("Content-Type"))
	require.Contains(t, table.Header().Get("Content-Disposition"), "attachment")
	require.Contains(t, table.Body.String(), "a-c-2")
	require.NotContains(t, table.Body.String(), "a-c-1")

	b.see(ops, "/job-applications?tenant=acme&state=lost", http.StatusBadRequest)
	require.Contains(t, b.see(ops, "/job-applications", http.StatusOK), "/console/job-applications?tenant=acme")
	for _, path := range []string{"/job-applications", "/job-applications.csv"} {
		b.see(viewer, path, http.StatusForbidden)
		b.see(recruiter, path+"?tenant=acme", http.StatusNotFound)
		require.Equal(t, http.StatusOK, b.send(recruiter, http.MethodGet, path, nil).Code)
	}
	for n := range 60 {
		b.candidate("globex", fmt.Sprintf("c-%02d", n), "Zoe")
	}
	require.Len(t, b.paged(recruiter, "/job-applications", regexp.MustCompile(`/console/candidates/globex/(c-\d+)"`)), 60)
}
