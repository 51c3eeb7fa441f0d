package webhook

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

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
	return answer, answer.RefusalOfVerify(i.URL), nil
}

// RefusalOfVerify returns the sentence about the answer of an address to VERIFY that is not 200; empty: it is 200.
func (a Answer) RefusalOfVerify(address string) string {
	to := a.field("Location")
	switch {
	case a.Verified():
		return ""
	case doubledSlash(address) && (a.Status/100 == 3 || a.Status == http.StatusNotFound):
		return fmt.Sprintf("VERIFY was answered %d, and the URL's path has a doubled slash: leave one of the two out", a.Status)
	case a.Status/100 == 3 && to != "":
		return fmt.Sprintf("VERIFY was answered %d, which leads to %s: redirects are not followed; often that is a login page, "+
			"which has to let this URL through", a.Status, originFrom(address, to))
	case a.RefusesCredentials() && a.WantedScheme() != "":
		return fmt.Sprintf("VERIFY was answered %d: it asks for the authentication scheme %s; give or correct it in the "+
			"integration's authentication", a.Status, a.WantedScheme())
	case a.RefusesCredentials():
		return fmt.Sprintf("VERIFY was answered %d: it does not accept the signature or the credentials; check the "+
			"integration's secret and authentication", a.Status)
	}
	return fmt.Sprintf("VERIFY was answered %d; it must be exactly 200", a.Status)
}

// WantedScheme returns the authentication scheme that the answer asks for (RFC 9110 section 11.6.1); empty: it asks for
// none.
func (a Answer) WantedScheme() string {
	scheme, _, _ := strings.Cut(a.field("Www-Authenticate"), " ")
	if len(scheme) > maxScheme {
		return ""
	}
	return scheme
}

// maxScheme bounds the name of an authentication scheme, in bytes: the receiver writes it.
const maxScheme = 32

// field returns the first value of a field of the answer's header; empty: it has none.
func (a Answer) field(name string) string {
	for line := range strings.Lines(string(a.Header)) {
		if value, ok := strings.CutPrefix(line, name+": "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// doubledSlash reports whether the path of an address has two slashes in a row.
func doubledSlash(address string) bool {
	u, err := url.Parse(address)
	return err == nil && strings.Contains(u.Path, "//")
}

// originFrom returns scheme and host of what an address leads to: the rest may be a credential.
func originFrom(address, to string) string {
	u, err := url.Parse(address)
	if err == nil {
		u, err = u.Parse(to)
	}
	if err != nil || len(u.Host) > 253 { // as long as a host's name can be
		return "an address that can't be read"
	}
	return u.Scheme + "://" + u.Host
}
