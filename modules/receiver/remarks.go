package receiver

import (
	"net/http"

	"github.com/hiregate/hiregate/internal/webhook"
)

// noteRefusal notes that an export of the service was refused, for what is the matter with it: a stranger's is not its,
// and what found no room here comes again.
func (in *intake) noteRefusal(result string) {
	if !in.signed || in.refused == nil || in.refused.Status >= http.StatusInternalServerError ||
		in.eventLabel == webhook.EventVerify {
		return
	}
	rule, pointer := in.refused.Detail, ""
	if len(in.faults) > 0 {
		rule, pointer = in.faults[0].Rule, in.faults[0].Pointer
	}
	in.Gateway.Runtime.Remarks.Refused(in.tenant.Name, result, rule, pointer, in.Gateway.Now())
}

// noteDeviations notes each deviation of an accepted export once.
func (in *intake) noteDeviations() {
	seen := map[string]bool{}
	for _, f := range in.deviations {
		if !seen[f.Deviation] {
			seen[f.Deviation] = true
			in.Gateway.Runtime.Remarks.Deviation(in.tenant.Name, f.Deviation, f.Pointer, in.Gateway.Now())
		}
	}
}
