package submission_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/relay"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
	"github.com/hiregate/hiregate/workflows/submission"
)

func env(a *submission.Activities) *testsuite.TestActivityEnvironment {
	e := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	e.RegisterActivityWithOptions(a.Attempt, activity.RegisterOptions{Name: submission.AttemptName})
	return e
}

// An attempt of a submission ends it where the service accepts it; another one at the same time is left out.
func TestAttempt(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		var applied atomic.Int64
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v2/authentication" {
				w.Write([]byte(`{"token":"t"}`))
				return
			}
			applied.Add(1)
			w.WriteHeader(http.StatusNoContent)
		}))
		t.Cleanup(service.Close)
		guard := egress.New(egress.Policy{Allow: []egress.Allowance{{Prefix: netip.MustParsePrefix("127.0.0.0/8")}}})
		t.Cleanup(guard.Close)
		force := new(config.InForce)
		force.Push(&config.Config{Egress: guard, PublicURL: "https://gate.example.com", Tenants: map[string]*model.Tenant{
			"acme": {Name: "acme", ApplyUpstream: &model.ApplyUpstream{URL: service.URL, User: "u", Password: "p",
				TryFor: time.Hour, Rate: model.DefaultUpstreamRate}}}})
		files, err := documents.OpenFiles(t.TempDir())
		require.NoError(t, err)
		r := &relay.Relay{Store: db, Archive: &documents.Archive{Store: db, Files: files}, InForce: force, Now: time.Now,
			Log: zap.NewNop()}
		now := time.Now()
		insert := func(id string, till time.Time) {
			s := &model.Submission{Key: model.NewID(now), Tenant: "acme", ID: id, Job: "J", State: model.SubmissionWaiting,
				ReceivedAt: now, NextAt: now, TryUntil: now.Add(time.Hour)}
			c := &model.SubmissionContent{Key: "k-" + id, Answers: []model.SubmissionAnswer{{Question: "email", Value: "a@b.example"}}}
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
				return tx.InsertSubmission(s, c, "a@b.example", store.SubmissionLease{Owner: "first", Till: till})
			}))
		}
		insert("ended", now.Add(-time.Second))
		insert("running", now.Add(time.Hour))
		a := &submission.Activities{Store: db, Relay: r, InForce: force, Now: time.Now, Log: zap.NewNop()}
		attempt := func(id string) (res submission.Result) {
			value, err := env(a).ExecuteActivity(submission.AttemptName, submission.Input{Tenant: "acme", Submission: id})
			require.NoError(t, err)
			require.NoError(t, value.Get(&res))
			return res
		}
		require.Equal(t, model.SubmissionDelivered, attempt("ended").State)
		require.Empty(t, attempt("ended").State, "it has ended")
		_, err = env(a).ExecuteActivity(submission.AttemptName, submission.Input{Tenant: "acme", Submission: "running"})
		require.ErrorContains(t, err, "leased", "another attempt is under way")
		require.Empty(t, attempt("none").State)
		require.EqualValues(t, 1, applied.Load())
		s, err := db.Submission(t.Context(), "acme", "ended")
		require.NoError(t, err)
		require.True(t, s.Uncertain, "nobody noted what the first attempt came to")
	})
}
