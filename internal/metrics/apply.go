package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	applications = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_applications_total", Help: "Applications to the Apply API by tenant and result: accepted, " +
			"repeated, invalid (their answers), refused, failed.",
	}, []string{"tenant", "result"}))
	invalidAnswers = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_application_invalid_answers_total",
		Help: "Answers that failed validation, by the question's format; unknown stands for a question that " +
			"the job does not ask.",
	}, []string{"format"}))
	applicationBytes = collected(prometheus.NewCounter(prometheus.CounterOpts{
		Name: "hiregate_application_body_bytes_total", Help: "Bytes of submissions' bodies that were read.",
	}))
	applicationSeconds = collected(prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "hiregate_application_seconds", Help: "Time from the end of an application's body to its answer.",
		Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20, 40},
	}))
	tokens = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_apply_tokens_total", Help: "Requests for a token of the Apply API by result: issued, " +
			"wrong, throttled, failed.",
	}, []string{"result"}))
	formExpired = collected(prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "hiregate_compliance_form_expired",
		Help: "1 when the form of a compliance group that was served last had expired, else 0.",
	}, []string{"group"}))
)

// Application counts a submission and the bytes of its body.
func Application(tenant, result string, bytes int64) {
	applications.WithLabelValues(tenants.value(tenant), result).Inc()
	applicationBytes.Add(float64(bytes))
}

// ApplicationAnswered observes how long a submission waited for its answer, from the end of its body.
func ApplicationAnswered(d time.Duration) { applicationSeconds.Observe(d.Seconds()) }

// InvalidAnswer counts an answer that failed, by its question's format; Unknown when the job has no such question.
func InvalidAnswer(format string) { invalidAnswers.WithLabelValues(format).Inc() }

// TokenIssued counts a token that was issued.
func TokenIssued() { tokens.WithLabelValues("issued").Inc() }

// TokenRefused counts a token that was not, by the answer's status.
func TokenRefused(status int) {
	result := "failed"
	switch status {
	case http.StatusUnauthorized:
		result = "wrong"
	case http.StatusTooManyRequests:
		result = "throttled"
	}
	tokens.WithLabelValues(result).Inc()
}

// ComplianceForm sets whether the form of a compliance group has expired.
func ComplianceForm(group string, expired bool) {
	formExpired.WithLabelValues(group).Set(number(expired))
}
