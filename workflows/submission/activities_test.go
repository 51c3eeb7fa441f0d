package submission_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
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
		a, _ := relayingTo(t, db, service.URL, time.Now)
		now := time.Now()
		insert(t, db, now, "ended", "J", now.Add(-time.Second))
		insert(t, db, now, "running", "J", now.Add(time.Hour))
		attempt := func(id string) (res submission.Result) {
			value, err := env(a).ExecuteActivity(submission.AttemptName, submission.Input{Tenant: "acme", Submission: id})
			require.NoError(t, err)
			require.NoError(t, value.Get(&res))
			return res
		}
		require.Equal(t, model.SubmissionDelivered, attempt("ended").State)
		require.Empty(t, attempt("ended").State, "it has ended")
		_, err := env(a).ExecuteActivity(submission.AttemptName, submission.Input{Tenant: "acme", Submission: "running"})
		require.ErrorContains(t, err, "leased", "another attempt is under way")
		require.Empty(t, attempt("none").State)
		require.EqualValues(t, 1, applied.Load())
		s, err := db.Submission(t.Context(), "acme", "ended")
		require.NoError(t, err)
		require.True(t, s.Uncertain, "nobody noted what the first attempt came to")
	})
}

// relayingTo returns the activities of a gateway whose tenant acme is relayed to a service, and the workflows that they start.
func relayingTo(t *testing.T, db *store.DB, service string, now func() time.Time) (*submission.Activities, *started) {
	t.Helper()
	guard := egress.New(egress.Policy{Allow: []egress.Allowance{{Prefix: netip.MustParsePrefix("127.0.0.0/8")}}})
	t.Cleanup(guard.Close)
	force := new(config.InForce)
	force.Push(&config.Config{Egress: guard, PublicURL: "https://gate.example.com", Tenants: map[string]*model.Tenant{
		"acme": {Name: "acme", ApplyUpstream: &model.ApplyUpstream{URL: service, User: "u", Password: "p",
			TryFor: time.Hour, Rate: model.DefaultUpstreamRate}}}})
	files, err := documents.OpenFiles(t.TempDir())
	require.NoError(t, err)
	r := &relay.Relay{Store: db, Archive: &documents.Archive{Store: db, Files: files}, InForce: force, Now: now,
		Log: zap.NewNop()}
	begun := new(started)
	return &submission.Activities{Store: db, Relay: r, InForce: force, Client: begun, Now: now, Log: zap.NewNop()}, begun
}

// insert stores a submission for a job, whose first attempt is leased until a time.
func insert(t *testing.T, db *store.DB, now time.Time, id, job string, till time.Time) {
	t.Helper()
	s := &model.Submission{Key: model.NewID(now), Tenant: "acme", ID: id, Job: job, State: model.SubmissionWaiting,
		ReceivedAt: now, NextAt: now, TryUntil: now.Add(time.Hour)}
	c := &model.SubmissionContent{Key: "k-" + id, Answers: []model.SubmissionAnswer{{Question: "email", Value: "a@b.example"}}}
	require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
		return tx.InsertSubmission(s, c, "a@b.example", store.SubmissionLease{Owner: "first", Till: till})
	}))
}

// started notes which workflows were started, which the test then runs.
type started struct {
	client.Client
	inputs []submission.Input
}

func (s *started) ExecuteWorkflow(_ context.Context, _ client.StartWorkflowOptions, _ any,
	args ...any) (client.WorkflowRun, error) {
	s.inputs = append(s.inputs, args[0].(submission.Input))
	return nil, nil
}

// What the service never takes, such as applications for a job that it answers 404 for, holds up nothing that came later.
func TestApplicationsThatTheServiceNeverTakesHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			switch {
			case r.URL.Path == "/v2/authentication":
				w.Write([]byte(`{"token":"t"}`))
			case bytes.Contains(body, []byte("GONE")):
				http.NotFound(w, r)
			default:
				w.WriteHeader(http.StatusNoContent)
			}
		}))
		t.Cleanup(service.Close)
		clock := time.Now()
		a, begun := relayingTo(t, db, service.URL, func() time.Time { return clock })
		for n := range 60 {
			job := "GONE"
			if n >= 30 {
				job = "OPEN"
			}
			insert(t, db, clock.Add(time.Duration(n)*time.Millisecond), fmt.Sprint(n), job, clock)
		}
		delivered := func() int64 {
			counts, err := db.CountSubmissions(t.Context())
			require.NoError(t, err)
			return counts["acme"][model.SubmissionDelivered].N
		}
		for seconds := 0; delivered() < 30; seconds++ {
			require.Less(t, seconds, 120, "%d of 30 are delivered", delivered())
			clock = clock.Add(time.Second)
			require.NoError(t, a.Loop().Round(t.Context()))
			for _, in := range begun.inputs {
				_, err := env(a).ExecuteActivity(submission.AttemptName, in)
				require.NoError(t, err)
			}
			begun.inputs = nil
		}
	})
}
