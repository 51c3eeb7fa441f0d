package manageapi_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// submitted is setup with submissions of acme that the service refused, and that wait.
func submitted(t *testing.T) *fixture {
	t.Helper()
	b := setup(t)
	b.Reconfigure(func(c *config.Config) {
		c.Tenants["acme"].ApplyUpstream = &model.ApplyUpstream{URL: "https://service.example.com/apply", User: "u",
			Password: secretKey, TryFor: time.Hour, Rate: model.DefaultUpstreamRate}
	})
	now := b.Clock.Now()
	for id, state := range map[string]model.SubmissionState{"s-refused": model.SubmissionRefused, "s-waiting": model.SubmissionWaiting} {
		s := &model.Submission{Key: model.NewID(now), Tenant: "acme", ID: id, Job: "NURSE-1", State: model.SubmissionWaiting,
			ReceivedAt: now, NextAt: now, TryUntil: now.Add(time.Hour)}
		c := &model.SubmissionContent{Key: "k", Answers: []model.SubmissionAnswer{{Question: "email", Value: "ada@example.com"}}}
		lease := store.SubmissionLease{Owner: id, Till: now.Add(time.Minute)}
		b.Write(t, func(tx *store.Tx) error { return tx.InsertSubmission(s, c, "ada@example.com", lease) })
		if state == model.SubmissionWaiting {
			continue
		}
		s.State, s.Reason, s.Attempts, s.EndedAt, s.NextAt = state, "the service refused it with 400", 1, now, time.Time{}
		b.Write(t, func(tx *store.Tx) error {
			return tx.EndAttempt(s, lease, c, &model.SubmissionAttempt{Number: 1, StartedAt: now, DurationMs: 12, Status: 400,
				Class: model.AttemptRefused, Reason: s.Reason})
		})
	}
	return b
}

const ofSubmissions = "/v1/tenants/acme/submissions"

func (b *fixture) submission(method, path, body string, status int) (s api.Submission) {
	b.t.Helper()
	answer := b.send(method, ofSubmissions+path, body)
	require.Equal(b.t, status, answer.status, answer.body)
	require.NotContains(b.t, answer.body, "ada", "it is the applicant's")
	require.NoError(b.t, json.Unmarshal([]byte(answer.body), &s))
	return s
}

func TestSubmissionsAreListed(t *testing.T) {
	t.Parallel()
	b := submitted(t)
	require.Contains(t, b.send(http.MethodGet, ofSubmissions+"/s-refused", "").body, `"lastAttempts":[{"number":1,`)
	require.NotContains(t, b.send(http.MethodGet, ofSubmissions, "").body, "lastAttempts")
	for query, count := range map[string]int{"": 2, "?state=refused": 1, "?state=failed": 0, "?email=ADA@example.com": 2,
		"?email=bob@example.com": 0, "?limit=1": 1} {
		answer := b.send(http.MethodGet, ofSubmissions+query, "")
		require.Equal(t, http.StatusOK, answer.status, answer.body)
		var page struct{ Items []api.Submission }
		require.NoError(t, json.Unmarshal([]byte(answer.body), &page))
		require.Len(t, page.Items, count, query)
	}
	require.Equal(t, http.StatusBadRequest, b.send(http.MethodGet, ofSubmissions+"?state=lost", "").status)
	require.Equal(t, http.StatusNotFound, b.send(http.MethodGet, ofSubmissions+"/none", "").status)
	require.Equal(t, http.StatusNotFound, b.send(http.MethodGet, "/v1/tenants/globex/submissions/s-refused", "").status)
}

func TestASubmissionIsSentAgainResolvedAndErased(t *testing.T) {
	t.Parallel()
	b := submitted(t)
	b.submission(http.MethodPost, "/s-waiting/redeliver", "", http.StatusConflict)
	b.submission(http.MethodPost, "/s-waiting/resolve", `{"note":"n. 7"}`, http.StatusConflict)
	b.submission(http.MethodPost, "/s-refused/resolve", `{"note":""}`, http.StatusUnprocessableEntity)
	s := b.submission(http.MethodPost, "/s-refused/redeliver", "", http.StatusAccepted)
	require.Equal(t, model.SubmissionWaiting, s.State)
	require.Equal(t, b.Clock.Now(), s.NextAt)

	b = submitted(t)
	s = b.submission(http.MethodPost, "/s-refused/resolve", `{"note":"n. 7"}`, http.StatusOK)
	require.Equal(t, model.SubmissionResolved, s.State)
	require.Equal(t, "n. 7", s.Note)

	s = b.submission(http.MethodPost, "/s-waiting/erase", "", http.StatusOK)
	require.Equal(t, model.SubmissionFailed, s.State)
	require.Equal(t, b.Clock.Now(), s.ErasedAt)
	b.submission(http.MethodPost, "/s-waiting/redeliver", "", http.StatusConflict)
}

// Who looks at the status hears a week before that what the service does not have is erased.
func TestWhatIsErasedIsAnnounced(t *testing.T) {
	t.Parallel()
	b := submitted(t)
	ended := b.Clock.Now()
	undelivered := func(day int) model.Need {
		t.Helper()
		needs, err := b.Runtime.Needs(t.Context(), ended.AddDate(0, 0, day))
		require.NoError(t, err)
		at := slices.IndexFunc(needs, func(n model.Need) bool { return n.Kind == model.NeedSubmissions })
		require.GreaterOrEqual(t, at, 0)
		return needs[at]
	}
	require.NotContains(t, undelivered(82).Sentence, "erased")
	require.Zero(t, undelivered(82).LostAt)
	require.Contains(t, undelivered(84).Sentence, "1 of them are erased within a week, the first one at ")
	require.Equal(t, ended.AddDate(0, 0, 90).Unix(), undelivered(84).LostAt.Unix())
}

// A tenant whose applications are not all at its service is removed only where that is forced. From then on, who looks at
// the status hears of them.
func TestApplicationsOfARemovedTenantAreNotForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const initech = "/v1/tenants/initech"
	b.must(http.StatusCreated, http.MethodPut, initech, `{}`)
	now := b.Clock.Now()
	insert := func(id string, state model.SubmissionState) {
		s := &model.Submission{Key: model.NewID(now), Tenant: "initech", ID: id, Job: "NURSE-1", State: state, ReceivedAt: now,
			NextAt: now, TryUntil: now.Add(time.Hour)}
		b.Write(t, func(tx *store.Tx) error {
			return tx.InsertSubmission(s, &model.SubmissionContent{Key: "k"}, "", store.SubmissionLease{})
		})
	}
	insert("s-delivered", model.SubmissionDelivered)
	insert("s-waiting", model.SubmissionWaiting)
	insert("s-suspected", model.SubmissionSuspected)

	require.Contains(t, b.problem(http.MethodDelete, initech, "", http.StatusConflict), "not at its service, and wait here: 2;")
	b.problem(http.MethodDelete, initech+"?force=no", "", http.StatusBadRequest)
	_, _, err := b.cli("tenant", "remove", "initech", "--yes")
	require.ErrorContains(t, err, "--force")
	_, _, err = b.cli("tenant", "remove", "initech", "--yes", "--force")
	require.NoError(t, err)

	needs, err := b.Runtime.Needs(t.Context(), now)
	require.NoError(t, err)
	of := map[model.NeedKind]model.Need{}
	for _, n := range needs {
		of[n.Kind] = n
	}
	require.Equal(t, "initech: applications don't reach the service: the tenant is not in this gateway's configuration; add it again; "+
		"1 wait, and the first one fails at "+now.Add(time.Hour).UTC().Format(time.RFC3339), of[model.NeedUpstream].Sentence)
	require.Equal(t, "initech", of[model.NeedSubmissions].Tenant)
	require.Contains(t, b.must(http.StatusOK, http.MethodGet, "/v1/status", "").body, "initech: applications that are not at the service: 1")

	out, _, err := b.cli("submission", "list", "--state", "waiting", "--tenant", "initech")
	require.NoError(t, err)
	require.Contains(t, out, "s-waiting")
	b.must(http.StatusOK, http.MethodGet, initech+"/submissions/s-waiting", "")
	b.must(http.StatusOK, http.MethodPost, initech+"/submissions/s-waiting/show", "")
	b.must(http.StatusOK, http.MethodPost, initech+"/submissions/s-suspected/resolve", `{"note":"n. 7"}`)
	b.must(http.StatusOK, http.MethodPost, initech+"/submissions/s-waiting/erase", "")
	for method, path := range map[string]string{http.MethodGet: "/v1/tenants/nobody/submissions",
		http.MethodPost: initech + "/submissions/s-waiting/redeliver"} {
		require.Contains(t, b.problem(method, path, "", http.StatusNotFound), "no tenant of that name")
	}
	require.Contains(t, b.problem(http.MethodGet, initech+"/submissions/none", "", http.StatusNotFound), "no tenant of that name")
}
