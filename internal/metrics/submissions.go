package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hiregate/hiregate/internal/model"
)

var (
	submissions = collected(newStanding("hiregate_submissions",
		"Submissions whose content is kept, by state: waiting, delivered, refused, failed, suspected, resolved.", "tenant", "state"))
	oldestSubmission = collected(newStanding("hiregate_submissions_oldest_waiting_seconds",
		"Age of a tenant's oldest submission that waits for its service. Absent: none waits.", "tenant"))
	submissionAttempts = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_submission_attempts_total",
		Help: "Attempts of submissions by tenant and the state that each led to; waiting: there will be another.",
	}, []string{"tenant", "state"}))
)

// SubmissionAttempted counts an attempt of a submission, by the state that it led to.
func SubmissionAttempted(tenant string, state model.SubmissionState) {
	submissionAttempts.WithLabelValues(tenants.value(tenant), string(state)).Inc()
}

// Submissions sets how many submissions of relayed tenants there are, and for how long the oldest one that waits does.
func Submissions(counts map[string]map[model.SubmissionState]int64, waiting map[string]time.Duration) {
	next, oldest := standings{}, standings{}
	for tenant, states := range counts {
		for _, state := range model.SubmissionStates {
			next[[3]string{tenants.value(tenant), string(state)}] += float64(states[state])
		}
	}
	for tenant, age := range waiting {
		labels := [3]string{tenants.value(tenant)}
		oldest[labels] = max(oldest[labels], age.Seconds())
	}
	submissions.set(next)
	oldestSubmission.set(oldest)
}
