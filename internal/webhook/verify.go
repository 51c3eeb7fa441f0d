package webhook

import (
	"crypto/rand"

	"github.com/hiregate/hiregate/internal/hiring"
)

// Verification is the VERIFY event that asks an integration whether it is there, with the signature sets it wants. Each has a
// webhook-id of its own.
func (n Names) Verification(i *hiring.Integration) Delivery {
	d := Delivery{URL: i.URL, Secret: i.Secret.Reveal(), Event: EventVerify, Body: n.VerifyBody()}
	if i.StandardWebhooks {
		d.WebhookID = rand.Text()
	}
	return d
}
