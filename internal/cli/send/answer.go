package send

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

// answer is the answer to one request; with --json it is one line.
type answer struct {
	Kind              string            `json:"kind"` // "answer"
	Event             string            `json:"event"`
	UUID              string            `json:"uuid,omitempty"`
	SentAt            time.Time         `json:"sentAt"`
	Millis            float64           `json:"millis"`
	Status            int               `json:"status,omitempty"` // absent: no answer came
	Accepted          bool              `json:"accepted"`         // 2xx with a receipt; for VERIFY exactly 200
	Receipt           string            `json:"receipt,omitempty"`
	RetryAfterSeconds float64           `json:"retryAfterSeconds,omitempty"`
	Message           string            `json:"message,omitempty"` // what a refusal said
	Findings          []schemas.Finding `json:"findings,omitempty"`
	Error             string            `json:"error,omitempty"`       // a sentence: why no answer came
	Interrupted       bool              `json:"interrupted,omitempty"` // stopped before the answer came

	took time.Duration
}

// maxMessage bounds how much of a refusal that is not our JSON is shown.
const maxMessage = 300

// newAnswer makes a line of the answer to a delivery. It shows the receiver's body where that gives a reason; a
// receiver that is not hiregate may answer anything or nothing. any2xx: a receiver need not give a receipt.
func newAnswer(d webhook.Delivery, got webhook.Answer, err error, timeout time.Duration, any2xx bool) *answer {
	a := &answer{
		Kind: "answer", Event: d.Event, UUID: string(d.UUID), SentAt: got.Started.UTC(), Millis: millis(got.Duration),
		Status: got.Status, RetryAfterSeconds: got.RetryAfter.Seconds(), took: got.Duration,
	}
	switch {
	case errors.Is(err, context.Canceled):
		a.Interrupted = true
		return a
	case err != nil:
		a.Error = sendSentence(err, timeout)
		return a
	}
	a.Accepted = got.Acknowledged()
	if d.Event == webhook.EventVerify {
		a.Accepted = got.Verified()
	}
	var known struct {
		Receipt  string            `json:"receipt"`
		Detail   string            `json:"detail"` // of a problem (RFC 9457), as hiregate refuses
		Message  string            `json:"message"`
		Error    string            `json:"error"`
		Findings []schemas.Finding `json:"findings"`
	}
	// Any shape is fine; what fits is used.
	_ = json.Unmarshal(got.Head, &known)
	a.Receipt, a.Findings = known.Receipt, known.Findings
	if d.Event != webhook.EventVerify && a.Accepted && a.Receipt == "" && !any2xx {
		a.Accepted = false
		a.Message = "there is no receipt in the answer, so no gateway stored the export: check the path in the URL " +
			"(Caddy answers an unknown one with 200), or add --any-2xx if the receiver is no gateway"
		return a
	}
	switch {
	case got.Acknowledged():
		if !a.Accepted {
			a.Message = "VERIFY wants exactly 200"
		}
	case got.Status/100 == 3:
		a.Message = "a redirect is not followed and counts as not received"
	case cmp.Or(known.Detail, known.Message, known.Error) != "":
		a.Message = cmp.Or(known.Detail, known.Message, known.Error)
	case got.Status == http.StatusUnauthorized && len(got.Head) == 0:
		a.Message = "the receiver does not take the signature; check --secret"
	case got.Status == http.StatusNotFound && len(got.Head) == 0:
		a.Message = "nothing is at this address: check the path in the URL, such as /hooks/acme"
	case !json.Valid(got.Head):
		a.Message = strings.TrimSpace(strings.ToValidUTF8(string(got.Head[:min(len(got.Head), maxMessage)]), ""))
	}
	return a
}

// reason says in a line why it was not acknowledged.
func (a *answer) reason() string {
	switch {
	case a.Error != "":
		return a.Error
	case a.Message != "":
		return terminal.StatusText(a.Status) + ": " + a.Message
	default:
		return terminal.StatusText(a.Status)
	}
}

// print shows the answer to a person.
func (a *answer) print(w io.Writer) error {
	switch {
	case a.Interrupted:
		fmt.Fprintln(w, "interrupted before an answer came")
	case a.Status == 0:
		fmt.Fprintln(w, terminal.Printable(a.Error))
	default:
		fmt.Fprintf(w, "%s in %s", terminal.StatusText(a.Status), terminal.FormatDuration(a.took))
		if why := cmp.Or(a.Error, a.Message); why != "" {
			fmt.Fprint(w, ": ", terminal.Printable(why))
		}
		fmt.Fprintln(w)
	}
	table := terminal.NewTable(w)
	table.Row("  event", a.Event)
	if a.UUID != "" {
		table.Row("  uuid", a.UUID)
	}
	if a.Receipt != "" {
		table.Row("  receipt", a.Receipt)
	}
	if a.RetryAfterSeconds > 0 {
		table.Row("  retry after", time.Duration(a.RetryAfterSeconds*float64(time.Second)))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(a.Findings) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table = terminal.NewTable(w, "at", "rule", "found")
	for _, f := range a.Findings {
		table.Row(f.Pointer, f.Rule, f.Found)
	}
	return table.Flush()
}

// sendSentence says why a request got no answer, and what to do about it.
func sendSentence(err error, timeout time.Duration) string {
	var (
		failed *webhook.SendError
		record tls.RecordHeaderError
	)
	if !errors.As(err, &failed) {
		return err.Error()
	}
	switch {
	case failed.Kind == webhook.KindTimeout:
		return fmt.Sprintf("no answer from %s within %s: look at the receiver, or raise --timeout", failed.Host, timeout)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("nothing listens at %s: start the receiver, or check the port in the URL", failed.Host)
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/":
		return fmt.Sprintf("%s speaks plain HTTP: write http:// instead of https:// in the URL", failed.Host)
	default:
		return failed.Error()
	}
}
