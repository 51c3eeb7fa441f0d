package apply_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// The last attempts of a submission are kept, with what each came to.
func TestLastAttemptsOfASubmission(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	me := r.bearer(partner)
	r.requireQuestions(t, me)
	r.answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	id := r.requireTaken(r.apply(application(t, code, fine(t)), me...))
	for range 23 {
		r.Clock.Advance(time.Minute)
		require.Equal(t, model.SubmissionWaiting, r.attempt(t, id).State)
	}
	r.answer(nil)
	r.Clock.Advance(time.Minute)
	s := r.attempt(t, id)
	require.Equal(t, model.SubmissionDelivered, s.State)
	made, err := r.Runtime.Store().SubmissionAttempts(t.Context(), s)
	require.NoError(t, err)
	require.Len(t, made, model.KeptAttempts)
	for n, a := range made[:19] {
		require.Equal(t, model.SubmissionAttempt{Number: 6 + n, StartedAt: a.StartedAt, DurationMs: a.DurationMs, Status: 503,
			Class: model.AttemptServiceFault, Reason: "the service answered 503 Service Unavailable"}, a)
	}
	last := made[19]
	require.True(t, r.Clock.Now().Equal(last.StartedAt))
	require.Equal(t, model.SubmissionAttempt{Number: 25, StartedAt: last.StartedAt, DurationMs: last.DurationMs, Status: 204,
		Class: model.AttemptDelivered}, last)
}
