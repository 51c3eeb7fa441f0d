package manageapi

import (
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// testReceiver sends VERIFY to an integration as the request describes it, and stores nothing. One that is there has its
// own URL, secret and credentials where the request leaves them out.
func testReceiver(r *rest.Request) (any, error) {
	in, err := rest.Decode[api.IntegrationInput](r)
	if err != nil {
		return nil, err
	}
	if err := changeable(r.Tenant); err != nil {
		return nil, err
	}
	before, _ := r.Tenant.Integration(in.Name)
	i, err := describedIntegration(r, r.Tenant, before, in)
	if err == nil {
		err = mayTest(r)
	}
	if err != nil {
		return nil, err
	}
	answer, reason, err := askReceiver(r, i)
	if err != nil {
		return nil, err
	}
	return api.ReceiverTest{Verified: reason == "", Transcript: transcriptOf(r, answer, reason)}, nil
}

// mayTest refuses a test above the rate of tests.
func mayTest(r *rest.Request) error {
	if wait := r.Gateway.Runtime.Tests.Take(r.Caller.ID, r.Gateway.Now()); wait > 0 {
		return problem.New(http.StatusTooManyRequests,
			"too many tests in a minute: send this one again after the time in Retry-After").RetryAfter(wait)
	}
	return nil
}

// askReceiver sends a VERIFY event (contract, "States and transitions"), and returns the answer and why it does not do;
// empty: it is exactly 200.
func askReceiver(r *rest.Request, i *model.Integration) (answer webhook.Answer, reason string, err error) {
	c := r.Gateway.Config
	client := c.ClientOnce(i)
	defer client.CloseIdleConnections()
	answer, reason, err = c.Names.Verify(r.Context(), client, i)
	if err != nil {
		err = problem.New(http.StatusServiceUnavailable,
			"the verification was interrupted: send the request again").RetryAfter(time.Second)
	}
	return answer, reason, err
}

// withheld is the reason that callers of one tenant get for an answer from a private address: forms must be no way to look
// around in the operator's network.
const withheld = "what an address answers that is not public is shown to administrators of all tenants: ask one of them"

// transcriptOf returns what the caller sees of an answer to VERIFY.
func transcriptOf(r *rest.Request, answer webhook.Answer, reason string) api.Transcript {
	t := api.Transcript{SentAt: answer.Started.UTC(), Reason: reason}
	t.Why = model.ParseReason(reason)
	refused := t.Why != nil && t.Why.Code == "egress_refused"
	to, err := netip.ParseAddrPort(answer.Address)
	private := err == nil && !egress.Public(to.Addr())
	if private && r.Caller.Tenant != "" {
		if !refused { // of which the sentence names no address
			t.Withheld = true
			if reason != "" {
				t.Reason, t.Why = withheld, nil
			}
		}
		return t
	}
	shown := answers{signatures: r.Caller.Signatures}
	t.DurationMs, t.Status, t.Address = milliseconds(answer.Duration), answer.Status, answer.Address
	t.Phases = phasesOf(answer.Phases)
	t.Answer, t.Header = shown.text(answer.Head, shortAnswer), shown.text(answer.Header, shortAnswer)
	if answer.Status == 0 {
		t.Error = reason
	}
	if refused && private {
		t.Allow = fmt.Sprintf("egress allow %v %d", to.Addr(), to.Port())
	}
	return t
}
