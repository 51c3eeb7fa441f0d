package manageapi_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// A job application ends, and is open again: lists are by that and by change, the audit has who did it, and what has ended
// enters no step.
func TestAJobApplicationEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	b.must(http.StatusCreated, http.MethodPut, acmeApplications+"/a-2", `{"candidate":"c-1"}`)
	position := get[api.JobApplicationList](b, acmeApplications+"?order=changed").Resume
	keyed := b.keyed()
	operator := keyed.as(keyed.key("k-1", "acme", model.Operator))
	viewer := keyed.as(keyed.key("k-2", "acme", model.Viewer))
	const rejected = `{"as":"rejected","reason":"no licence"}`
	viewer.must(http.StatusForbidden, http.MethodPost, application+"/end", rejected)
	require.Contains(t, operator.refused(http.StatusUnprocessableEntity, http.MethodPost, application+"/end", `{"as":"fired"}`), "hired")

	a := parsed[model.JobApplication](b, operator.must(http.StatusOK, http.MethodPost, application+"/end", rejected))
	require.Equal(t, &model.End{As: model.Rejected, Reason: "no licence", At: b.Clock.Now().UTC()}, a.Ended)
	again := operator.must(http.StatusOK, http.MethodPost, application+"/end", rejected)
	require.Equal(t, a, parsed[model.JobApplication](b, again), "a repeat changes nothing")
	require.Contains(t, operator.refused(http.StatusConflict, http.MethodPost, application+"/end", `{"as":"hired"}`), "reopen it first")
	operator.must(http.StatusPreconditionFailed, http.MethodPost, application+"/reopen", "", "If-Match", `"1"`)
	require.Contains(t, operator.refused(http.StatusConflict, http.MethodPost, application+"/transitions", `{"step":"applied"}`), "reopen it first")

	require.Equal(t, a.Ended, parsed[model.JobApplication](b, b.must(http.StatusOK, http.MethodPut, application, `{"candidate":"c-1"}`)).Ended)
	require.Contains(t, b.refused(http.StatusUnprocessableEntity, http.MethodPut, application,
		`{"candidate":"c-1","ended":{"as":"hired","at":"2026-01-01T00:00:00Z"}}`), "/end")
	b.must(http.StatusOK, http.MethodPut, application, b.must(http.StatusOK, http.MethodGet, application, "").body)

	for query, want := range map[string][]string{"state=open": {"a-2"}, "state=ended": {"a-1"}, "state=rejected": {"a-1"},
		"state=hired": nil, "state=open&candidate=c-1": {"a-2"}, "order=changed&cursor=" + position: {"a-1"},
		"order=changed&state=ended": {"a-1"}} {
		require.Equal(t, want, idsOf(get[api.JobApplicationList](b, acmeApplications+"?"+query)), query)
	}
	require.Contains(t, b.problem(http.MethodGet, acmeApplications+"?state=closed", "", http.StatusBadRequest), "withdrawn")

	operator.must(http.StatusOK, http.MethodPost, application+"/reopen", "")
	require.Empty(t, get[api.JobApplicationList](b, acmeApplications+"?state=ended").Items)
	require.NotEmpty(t, viewer.entries("action=end"))
	require.Equal(t, [][3]string{{"acme", "reopen", "job-applications/a-1"}}, viewer.entries("action=reopen"))

	out, _, err := b.cli("application", "end", "acme/a-1", "hired", "--reason", "the best")
	require.NoError(t, err)
	require.Contains(t, out, "acme/a-1 ended as hired")
	out, _, err = b.cli("application", "list", "acme", "--state", "hired")
	require.NoError(t, err)
	require.Contains(t, out, "a-1")
	require.NotContains(t, out, "a-2")
	out, _, err = b.cli("application", "reopen", "acme/a-1")
	require.NoError(t, err)
	require.Contains(t, out, "acme/a-1 is open")
	b.must(http.StatusCreated, http.MethodPost, application+"/transitions", `{"step":"applied"}`)
}

// A step that open job applications are in stays, and says how many they are.
func TestAStepInUseIsNotRemoved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	b.must(http.StatusCreated, http.MethodPost, application+"/transitions", `{"step":"applied"}`)
	const without = `{"items":[{"id":"hired","name":"Hired"}]}`
	require.Contains(t, b.refused(http.StatusConflict, http.MethodPut, acme+"/steps", without), "1 open job applications")
	b.must(http.StatusOK, http.MethodPost, application+"/end", `{"as":"withdrawn"}`)
	b.must(http.StatusOK, http.MethodPut, acme+"/steps", without)
}
