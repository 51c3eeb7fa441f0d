package signin

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/oauth2"

	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/problem"
)

const upstreamCallback = "/oauth/upstream/callback"

// toUpstream handles the form that sends a user to the upstream.
func (p *Provider) toUpstream(w http.ResponseWriter, r *http.Request) {
	a, err := p.read(r, r.PostForm.Get("request"))
	if p.stopped(w, r, a, err) {
		return
	}
	found, err := p.Upstream.Discover(r.Context())
	if err != nil {
		p.upstreamFailed(w, r, a, err)
		return
	}
	v, until, err := p.beginVisit(w, r, a)
	switch {
	case err != nil:
		p.brokenPage(w, r, err)
		return
	case v == nil:
		metrics.SignIn(a.client.ID, "sign-in", "throttled")
		w.Header().Set("Retry-After", problem.Seconds(until.Sub(p.now())))
		p.signInPage(w, r, http.StatusTooManyRequests, a,
			signInForm{Email: a.loginHint, Notice: p.named(textsFor(a.locales, r).Crowd)})
		return
	}
	redirect(w, http.StatusSeeOther, found.AuthCodeURL(p.Issuer+upstreamCallback, v.Visit, a.wishes()...))
}

// maxHint is the longest login_hint that is passed on, in bytes: providers limit the length of addresses.
const maxHint = 1 << 10

// wishes returns what the application asked for, as parameters for the upstream. With a max_age the upstream must
// report auth_time, which prompt=login alone does not demand (OpenID Connect Core section 3.1.2.1).
func (a *authorization) wishes() (options []oauth2.AuthCodeOption) {
	var prompt []string
	for _, one := range a.prompt {
		if one == "login" || one == "select_account" { // we ask for consent ourselves
			prompt = append(prompt, one)
		}
	}
	if len(prompt) > 0 {
		options = append(options, oauth2.SetAuthURLParam("prompt", strings.Join(prompt, " ")))
	}
	age := a.maxAge
	if a.newSignIn() {
		age = 0
	}
	if age >= 0 {
		options = append(options, oauth2.SetAuthURLParam("max_age", strconv.FormatInt(int64(age/time.Second), 10)))
	}
	if a.loginHint != "" && len(a.loginHint) <= maxHint {
		options = append(options, oauth2.SetAuthURLParam("login_hint", a.loginHint))
	}
	return options
}

// newSignIn reports whether the application demands a new sign-in.
func (a *authorization) newSignIn() bool { return slices.Contains(a.prompt, "login") }

// upstreamClocks is how far an upstream's clock may be from ours, including the fraction of a second that auth_time
// drops.
const upstreamClocks = 10 * time.Second

// signedInUpstream returns when a user signed in upstream, from the auth_time that it reports; 0: none. left is when
// they left for it. It reports false if that does not meet the request. A user who signed in after they left meets
// max_age, however long they took to come back.
func (a *authorization) signedInUpstream(told int64, left, now time.Time) (at time.Time, ok bool) {
	if told <= 0 {
		return now, a.maxAge < 0 && !a.newSignIn()
	}
	at = time.Unix(told, 0).UTC()
	if at.After(now) {
		at = now
	}
	switch {
	case !at.Before(left.Add(-upstreamClocks)):
		return at, true
	case a.newSignIn():
		return at, false
	default:
		return at, a.maxAge < 0 || now.Sub(at) <= a.maxAge+upstreamClocks
	}
}

// fromUpstream handles the return of a user from the upstream.
func (p *Provider) fromUpstream(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	v, request, err := p.endVisit(w, r)
	switch {
	case err != nil:
		p.brokenPage(w, r, err)
		return
	case v == nil:
		p.message(w, r, http.StatusBadRequest, func(t *texts) (string, string) { return t.OverTitle, t.Over })
		return
	}
	a, err := p.read(r, request)
	if p.stopped(w, r, a, err) {
		return
	}
	them, err := p.Upstream.Redeem(r.Context(), q, p.Issuer+upstreamCallback, v.Visit)
	if err != nil {
		p.upstreamFailed(w, r, a, err)
		return
	}
	at, ok := a.signedInUpstream(them.AuthTime, v.At, p.now())
	if !ok {
		p.Log.Warn("a sign-in upstream did not meet what the application asked for",
			zap.String("client", a.client.ID), zap.Bool("auth_time", them.AuthTime > 0))
		p.refuse(w, r, a, "login_required",
			"the user's provider did not confirm a new sign-in, or one as recent as max_age demands")
		return
	}
	u, err := p.joined(r.Context(), them)
	switch {
	case errors.Is(err, errStranger):
		metrics.SignIn(a.client.ID, "sign-in", "upstream_unknown")
		p.note(r, p.entry(r, "sign-in", "upstream_unknown", a.client.ID, ""))
		p.messageIn(w, r, a.locales, http.StatusForbidden,
			func(t *texts) (string, string) { return t.StrangerTitle, p.named(t.Stranger) })
	case errors.Is(err, oidcclient.ErrUserinfo):
		p.upstreamFailed(w, r, a, err)
	case err != nil:
		p.brokenPage(w, r, err)
	default:
		p.admit(w, r, a, u, first{At: at, Issuer: p.Upstream.Issuer, Subject: them.Subject})
	}
}

// named fills the names into a text.
func (p *Provider) named(text string) string {
	return strings.ReplaceAll(p.fill(text, ""), "{provider}", p.Upstream.Name)
}

// passedOn are the upstream's errors that are about the user, or temporary: the application learns them. Others are
// about our own registration there.
var passedOn = []oidcclient.AnswerError{"login_required", "interaction_required", "consent_required",
	"account_selection_required", "access_denied", "temporarily_unavailable"}

// upstreamFailed sends a user back who could not sign in upstream.
func (p *Provider) upstreamFailed(w http.ResponseWriter, r *http.Request, a *authorization, err error) {
	code, description := "server_error", "signing in at the user's provider did not work"
	if told, ok := errors.AsType[oidcclient.AnswerError](err); ok && slices.Contains(passedOn, told) {
		code = string(told)
	}
	if code == "access_denied" { // which is not a failure
		description = "the user does not want to sign in"
	} else {
		p.Log.Warn("signing in upstream did not work", zap.Error(err))
		metrics.SignIn(a.client.ID, "sign-in", "upstream_failed")
		p.note(r, p.entry(r, "sign-in", "upstream_failed", a.client.ID, ""))
	}
	p.refuse(w, r, a, code, description)
}
