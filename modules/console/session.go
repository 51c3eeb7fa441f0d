package console

import (
	"net/http"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/session"
	"github.com/hiregate/hiregate/internal/store"
)

// sessionTime is how long a session lasts. Then the browser goes to the provider once more, which asks nothing while
// its own session lasts: whoever was disabled there is out within this time, if the provider does not tell us before.
const sessionTime = time.Hour

// caller is somebody who is signed in, or came by a link.
type caller struct {
	session.Session
	Portal *gateway.Portal // what a link lets its visitors see; they are not signed in
}

// site returns the place where people are signed in to the console.
func (c *Console) site() *session.Site {
	return &session.Site{Address: c.URL, Callback: c.URL + callbackPath, Cookie: c.cookie, Life: sessionTime,
		Provider: c.Issuer, Vault: c.Vault, Store: c.db, Now: c.Gateway.Now, From: c.Address, Log: c.Log,
		Named: func(group string) bool {
			return slices.ContainsFunc(c.Grants, func(g Grant) bool { return slices.Contains(g.Groups, group) })
		}}
}

// caller returns who makes a request; nil: there is no session, or it has ended. It is looked up each time, so that
// what ends a session is in force at the next request, on each node.
func (c *Console) caller(r *http.Request) (*caller, error) {
	found, err := c.site().Find(r)
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return c.visitorOfPortal(r)
	}
	return &caller{Session: *found}, nil
}

func (c *Console) db() *store.DB { return c.Gateway.Runtime.Store() }
