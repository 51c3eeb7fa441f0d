package metrics

import (
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/webhook"
)

// A counter with labels begins with its first event, and a rate does not see a beginning: what an alert watches has to be
// there with 0 before.

// watched are the results of webhook requests that alerts watch, by event.
var watched = map[string][]string{
	webhook.EventExport: {"accepted", "quarantined", "rate", "header", "malformed", "invalid", "loop", "conflict", "unavailable"},
	webhook.EventVerify: {"unavailable"},
	Unknown:             {"event", "unavailable"},
}

func init() {
	for _, result := range []string{"started", "repeated", "unavailable", "refused", "lost"} {
		dispatched.WithLabelValues(result)
	}
	for _, result := range []string{"issued", "wrong", "throttled", "failed"} {
		tokens.WithLabelValues(result)
	}
	for _, reason := range identity.RefusalReasons {
		signInRefused.WithLabelValues(reason)
	}
}

// begin has the counters of a tenant begin with 0, by its label.
func begin(tenant string) {
	for event, results := range watched {
		for _, result := range results {
			received.WithLabelValues(tenant, event, result)
		}
	}
	for _, result := range []string{"accepted", "repeated", "invalid", "refused", "failed"} {
		applications.WithLabelValues(tenant, result)
	}
	documentsUnreadable.WithLabelValues(tenant)
}

// WorkflowFaults has the counters of a workflow or an activity begin with 0, by the reasons for which its code can fail.
func WorkflowFaults(name string, reasons ...string) {
	for _, reason := range reasons {
		workflowFaults.WithLabelValues(name, reason)
	}
}
