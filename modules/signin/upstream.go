package signin

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/oauth2"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/problem"
)

// toUpstream handles the form that sends a user to the only upstream, or to that of their address.
func (p *Provider) toUpstream(w http.ResponseWriter, r *http.Request) {
	p.run(w, r, r.PostForm.Get("request"), func(w http.ResponseWriter, r *http.Request, a *authorization) error {
		action, email := r.PostForm.Get("action"), r.PostForm.Get("email")
		u := p.unnamed()
		if u == nil {
			u = p.upstreamOf(email)
			a.loginHint = email
		}
		switch {
		case action == "cancel":
			return errDeclined
		case action == "another", u == nil, u.Disabled:
			p.signInPage(w, r, http.StatusOK, a, signInForm{})
			return nil
		default:
			return p.visitUpstream(w, r, a, u)
		}
	})
}

// visitUpstream redirects a user to an upstream.
func (p *Provider) visitUpstream(w http.ResponseWriter, r *http.Request, a *authorization, u *Upstream) error {
	found, err := u.Discover(r.Context())
	if err != nil {
		return p.upstreamProblem(r, a, err)
	}
	v, until, err := p.beginVisit(w, r, a, u)
	if err != nil {
		return err
	}
	if v == nil {
		notice := p.fillAt(u, throttle(w, a, textsFor(a.locales, r).Crowd, until.Sub(p.now())), "")
		p.signInPage(w, r, http.StatusTooManyRequests, a, signInForm{Email: a.loginHint, Notice: notice})
		return nil
	}
	redirect(w, http.StatusSeeOther, found.AuthCodeURL(p.Issuer+u.path("callback"), v.Visit,
		append(a.upstreamOptions(), found.AskToRefresh()...)...))
	return nil
}

// fromUpstream handles the return of a user from an upstream.
func (p *Provider) fromUpstream(w http.ResponseWriter, r *http.Request, u *Upstream) {
	v, request, err := p.endVisit(w, r, u)
	switch {
	case err != nil:
		p.failedPage(w, r, err)
	case v == nil:
		p.message(w, r, http.StatusBadRequest, func(t *texts) (string, string) { return t.OverTitle, t.Over })
	default:
		p.run(w, r, request, func(w http.ResponseWriter, r *http.Request, a *authorization) error {
			return p.checkUpstream(w, r, a, u, v)
		})
	}
}

// checkUpstream redeems an upstream's answer, and finds its user. The second factor comes next.
func (p *Provider) checkUpstream(w http.ResponseWriter, r *http.Request, a *authorization, up *Upstream, v *visit) error {
	if up.Disabled { // since they left
		return p.leadTo(w, r, a, up, "")
	}
	account, err := up.Redeem(r.Context(), r.URL.Query(), p.Issuer+up.path("callback"), v.Visit)
	if err != nil {
		return p.upstreamProblem(r, a, err)
	}
	at, ok := a.signedInUpstream(account.AuthTime, v.At, p.now())
	if !ok {
		p.Log.Warn("the upstream confirmed no sign-in as recent as the application demands",
			zap.String("client", a.client.ID), zap.Bool("auth_time", account.AuthTime > 0))
		return badRequest("login_required",
			"the user's provider did not confirm a new sign-in, or one as recent as max_age demands")
	}
	if up.WantsGroups {
		if err := up.Complete(r.Context(), account); err != nil {
			return p.upstreamProblem(r, a, err)
		}
		if len(account.Groups) > identity.MaxUpstreamGroups {
			return p.upstreamProblem(r, a, errGroups)
		}
	}
	u, err := p.userOfAccount(r.Context(), up, account)
	switch {
	case err == nil:
		return p.askForFactor(w, r, a, u, firstFactor{At: at, Issuer: up.Issuer, Subject: account.Subject,
			SID: account.SID, Refresh: boundedToken(account.RefreshToken)})
	case errors.Is(err, errUnknownAccount):
		p.failed(r, a, "upstream_unknown", "")
		p.messageIn(w, r, a.locales, http.StatusForbidden,
			func(t *texts) (string, string) { return t.StrangerTitle, p.fillAt(up, t.Stranger, "") })
		return nil
	case errors.Is(err, oidcclient.ErrUserinfo):
		return p.upstreamProblem(r, a, err)
	default:
		return err
	}
}

var errGroups = fmt.Errorf("the provider names more than %d groups of a person: have it send only those that are assigned to "+
	"the application", identity.MaxUpstreamGroups)

// maxHint is the longest login_hint that is passed on, in bytes: providers limit the length of addresses.
const maxHint = 1 << 10

// upstreamOptions returns what the application asked for, as parameters for the upstream. With a max_age the upstream
// must report auth_time, which prompt=login by itself does not demand (OpenID Connect Core section 3.1.2.1).
func (a *authorization) upstreamOptions() (options []oauth2.AuthCodeOption) {
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
	if a.prompts("login") {
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

// upstreamClocks is the greatest difference between an upstream's clock and ours that is accepted, including the
// fraction of a second that auth_time drops.
const upstreamClocks = 10 * time.Second

// signedInUpstream returns when a user signed in upstream, from the auth_time that it reports; 0: none. left is the time
// at which they left for it. It reports false if that does not meet the request. A user who signed in after they left
// meets max_age, however long they took to come back.
func (a *authorization) signedInUpstream(reported int64, left, now time.Time) (at time.Time, ok bool) {
	if reported <= 0 {
		return now, a.maxAge < 0 && !a.prompts("login")
	}
	at = time.Unix(reported, 0).UTC()
	if at.After(now) {
		at = now
	}
	switch {
	case !at.Before(left.Add(-upstreamClocks)):
		return at, true
	case a.prompts("login"):
		return at, false
	default:
		return at, a.maxAge < 0 || now.Sub(at) <= a.maxAge+upstreamClocks
	}
}

// passedOn are the upstream's errors that are about the user, or temporary: the application learns them. Others are
// about our own registration there.
var passedOn = []oidcclient.AnswerError{"login_required", "interaction_required", "consent_required",
	"account_selection_required", "access_denied", "temporarily_unavailable"}

// upstreamProblem returns the problem for the application after an error of the upstream. It logs the error, unless the
// user declined.
func (p *Provider) upstreamProblem(r *http.Request, a *authorization, err error) *problem.Problem {
	code := "server_error"
	if answered, ok := errors.AsType[oidcclient.AnswerError](err); ok && slices.Contains(passedOn, answered) {
		code = string(answered)
	}
	if code == errDeclined.Code {
		return errDeclined
	}
	p.Log.Warn("sign-in at the upstream failed", zap.Error(err))
	p.failed(r, a, "upstream_failed", "")
	if errors.Is(err, oidcclient.ErrAuthority) {
		return badRequest(code, "the certificate of the user's provider is of an authority that the gateway does not know: its "+
			"operator has to name that with ca, in upstream_oidc")
	}
	return badRequest(code, "signing in at the user's provider did not work")
}
