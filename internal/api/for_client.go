package api

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// told are the fields of an answer's header with which a client finds the request in its log.
var told = []string{"Date", "X-Request-Id", "X-Correlation-Id", "Request-Id", "Traceparent", "Cf-Ray"}

// ForClient returns what a client is told about an attempt at one of its systems: plain text to be copied, without secrets
// and without anything of a candidate. The text of the answer, which may repeat some of that, is in it on request.
func (e *ExportDetail) ForClient(d *DeliveryDetail, a *Attempt, answer bool) string {
	var b strings.Builder
	line := func(format string, values ...any) { fmt.Fprintf(&b, format+"\n", values...) }
	const moment = "2006-01-02 15:04:05 UTC"
	if a.Class == model.ClassDelivered {
		line("An export to your system was accepted\n")
	} else {
		line("An export to your system was not accepted\n")
	}
	line("UUID: %s", e.ID)
	line("Attempt: %d, sent %s", a.Number, a.StartedAt.UTC().Format(moment))
	line("To: %s, by POST\n", d.Integration)
	took := (time.Duration(a.DurationMs) * time.Millisecond).String()
	if a.Status == 0 {
		line("No answer came in %s: %s", took, a.Error)
	} else {
		line("You answered after %s: %d %s", took, a.Status, http.StatusText(a.Status))
	}
	for field := range strings.Lines(a.Header) {
		for _, name := range told {
			if strings.HasPrefix(strings.ToLower(field), strings.ToLower(name)+": ") {
				line("%s", strings.TrimSpace(field))
			}
		}
	}
	if answer && a.Answer != "" {
		line("\n%s", strings.TrimSpace(a.Answer))
	}
	switch {
	case d.Outcome == model.Retrying && !d.NextAt.IsZero():
		line("\nNext: the same body again, at %s", d.NextAt.UTC().Format(moment))
	case d.Outcome == model.Delivered:
		line("\nIt was accepted at a later attempt.")
	case d.Outcome == model.Held:
		line("\nNext: it is held, and goes out once your system takes exports again.")
	case d.Outcome != model.Pending && a.Class != model.ClassDelivered:
		line("\nNext: nothing by itself. Tell us once it is mended, and we send it again.")
	}
	line("\nTo check the signature, take the body as it came:\n  openssl dgst -sha256 -hmac \"$SECRET\" body.json\nand compare that " +
		"with the signature in the header of the request.\nIf it differs, so does the secret, or the body was changed on its way.")
	return b.String()
}
