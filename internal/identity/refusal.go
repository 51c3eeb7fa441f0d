package identity

import (
	"net/url"
	"time"
)

// Refusal counts refused authorization requests of one kind, which must not lead anywhere. It has nothing of the person
// who was signing in.
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

// RefusalReasons are all of them.
var RefusalReasons = []string{UnknownClient, DisabledClient, RedirectURIDiffers, RedirectURINotUnique}

const (
	maxRefusedClient = 100
	maxRefusedURI    = 200
)

// NewRefusal returns a refusal of a request that anyone may have sent: its texts are cut, and parts that may be
// personal or secret are left out.
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

// bare returns a URL without user, query and fragment; a mark shows that there was a query or a fragment.
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
