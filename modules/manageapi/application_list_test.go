package manageapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const acmeApplications = acme + "/job-applications"

// idsOf are the ids of a page of job applications.
func idsOf(l api.JobApplicationList) (ids []string) {
	for _, a := range l.Items {
		ids = append(ids, a.ID)
	}
	return ids
}

// Another system follows the list: it meets what is new, changed and erased, each once.
func TestAListOfJobApplicationsIsFollowed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	b.must(http.StatusCreated, http.MethodPut, acmeApplications+"/a-2", `{"candidate":"c-1"}`)
	follow := func(query string) api.JobApplicationList {
		t.Helper()
		return get[api.JobApplicationList](b, acmeApplications+"?"+query)
	}
	first := follow("order=changed&limit=1")
	require.Equal(t, []string{"a-1"}, idsOf(first))
	require.NotNil(t, first.Next)
	require.Equal(t, *first.Next, first.Resume)
	last := follow("order=changed&limit=1&cursor=" + first.Resume)
	require.Equal(t, []string{"a-2"}, idsOf(last))
	require.Nil(t, last.Next)
	nothing := follow("order=changed&cursor=" + last.Resume)
	require.Empty(t, nothing.Items)
	require.Equal(t, last.Resume, nothing.Resume)

	b.Clock.Advance(time.Hour)
	hour := "updatedSince=" + url.QueryEscape(b.Clock.Now().UTC().Format(time.RFC3339))
	quiet := follow(hour)
	require.Empty(t, quiet.Items)
	b.must(http.StatusCreated, http.MethodPost, acmeApplications+"/a-1/transitions", `{"step":"applied"}`)
	for _, query := range []string{hour, "order=changed&cursor=" + nothing.Resume, "order=changed&cursor=" + quiet.Resume} {
		require.Equal(t, []string{"a-1"}, idsOf(follow(query)), query)
	}
	b.must(http.StatusCreated, http.MethodPost, acmeApplications+"/a-2/documents?id=cv", "file")
	b.must(http.StatusNoContent, http.MethodDelete, acmeApplications+"/a-1", "")
	changed := follow("order=changed&job=NONE&cursor=" + nothing.Resume)
	require.Empty(t, changed.Items)
	require.Equal(t, []string{"a-1"}, changed.Erased)
	changed = follow("order=changed&count=true&cursor=" + nothing.Resume)
	require.Equal(t, []string{"a-2"}, idsOf(changed))
	require.Equal(t, &api.Count{Count: 1}, changed.Count)
	require.Equal(t, []string{"a-2"}, idsOf(follow("order=oldest")))
	require.Empty(t, follow("order=oldest").Erased)
}

// A cursor that would skip something is refused, with a code, and never answered with an empty page.
func TestCursorsThatLeadNowhereAreGone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	code := func(query string) string {
		t.Helper()
		return parsed[struct{ Code string }](b, b.must(http.StatusGone, http.MethodGet, query, "")).Code
	}
	oldest := get[api.JobApplicationList](b, acmeApplications+"?order=oldest").Resume
	changed := get[api.JobApplicationList](b, acmeApplications+"?order=changed").Resume
	require.Equal(t, "cursor-of-another-list", code(acmeApplications+"?order=changed&cursor="+oldest))
	require.Equal(t, "cursor-of-another-list", code(acmeApplications+"?cursor="+oldest))
	require.Equal(t, "cursor-of-another-list", code("/v1/tenants/globex/job-applications?order=oldest&cursor="+oldest))
	require.Equal(t, "cursor-of-another-list", code(acme+"/candidates?cursor="+oldest))
	require.Equal(t, "cursor-unknown", code(acmeApplications+"?order=oldest&cursor=am9iLWFwcGxpY2F0aW9uOm9sZGVzdC45MDAwMDAwMDAwMDAwMDAwMDAwLmFjbWU"))
	require.Contains(t, b.problem(http.MethodGet, acmeApplications+"?cursor=am9iLWFwcGxpY2F0aW9uOi54LmFjbWU", "", http.StatusBadRequest), "no cursor")

	since := b.Clock.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	b.must(http.StatusNoContent, http.MethodDelete, acmeApplications+"/a-1", "")
	b.Write(t, func(tx *store.Tx) error { _, err := tx.ForgetErased(b.Clock.Now().Add(time.Hour)); return err })
	require.Equal(t, "cursor-expired", code(acmeApplications+"?order=changed&cursor="+changed))
	require.Equal(t, "cursor-expired", code(acmeApplications+"?updatedSince="+since))
	get[api.JobApplicationList](b, acmeApplications+"?order=changed")
	get[api.JobApplicationList](b, acmeApplications+"?order=oldest&cursor="+oldest)
}

func TestJobApplicationsAreListedWithAnswers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	b.Write(t, func(tx *store.Tx) error {
		return tx.InsertApplicationAnswers("acme", "a-1", &model.ApplicationAnswers{Source: "career site", APIUser: "board@example.com",
			Answers: []model.Given{{Question: "why", Label: "Why?", Format: "Text", Values: []string{"Because"}}}})
	})
	keyed := b.keyed()
	operator := keyed.as(keyed.key("k-1", "acme", model.Operator))
	viewer := keyed.as(keyed.key("k-2", "acme", model.Viewer))
	require.Contains(t, viewer.refused(http.StatusForbidden, http.MethodGet, acmeApplications+"?answers=true", ""), "role")
	for query, want := range map[string]int{"source=career+site&apiUser=Board@example.com": 1, "source=fair": 0} {
		l := parsed[api.JobApplicationList](b, operator.must(http.StatusOK, http.MethodGet, acmeApplications+"?answers=true&"+query, ""))
		require.Len(t, l.Items, want)
		for _, a := range l.Items {
			require.Equal(t, "Because", a.Answers.Answers[0].Values[0])
		}
	}
	require.Nil(t, parsed[api.JobApplicationList](b, viewer.must(http.StatusOK, http.MethodGet, acmeApplications, "")).Items[0].Answers)
	require.Len(t, viewer.entries("action=show-answers"), 2)
	for query, want := range map[string]string{
		"order=newest": "order can only be oldest or changed", "answers=1": "answers can only be true", "order=changed&since=2026-01-01T00:00:00Z": "takes updatedSince",
		"order=oldest&updatedSince=2026-01-01T00:00:00Z": "order=changed", "since=now": "must be a time",
	} {
		require.Contains(t, b.problem(http.MethodGet, acmeApplications+"?"+query, "", http.StatusBadRequest), want, fmt.Sprint(query))
	}
}
