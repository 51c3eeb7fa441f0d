package gate

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/session"
)

// again marks the state of a visit that began because one before was not known here.
const again = "-again"

const maxForm = 64 << 10 // bytes of a form

// own are the gate's addresses below its prefix, by method.
var own = map[string]map[string]func(*visitor){
	"start":              {http.MethodGet: (*visitor).start},
	"sign_in":            {http.MethodGet: (*visitor).start},
	"callback":           {http.MethodGet: (*visitor).callback},
	"sign_out":           {http.MethodGet: (*visitor).signOut, http.MethodPost: (*visitor).signOut},
	"auth":               {http.MethodGet: (*visitor).auth, http.MethodHead: (*visitor).auth},
	"keys":               {http.MethodGet: (*visitor).keys},
	"userinfo":           {http.MethodGet: (*visitor).userinfo},
	"backchannel_logout": {http.MethodPost: (*visitor).backChannelLogout},
}

func (v *visitor) serveOwn(name string) {
	methods, known := own[name]
	serve := methods[v.Method]
	switch {
	case !known:
		problem.New(http.StatusNotFound, "the gate has nothing at this address").Write(v.w)
		return
	case serve == nil:
		problem.New(http.StatusMethodNotAllowed, "this address takes another method").Write(v.w)
		return
	}
	if err := v.gate.guard.Check(v.Request); err != nil {
		problem.New(http.StatusForbidden, "this form was sent from another site, so nothing was done").Write(v.w)
		return
	}
	release, ok := v.gate.Gateway.Hold(v.w)
	if !ok {
		v.away()
		return
	}
	defer release()
	v.Body = http.MaxBytesReader(v.w, v.Body, maxForm)
	serve(v)
}

// start sends the browser to the provider, and then to the address rd.
func (v *visitor) start() { v.leave(v.returnTo(v.URL.Query().Get("rd")), "") }

// leave sends the browser to the provider, by way of the host to which that leads back.
func (v *visitor) leave(to, mark string) {
	if len(to) > session.MaxReturn {
		to = v.home()
	}
	start := url.URL{Scheme: v.at.Scheme, Host: v.gate.SignIn, Path: v.gate.Prefix + "/start", RawQuery: url.Values{"rd": {to}}.Encode()}
	if start.Host != "" && start.Hostname() != v.at.Hostname() {
		session.Redirect(v.w, v.Request, start.String())
		return
	}
	if err := v.site.Leave(v.w, v.Request, to, mark); err != nil {
		v.failed(err, to)
	}
}

// home is the application's start page.
func (v *visitor) home() string { return v.origin + v.mount + "/" }

// returnTo returns the address that rd names, if it is one of the application's, or of another host of the domain; else the
// one of its start page.
func (v *visitor) returnTo(rd string) string {
	origin := v.origin
	if u, err := url.Parse(rd); err == nil && u.Scheme == v.at.Scheme && u.Port() == v.at.Port() && v.gate.Domain.Has(u.Hostname()) {
		origin = u.Scheme + "://" + u.Host
	}
	if own := session.OwnPath(strings.TrimPrefix(rd, origin)); own != "/" || origin != v.origin {
		return origin + own
	}
	return v.home()
}

// callback takes the browser back from the provider.
func (v *visitor) callback() {
	g, q := v.gate, v.URL.Query()
	if !g.Returns.Allow(password.NetworkOf(g.Address(v.Request)), g.Gateway.Now()) {
		v.w.Header().Set("Retry-After", "10")
		v.page(http.StatusTooManyRequests, &page{Key: "Crowd", Again: v.home()})
		return
	}
	them, to, err := v.site.Return(v.w, v.Request)
	state := q.Get("state")
	if errors.Is(err, session.ErrNoVisit) || errors.Is(err, oidcclient.ErrCode) && !strings.HasSuffix(state, again) {
		v.lost(state, cmp.Or(to, v.home()))
		return
	}
	if err != nil {
		v.failed(err, to)
		return
	}
	if err := v.site.Begin(v.w, v.Request, them, q.Get("code"), nil); err != nil {
		v.broken(err)
		return
	}
	session.Redirect(v.w, v.Request, to)
}

// lost goes on where a browser returns that nobody waits for, as by "back" or a bookmark, or a second time: into the
// application, or once to the provider.
func (v *visitor) lost(state, to string) {
	s, err := v.site.Find(v.Request)
	switch {
	case err != nil:
		v.broken(err)
	case s != nil:
		session.Redirect(v.w, v.Request, to)
	case strings.HasSuffix(state, again):
		v.page(http.StatusBadRequest, &page{Key: "Lost", Again: v.home()})
	default:
		v.leave(to, again)
	}
}

// signOut ends the session, and leads to the address rd. A page of another host may lead people here; what it shows, or
// asks for in the background, signs nobody out.
func (v *visitor) signOut() {
	if from := v.Header.Get("Sec-Fetch-Site"); (from == "same-site" || from == "cross-site") && v.Header.Get("Sec-Fetch-Mode") != "navigate" {
		problem.New(http.StatusForbidden, "another site asked for this, so nobody was signed out").Write(v.w)
		return
	}
	s, err := v.site.Find(v.Request)
	if err != nil { // somebody who may still be signed in must not read that they are not
		v.broken(err)
		return
	}
	out, err := v.site.SignOut(v.w, v.Request, s)
	rd := v.FormValue("rd")
	switch {
	case err != nil:
		v.broken(err)
	case rd != "":
		session.Redirect(v.w, v.Request, v.returnTo(rd))
	default:
		if out.Next != "" { // not a redirect: browsers hold the policy's form-action against that
			v.w.Header().Set("Refresh", "0; url="+out.Next)
		}
		v.page(http.StatusOK, &page{Key: "Out", Again: v.home(), SignOut: out.Next})
	}
}

// backChannelLogout ends sessions because the provider says that theirs have ended there.
func (v *visitor) backChannelLogout() { v.site.BackChannelLogout(v.w, v.Request) }

// auth answers a server that asks whether a request may pass (forward_auth, auth_request).
func (v *visitor) auth() {
	s, ok := v.admitted(true)
	if !ok {
		return
	}
	v.w.Header().Set("Cache-Control", "no-store")
	v.identify(v.w.Header(), s)
	v.w.WriteHeader(http.StatusAccepted)
}

// userinfo tells a script of the application who is signed in.
func (v *visitor) userinfo() {
	s, ok := v.admitted(true)
	if !ok {
		return
	}
	v.w.Header().Set("Cache-Control", "no-store")
	v.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(v.w).Encode(map[string]any{"user": s.Subject, "email": s.Email, "name": s.Name, "groups": s.Groups})
}

// failed shows that nobody was signed in, and why.
func (v *visitor) failed(err error, to string) {
	shown := &page{Key: "Failed", Again: v.origin + v.mount + v.gate.Prefix + "/start?" + url.Values{"rd": {to}}.Encode(),
		Number: rand.Text()[:4] + "-" + rand.Text()[:4]}
	code := oidcclient.AnswerError("")
	switch {
	case errors.As(err, &code) && code == "access_denied":
		shown.Key, shown.Number = "Declined", ""
		v.page(http.StatusForbidden, shown)
		return
	case errors.As(err, &code):
		shown.Said = code.Code()
	case errors.Is(err, oidcclient.ErrTooManyGroups):
		shown.Key = "Overage"
	case errors.Is(err, oidcclient.ErrAuthority):
		shown.Key = "Authority"
	}
	v.gate.Log.Warn("nobody could be signed in", zap.String("number", shown.Number), zap.String("provider",
		v.gate.Provider.Issuer), zap.Error(err))
	v.page(http.StatusBadGateway, shown)
}
