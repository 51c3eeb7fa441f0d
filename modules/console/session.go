package console

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/relying"
)

const (
	// sessionTime is how long a session lasts. Then the browser goes to the provider once more, which asks nothing while
	// its own session lasts: whoever was disabled there is out within this time.
	sessionTime = time.Hour
	visitTime   = 15 * time.Minute // how long a person may take to sign in
	maxReturn   = 2 << 10          // bytes of the address to come back to; a longer one is forgotten

	forSessions = "hiregate sessions of the console"
	forVisits   = "hiregate tickets of who signs in to the console"
)

// session is what the cookie of somebody who is signed in holds.
type session struct {
	Subject string
	Name    string
	Email   string // verified by the provider; empty: none is
	Groups  []string
	Till    time.Time
	Portal  *gateway.Portal // what a link lets its visitors see; they are not signed in
}

// visit is what a cookie holds of somebody who is at the provider.
type visit struct {
	relying.Visit
	To   string // where they wanted to go
	Till time.Time
}

// session returns the session of a request; false: there is none, or it has ended.
func (c *Console) session(r *http.Request) (*session, bool) {
	cookie, err := r.Cookie(c.cookie)
	s := new(session)
	if err != nil || !c.Vault.OpenTicket(forSessions, c.URL, cookie.Value, s) || !c.Gateway.Now().Before(s.Till) {
		return c.visitorOfPortal(r)
	}
	return s, true
}

// toSignIn leads to sign-in, and from there back to the page that was asked for. What a form wanted is not kept.
func (c *Console) toSignIn(w http.ResponseWriter, r *http.Request) {
	to := "/"
	if r.Method == http.MethodGet && len(r.URL.RequestURI()) <= maxReturn {
		to = r.URL.RequestURI()
	}
	redirect(w, r, c.mount+signInPath+"?"+url.Values{"to": {to}}.Encode())
}

// signIn sends the browser to the provider.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	found, err := c.Issuer.Discover(r.Context())
	if err == nil && c.Own {
		err = c.register(r.Context())
	}
	if err != nil {
		c.signInFailed(w, r, err)
		return
	}
	to := r.URL.Query().Get("to")
	// A path of our own: not //elsewhere, nor what browsers read like that.
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\t\r\n") ||
		len(to) > maxReturn {
		to = "/"
	}
	v := visit{Visit: relying.NewVisit(), To: to, Till: c.Gateway.Now().Add(visitTime)}
	ticket, err := c.Vault.SealTicket(forVisits, c.URL, v)
	if err != nil {
		c.fail(w, r, nil, err)
		return
	}
	c.setCookie(w, c.cookie+"-visit", ticket, visitTime)
	redirect(w, r, found.AuthCodeURL(c.URL+callbackPath, v.Visit))
}

// callback takes the browser back from the provider.
func (c *Console) callback(w http.ResponseWriter, r *http.Request) {
	var v visit
	cookie, err := r.Cookie(c.cookie + "-visit")
	state := r.URL.Query().Get("state")
	if err != nil || !c.Vault.OpenTicket(forVisits, c.URL, cookie.Value, &v) || !c.Gateway.Now().Before(v.Till) ||
		subtle.ConstantTimeCompare([]byte(state), []byte(v.State)) == 0 {
		c.fail(w, r, nil, errSignIn)
		return
	}
	c.setCookie(w, cookie.Name, "", 0)
	them, err := c.Issuer.Redeem(r.Context(), r.URL.Query(), c.URL+callbackPath, v.Visit)
	if err == nil {
		err = c.Issuer.Complete(r.Context(), them)
	}
	if err != nil {
		c.signInFailed(w, r, err)
		return
	}
	s := session{Subject: them.Subject, Name: them.Name, Groups: them.Groups, Till: c.Gateway.Now().Add(sessionTime)}
	if them.EmailVerified {
		s.Email = them.Email
	}
	ticket, err := c.Vault.SealTicket(forSessions, c.URL, s)
	if err != nil {
		c.fail(w, r, nil, err)
		return
	}
	c.setCookie(w, c.cookie, ticket, sessionTime)
	redirect(w, r, c.mount+v.To)
}

func (c *Console) signInFailed(w http.ResponseWriter, r *http.Request, err error) {
	c.Log.Warn("nobody could be signed in to the console", zap.Error(err))
	c.fail(w, r, nil, errUpstream)
}

// signOut ends the session here. That at the provider goes on.
func (c *Console) signOut(w http.ResponseWriter, r *http.Request) {
	c.setCookie(w, c.cookie, "", 0)
	c.setCookie(w, c.cookie+"-portal", "", 0)
	v := &visitor{Request: r, w: w, console: c, texts: textsFor(r)}
	if err := v.page(http.StatusOK, "signed-out", "SignedOut", nil); err != nil {
		c.fail(w, r, nil, err)
	}
}

// setCookie sets a cookie of the console; no time: it removes it.
func (c *Console) setCookie(w http.ResponseWriter, name, value string, lasts time.Duration) {
	age := int(lasts / time.Second)
	if lasts == 0 {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: age, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
}
