package console

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/access"
)

// askTime is how long a browser in which a person signed out has the provider ask who they are.
const askTime = 30 * 24 * time.Hour

// askAgain is the name of the cookie for that. The provider's own session may still be there.
func (c *Console) askAgain() string { return c.cookie + "-ask" }

// signedOut is the template data of the page after signing out.
type signedOut struct {
	Ours bool   // from our own sign-in as well
	Next string // the address at which they sign out at their provider; empty: none is known
}

// signOut ends the session here, and the one at our own sign-in. It leads to another provider to end the session
// there.
func (c *Console) signOut(w http.ResponseWriter, r *http.Request) {
	s, err := c.session(r)
	if err != nil { // somebody who may still be signed in must not read that they are not
		c.fail(w, r, nil, err)
		return
	}
	var shown signedOut
	if s != nil && s.Portal == nil {
		if err := c.end(r, s); err != nil {
			c.fail(w, r, nil, err)
			return
		}
		if shown.Ours = s.ours(); !shown.Ours {
			if found, err := c.Issuer.Discover(r.Context()); err == nil {
				shown.Next = found.EndSessionURL(s.IDToken)
			}
		}
		c.setCookie(w, c.askAgain(), "1", askTime)
	}
	c.setCookie(w, c.cookie, "", 0)
	c.setCookie(w, c.cookie+"-portal", "", 0)
	if shown.Next != "" { // not a redirect: browsers hold the policy's form-action against that
		w.Header().Set("Refresh", "0; url="+shown.Next)
	}
	v := &visitor{Request: r, w: w, console: c, texts: textsFor(r)}
	if err := v.page(http.StatusOK, "signed-out", "SignedOut", shown); err != nil {
		c.fail(w, r, nil, err)
	}
}

// backChannelLogout ends sessions because the provider says that theirs have ended there (OpenID Connect Back-Channel
// Logout 1.0 section 2.5). The provider itself asks: there is no cookie.
func (c *Console) backChannelLogout(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	l, err := c.Issuer.ReadLogout(r.Context(), r.PostFormValue("logout_token"))
	if err == nil {
		var ended int64
		told := access.Logout{Console: c.URL, Issuer: c.Issuer.Issuer, Subject: l.Subject, SID: l.SID,
			Token: sha256.Sum256([]byte(c.URL + "\x00" + c.Issuer.Issuer + "\x00" + l.ID)),
			Till:  l.At.Add(2 * oidcclient.LogoutAge)}
		err = c.db().Write(r.Context(), func(tx *store.Tx) (err error) {
			ended, err = tx.EndConsoleSessions(told)
			return err
		})
		if err == nil {
			c.Log.Info("the provider signed somebody out of the console", zap.Int64("sessions", ended))
			return
		}
	}
	if errors.Is(err, store.ErrTaken) {
		err = oidcclient.ErrLogoutToken
	}
	status, description := http.StatusServiceUnavailable, "the logout token can't be checked now: send it again"
	if errors.Is(err, oidcclient.ErrLogoutToken) {
		status, description = http.StatusBadRequest, "the logout token is not valid, or was used before"
	}
	c.Log.Warn("a logout token of the provider is refused", zap.Error(err))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": "invalid_request", "error_description": description})
}
