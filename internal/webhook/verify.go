package webhook

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"

	"github.com/hiregate/hiregate/internal/model"
)

// Verification is the VERIFY event that asks an integration whether it is there, with the signature sets it wants. Each
// has a webhook-id of its own. The former secret of a rotation signs none: that would say nothing about the new one.
func (n Names) Verification(i *model.Integration) Delivery {
	d := Delivery{URL: i.URL, Secret: i.Secret.Reveal(), Event: EventVerify, Body: n.VerifyBody()}
	if i.StandardWebhooks {
		d.WebhookID = rand.Text()
	}
	return d
}

// Verify sends a VERIFY event to an integration and returns why that is not configured: a sentence, empty when it
// answered exactly 200 (contract, "States and transitions"). When no answer came, answer has no status. The error says
// that the attempt was cancelled, which is nobody's failure.
func (n Names) Verify(ctx context.Context, client *http.Client,
	i *model.Integration) (answer Answer, reason string, err error) {
	answer, err = n.Send(ctx, client, n.Verification(i))
	failed := new(SendError)
	switch {
	case errors.As(err, &failed):
		return answer, err.Error(), nil
	case err != nil:
		return answer, "", err
	}
	return answer, answer.RefusalOfVerify(), nil
}

// RefusalOfVerify returns the sentence about an answer to VERIFY that is not 200; empty: it is 200.
func (a Answer) RefusalOfVerify() string {
	switch {
	case a.RefusesCredentials():
		return "VERIFY was " + a.RefusalOfCredentials()
	case !a.Verified():
		return fmt.Sprintf("VERIFY was answered %d; it must be exactly 200", a.Status)
	}
	return ""
}
