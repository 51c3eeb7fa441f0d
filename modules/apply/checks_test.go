package apply_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/modules/apply"
)

// large is a job that asks all that one may ask, and an application that chooses all of it.
func large(t testing.TB) (job *model.Job, body string) {
	t.Helper()
	job = &model.Job{BoardCode: "ALL-OPTIONS", ID: "job-large", Title: "Large"}
	options := make([]string, 500)
	for n := range options {
		options[n] = fmt.Sprintf("o-%03d", n)
	}
	var answers []answered
	for n := range model.MaxQuestions {
		q := model.Question{ID: fmt.Sprintf("q-%03d", n), Label: "Which?", Format: model.Checkbox, Options: options}
		job.Questions = append(job.Questions, q)
		answers = append(answers, answered{q.ID, strings.Join(options, "|")})
	}
	return job, application(t, job.BoardCode, answers)
}

// checkWithin has applications wait so long for a place to be checked.
func (b *fixture) checkWithin(d time.Duration) {
	b.API = apply.New(apply.API{Gateway: b.Fixture.Gateway, Rate: model.Rate{PerSecond: 1e6, Burst: 1e6},
		Guards: apply.NewGuards(b.Clock.Now), Log: b.Fixture.Log, CheckWithin: d,
		Address: func(r *http.Request) string { return r.RemoteAddr }})
}

// A tenant whose applications take all places that it may have keeps no other tenant waiting.
func TestChecksOfATenantKeepNoOtherWaiting(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.checkWithin(time.Millisecond)
	acme, globex := b.bearer(partner), b.bearer("globex@example.com")
	mine, theirs := application(t, code, fine(t)), application(t, "OTHER", []answered{})
	taken := int64(0)
	for b.Runtime.Checks.TryAcquire("acme", 1) {
		taken++
	}
	require.Positive(t, taken)
	w := b.apply(mine, acme...)
	b.requireError(w, http.StatusTooManyRequests,
		"too many applications are being checked: send the same again in a moment", "null")
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	b.requireTaken(b.apply(theirs, globex...))
	b.Runtime.Checks.Release("acme", taken)
	b.requireTaken(b.apply(mine, acme...))
}
