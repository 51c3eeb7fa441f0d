package console

import (
	"net/http"

	"github.com/hiregate/hiregate/internal/session"
)

// signOut ends the session here, and the one at our own sign-in. It leads to another provider to end the session
// there.
func (c *Console) signOut(w http.ResponseWriter, r *http.Request) {
	site, ended := c.site(), (*session.Session)(nil)
	who, err := c.caller(r)
	if err != nil { // somebody who may still be signed in must not read that they are not
		c.fail(w, r, nil, err)
		return
	}
	if who != nil && who.Portal == nil {
		ended = &who.Session
	}
	shown, err := site.SignOut(w, r, ended)
	if err != nil {
		c.fail(w, r, nil, err)
		return
	}
	site.SetCookie(w, c.cookie+"-portal", "", 0)
	if shown.Next != "" { // not a redirect: browsers hold the policy's form-action against that
		w.Header().Set("Refresh", "0; url="+shown.Next)
	}
	v := &visitor{Request: r, w: w, console: c, texts: textsFor(r)}
	if err := v.page(http.StatusOK, "signed-out", "SignedOut", shown); err != nil {
		c.fail(w, r, nil, err)
	}
}

// backChannelLogout ends sessions because the provider says that theirs have ended there.
func (c *Console) backChannelLogout(w http.ResponseWriter, r *http.Request) {
	c.site().BackChannelLogout(w, r)
}
