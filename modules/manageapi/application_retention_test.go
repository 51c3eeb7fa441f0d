package manageapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// A job's own retention is announced for a week: status names it, its job applications say when they go, and a list has
// them. Who agreed to be kept is.
func TestRetentionOfAJobsApplications(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	for _, one := range []string{"a-2", "a-3"} {
		b.must(http.StatusCreated, http.MethodPut, acmeApplications+"/"+one, `{"candidate":"c-1","jobBoardCode":"NURSE-1"}`)
	}
	b.Runtime.Retention.Now = b.Clock.Now
	b.Clock.Advance(100 * 24 * time.Hour)
	b.must(http.StatusOK, http.MethodPatch, acme+"/jobs/NURSE-1", `{"keepApplications":90}`, "Content-Type", mergePatch)
	require.Contains(t, b.must(http.StatusUnprocessableEntity, http.MethodPatch, acme+"/jobs/NURSE-1", `{"keepApplications":3}`,
		"Content-Type", mergePatch).body, "keepApplications is no number of days")
	until := b.Clock.Now().AddDate(1, 0, 0).UTC().Truncate(time.Second)
	kept := b.must(http.StatusOK, http.MethodPatch, acmeApplications+"/a-3", fmt.Sprintf(`{"keepUntil":%q}`, until.Format(time.RFC3339)),
		"Content-Type", mergePatch)
	require.Contains(t, kept.body, "keepUntil")
	n, err := b.Runtime.Retention.EraseApplications(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	at := b.Clock.Now().Add(7 * 24 * time.Hour).UTC().Truncate(time.Second)
	a := get[model.JobApplication](b, acmeApplications+"/a-2")
	require.Equal(t, at, a.ErasesAt)
	require.Equal(t, until, get[model.JobApplication](b, acmeApplications+"/a-3").ErasesAt)

	needs, err := b.Runtime.Needs(t.Context(), b.Clock.Now())
	require.NoError(t, err)
	var found []model.Need
	for _, need := range needs {
		if need.Kind == model.NeedErasure {
			found = append(found, need)
		}
	}
	jobs := get[api.JobApplicationList](b, acmeApplications+"?job=NURSE-1&count=true")
	require.Len(t, found, 1)
	require.EqualValues(t, jobs.Count.Count-1, found[0].Count)
	require.Contains(t, found[0].Sentence, at.Format(time.RFC3339))
	_, before, _ := strings.Cut(found[0].Action, "--erased-before ")
	listed := get[api.JobApplicationList](b, acmeApplications+"?count=true&erasedBefore="+before)
	require.EqualValues(t, found[0].Count, listed.Count.Count)
	require.Contains(t, idsOf(listed), "a-2")
	require.NotContains(t, idsOf(listed), "a-3")
	require.Equal(t, at, listed.Items[0].ErasesAt)

	// What was shown may be sent back.
	a.LanguageCode = "de"
	sent, err := json.Marshal(a)
	require.NoError(t, err)
	b.must(http.StatusOK, http.MethodPut, acmeApplications+"/a-2", string(sent))
	b.Clock.Advance(7*24*time.Hour + time.Second)
	n, err = b.Runtime.Retention.EraseApplications(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, found[0].Count, n)
	b.must(http.StatusNotFound, http.MethodGet, acmeApplications+"/a-2", "")
	b.must(http.StatusOK, http.MethodGet, acmeApplications+"/a-3", "")
	needs, err = b.Runtime.Needs(t.Context(), b.Clock.Now())
	require.NoError(t, err)
	for _, need := range needs {
		require.NotEqual(t, model.NeedErasure, need.Kind)
	}
}
