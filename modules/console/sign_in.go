package console

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode"

	"go.uber.org/zap"
	"golang.org/x/oauth2"

	"github.com/hiregate/hiregate/internal/oidcclient"
)

const (
	visitTime = 15 * time.Minute // how long a person may take to sign in
	maxReturn = 2 << 10          // bytes of the address to come back to; a longer one is forgotten

	forVisits = "hiregate tickets of who signs in to the console"
)

// visit is the content of the cookie of a person who is at the provider.
type visit struct {
	oidcclient.Visit
	To   string // where they wanted to go
	Till time.Time
}

// toSignIn leads to sign-in, and from there back to the page that was asked for. What a form wanted is not kept: it leads
// back to the page with the form, which says so.
func (c *Console) toSignIn(w http.ResponseWriter, r *http.Request) {
	to := "/"
	switch {
	case r.Method == http.MethodPost:
		to = c.pageOfForm(r)
	case r.Method == http.MethodGet && len(r.URL.RequestURI()) <= maxReturn:
		to = r.URL.RequestURI()
	}
	redirect(w, r, c.mount+signInPath+"?"+url.Values{"to": {to}}.Encode())
}

// pageOfForm returns the address, below the console's, of the page from which a form was sent, or that of the start page
// where none is known. The page says that nothing was done.
func (c *Console) pageOfForm(r *http.Request) string {
	page, err := url.Parse(c.ownAddress(r.Referer()))
	if err != nil {
		page = &url.URL{}
	}
	asked := r.Clone(r.Context())
	asked.Method, asked.URL = http.MethodGet, page
	if _, pattern := c.mux.Handler(asked); page.Path == "" || pattern == "/" { // as of a page that answered a form
		page = &url.URL{Path: "/"}
	}
	query := page.Query()
	query.Set("done", "nothing")
	page.RawQuery = query.Encode()
	return page.RequestURI()
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
	v := visit{Visit: oidcclient.NewVisit(), To: ownPath(r.URL.Query().Get("to")), Till: c.Gateway.Now().Add(visitTime)}
	ticket, err := c.Vault.SealTicket(forVisits, c.URL, v)
	if err != nil {
		c.fail(w, r, nil, err)
		return
	}
	c.setCookie(w, c.cookie+"-visit", ticket, visitTime)
	var options []oauth2.AuthCodeOption
	if _, err := r.Cookie(c.askAgain()); err == nil {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"))
	}
	redirect(w, r, found.AuthCodeURL(c.URL+callbackPath, v.Visit, options...))
}

// ownPath returns a path below the console's address, with its query, for a browser to be sent to; "/" where it is
// none: //elsewhere, what leads out by dots, and what browsers read like that.
func ownPath(to string) string {
	u, err := url.Parse(to)
	if err != nil || len(to) > maxReturn || !strings.HasPrefix(to, "/") || u.Host != "" || u.Fragment != "" ||
		path.Clean(u.Path) != u.Path || path.Clean(u.EscapedPath()) != u.EscapedPath() ||
		strings.ContainsFunc(to, unicode.IsControl) ||
		strings.ContainsFunc(u.Path, func(c rune) bool { return c == '\\' || unicode.IsControl(c) }) {
		return "/"
	}
	return u.RequestURI()
}

// callback takes the browser back from the provider.
func (c *Console) callback(w http.ResponseWriter, r *http.Request) {
	var v visit
	cookie, err := r.Cookie(c.cookie + "-visit")
	q := r.URL.Query()
	if err != nil || !c.Vault.OpenTicket(forVisits, c.URL, cookie.Value, &v) || !c.Gateway.Now().Before(v.Till) ||
		subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(v.State)) == 0 {
		c.fail(w, r, nil, errSignIn)
		return
	}
	c.setCookie(w, cookie.Name, "", 0)
	them, err := c.Issuer.Redeem(r.Context(), q, c.URL+callbackPath, v.Visit)
	if err == nil {
		err = c.Issuer.Complete(r.Context(), them)
	}
	switch declined := oidcclient.AnswerError(""); {
	case errors.As(err, &declined) && declined == "access_denied":
		c.fail(w, r, nil, errDeclined)
		return
	case err != nil:
		c.signInFailed(w, r, err)
		return
	}
	if err := c.begin(w, r, them, q.Get("code")); err != nil {
		c.fail(w, r, nil, err)
		return
	}
	c.setCookie(w, c.askAgain(), "", 0)
	redirect(w, r, c.mount+v.To)
}

func (c *Console) signInFailed(w http.ResponseWriter, r *http.Request, err error) {
	c.Log.Warn("nobody could be signed in to the console", zap.Error(err))
	if errors.Is(err, oidcclient.ErrAuthority) {
		c.fail(w, r, nil, errAuthority)
		return
	}
	c.fail(w, r, nil, errUpstream)
}
