package console

import (
	"errors"
	"net/http"
	"net/url"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/session"
)

// toSignIn leads to sign-in, and from there back to the page that was asked for. What a form wanted is not kept: it leads
// back to the page with the form, which says so.
func (c *Console) toSignIn(w http.ResponseWriter, r *http.Request) {
	to := "/"
	switch {
	case r.Method == http.MethodPost:
		to = c.pageOfForm(r)
	case r.Method == http.MethodGet && len(r.URL.RequestURI()) <= session.MaxReturn:
		to = r.URL.RequestURI()
	}
	session.Redirect(w, r, c.mount+signInPath+"?"+url.Values{"to": {to}}.Encode())
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
	if _, pattern := c.mux.Handler(asked); page.Path == "" || pattern == "/" || pattern == inPath+"/" { // as of a page that answered a form
		page = &url.URL{Path: "/"}
	}
	query := page.Query()
	query.Set("done", "nothing")
	page.RawQuery = query.Encode()
	return page.RequestURI()
}

// signIn sends the browser to the provider.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	_, err := c.Issuer.Discover(r.Context())
	if err == nil && c.Own {
		err = c.register(r.Context())
	}
	if err != nil {
		c.signInFailed(w, r, err)
		return
	}
	if err := c.site().Leave(w, r, session.OwnPath(r.URL.Query().Get("to")), ""); err != nil {
		c.fail(w, r, nil, err)
	}
}

// callback takes the browser back from the provider.
func (c *Console) callback(w http.ResponseWriter, r *http.Request) {
	site := c.site()
	them, to, err := site.Return(w, r)
	switch declined := oidcclient.AnswerError(""); {
	case errors.Is(err, session.ErrLate):
		c.fail(w, r, nil, errLate)
		return
	case errors.Is(err, session.ErrOtherKey):
		c.fail(w, r, nil, errOtherKey)
		return
	case errors.Is(err, session.ErrNoVisit):
		c.fail(w, r, nil, errNoVisit)
		return
	case errors.As(err, &declined) && declined == "access_denied":
		c.fail(w, r, nil, errDeclined)
		return
	case err != nil:
		c.signInFailed(w, r, err)
		return
	}
	if err := site.Begin(w, r, them, r.URL.Query().Get("code"), c.roleOf); err != nil {
		c.fail(w, r, nil, err)
		return
	}
	session.Redirect(w, r, c.mount+to)
}

func (c *Console) signInFailed(w http.ResponseWriter, r *http.Request, err error) {
	c.Log.Warn("nobody could be signed in to the console", zap.Error(err))
	if errors.Is(err, oidcclient.ErrAuthority) {
		c.fail(w, r, nil, errAuthority)
		return
	}
	c.fail(w, r, nil, errUpstream)
}
