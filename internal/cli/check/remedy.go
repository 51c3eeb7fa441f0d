package check

import (
	"errors"
	"net/http"

	"github.com/hiregate/hiregate/internal/webhook"
)

// remedy returns what to do about an answer, or about none. do is for what the request tried, which is not the reason of each answer.
func (a attempt) remedy(do string) string {
	const readLog = "look into the receiver's log: "
	var failed *webhook.SendError
	switch {
	case !errors.As(a.err, &failed):
	case failed.Kind == webhook.KindTimeout:
		return "store the export, answer, and work afterwards"
	case failed.Kind == webhook.KindConnect:
		return "start the receiver again if it ended, and look into its log: the request did not reach it"
	case failed.Kind == webhook.KindClosed:
		return readLog + "the request made it close the connection; " + do
	case failed.Kind == webhook.KindTLS:
		return "correct the certificate, or the scheme of the URL; an authority of your own is given with --authentication-file"
	case failed.Kind == webhook.KindProtocol:
		return readLog + "its answer breaks off or is not HTTP; or correct the URL"
	default: // the error is a sentence with what to do
		return "correct the URL"
	}
	switch {
	case a.Status/100 == 3:
		return "answer at this URL, or check the one that it redirects to: the service follows no redirect"
	case a.Status == http.StatusTooManyRequests, a.Status == http.StatusServiceUnavailable && a.RetryAfter > 0:
		return "answer so with a Retry-After of a few seconds, after which the request is taken; or take more requests"
	case a.Status/100 == 5:
		return readLog + "it failed with this request; " + do
	}
	return do
}

// plainRemedy returns what to do about the answer to a delivery that has nothing special.
func (a attempt) plainRemedy(do string) string {
	switch a.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		switch scheme := a.WantedScheme(); scheme {
		case "":
		case "Basic":
			return "the receiver asks for a user name and a password: give them with --authentication-file"
		default:
			return "the receiver asks for the authentication scheme " + scheme + ": give it with --authentication-file"
		}
		do += "; or name the file of the receiver's secret with --secret: hiregate signature explain says what differs"
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		do += "; or correct the URL: what is there takes no deliveries"
	}
	return a.remedy(do)
}
