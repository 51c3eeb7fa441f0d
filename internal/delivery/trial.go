package delivery

import (
	"context"
	"net/http"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
)

// Trial is the last request to an integration that was tried with an export that is stored nowhere, and its answer.
type Trial struct {
	Event   string      // webhook.EventVerify where that was not answered with 200: the export was not sent then
	Header  http.Header // of the request, without those of the integration's authentication
	Body    []byte
	Attempt *model.Attempt
}

// Try sends an export, whose body is as it goes out, to an integration: signed, with the headers and through the guard
// of every attempt. One that is not verified, or disabled, gets VERIFY first, and the export after its 200 only
// (contract, "States and transitions"). It passes no gate, is not counted, and changes nothing, whatever the answer is.
func Try(ctx context.Context, c *config.Config, e *model.Export, i *model.Integration, s store.IntegrationStatus) Trial {
	seen := &recorder{next: c.Client(i).Transport}
	client := &http.Client{Transport: seen}
	if i.Verify && !s.Deliverable(i) {
		verify := c.Names.Verification(i)
		answer, err := c.Names.Send(ctx, client, verify)
		attempt := judge(answer, err)
		if reason := answer.RefusalOfVerify(i.URL); err == nil && reason != "" {
			attempt.Fault, attempt.Error = model.ClassPartnerFault, reason
		}
		if attempt.Error != "" {
			return Trial{Event: verify.Event, Header: seen.header, Body: verify.Body, Attempt: attempt}
		}
	}
	answer, err := c.Names.Send(ctx, client, outgoing(ctx, e, i, e.Body, s.ByFormer))
	return Trial{Event: webhook.EventExport, Header: seen.header, Body: e.Body, Attempt: judge(answer, err)}
}

// recorder keeps the header of the request that it passes on.
type recorder struct {
	next   http.RoundTripper
	header http.Header
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.header = req.Header.Clone()
	return r.next.RoundTrip(req)
}
