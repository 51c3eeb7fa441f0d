package identity

import (
	"net/url"
	"time"
)

// Refusal is an authorization request that was refused because it may lead nowhere: how often, and when. It has nothing
// of the person who was signing in.
type Refusal struct {
	ID          int64
	Client      string // as it was sent, at most 100 visible ASCII characters; empty: none that could be one
	Known       bool   // whether there is such a client
	Reason      string // one of the reasons below
	RedirectURI string // without user, query and fragment, about 200 characters; empty: none, or no URL
	Count       int64
	FirstAt     time.Time
	LastAt      time.Time
}

// The reasons of a Refusal.
const (
	UnknownClient        = "unknown_client"
	DisabledClient       = "disabled_client"
	RedirectURIDiffers   = "redirect_uri_differs"
	RedirectURINotUnique = "redirect_uri_missing_or_repeated"
)

const (
	maxRefusedClient = 100
	maxRefusedURI    = 200
)

// NewRefusal makes an entry of what anybody may have sent: it is cut, and what may be personal or secret is left out.
func NewRefusal(client string, known bool, reason, redirectURI string, at time.Time) Refusal {
	r := Refusal{Client: client, Known: known, Reason: reason, Count: 1, FirstAt: at, LastAt: at}
	if len(client) > maxRefusedClient || !visible(client) {
		r.Client = ""
	}
	if u, err := url.Parse(redirectURI); err == nil && u.Host != "" {
		r.RedirectURI = bare(u)
	}
	return r
}

// bare is a URL without user, query and fragment; a mark tells that there was one of the latter two.
func bare(u *url.URL) string {
	text := u.Scheme + "://" + u.Host + u.EscapedPath()
	if !visible(text) {
		return ""
	}
	text = text[:min(len(text), maxRefusedURI)]
	switch {
	case u.RawQuery != "" || u.ForceQuery:
		text += "?..."
	case u.Fragment != "":
		text += "#..."
	}
	return text
}

func visible(text string) bool {
	for n := range len(text) {
		if text[n] <= ' ' || text[n] > '~' {
			return false
		}
	}
	return true
}
