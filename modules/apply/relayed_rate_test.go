package apply_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// A service is sent no more than its rate, whatever strangers ask for and however many apply: what is over it waits.
func TestAServiceIsSentNoMoreThanItsRate(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	me := r.bearer(partner)
	r.requireQuestions(t, me)
	r.Clock.Advance(10 * time.Second)
	var asked, applied atomic.Int64
	r.answer(func(w http.ResponseWriter, q *http.Request) {
		switch {
		case strings.HasSuffix(q.URL.Path, "/question"):
			asked.Add(1)
			w.Header().Set(contentType, asJSON)
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"code":400,"message":"there is no such job"}`)
		case strings.HasSuffix(q.URL.Path, "/application"):
			applied.Add(1)
			w.WriteHeader(http.StatusNoContent)
		}
	})
	forms, burst := r.forms(), int64(model.DefaultUpstreamRate.Burst)
	for n := range 3 * burst {
		want := http.StatusNotFound
		if n >= burst {
			want = http.StatusServiceUnavailable
		}
		require.Equal(t, want, forms.get(fmt.Sprintf("/NONE-%d", n)).Code)
	}
	require.Equal(t, burst, asked.Load())
	for n := range 2 * burst {
		r.requireTaken(r.apply(application(t, code, with(fine(t), "email", fmt.Sprintf("a%d@example.com", n))), me...))
	}
	require.Equal(t, burst, applied.Load())
	waiting := 0
	for _, s := range r.submissions(t) {
		if s.State == model.SubmissionWaiting {
			waiting++
		}
	}
	require.EqualValues(t, burst, waiting)
}

// While a service takes its time, the applications of others are checked.
func TestNoPlaceForChecksWaitsForAService(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	me := r.bearer(partner)
	r.requireQuestions(t, me)
	var used atomic.Int64
	r.answer(func(w http.ResponseWriter, _ *http.Request) {
		used.Store(r.Runtime.Checks.Used())
		w.WriteHeader(http.StatusNoContent)
	})
	used.Store(-1)
	r.requireTaken(r.apply(application(t, code, fine(t)), me...))
	require.Zero(t, used.Load())
}

// While a service does not say what a job asks, what it said last is shown, and nobody waits for another minute.
func TestAServiceThatIsAwayIsAskedOnceAMinute(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	me := r.bearer(partner)
	r.requireQuestions(t, me)
	var asked atomic.Int64
	r.answer(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	})
	for n := range int64(3) {
		r.Clock.Advance(time.Minute)
		r.requireQuestions(t, me)
		r.requireQuestions(t, me)
		require.Equal(t, n+1, asked.Load())
	}
	r.answer(nil)
	r.Clock.Advance(time.Minute)
	require.Empty(t, r.ask(http.MethodGet, "/v2/job/"+code+"/question", "", me...).Header().Get("Age"))
}
