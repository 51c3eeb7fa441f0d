package signin

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
)

// authorization is an authorization request that was looked at (OpenID Connect Core section 3.1.2.1). Its client and redirectURI
// are known to belong together before anything else of it is.
type authorization struct {
	raw         string // as it came, for the form that goes on with it
	client      *identity.Client
	redirectURI string
	state       string // empty: none was sent
	scope       string // what is known of it, without repetition
	nonce       string
	challenge   string
	prompt      []string
	maxAge      time.Duration // negative: any
	hint        string        // whom the ID token is about that was sent as a hint; empty: none was
	named       named
	loginHint   string
	locales     string
}

// errUntrusted says that a request must not lead anywhere: its client or its redirect URI is not known here.
var errUntrusted = errors.New("the client or its redirect URI is not known")

// authorize begins the flow. A POST is sent on as a GET: coming from another site it has no cookie.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		p.asGet(w, r, "/oauth/authorize")
		return
	}
	a, err := p.read(r, r.URL.RawQuery)
	if p.stopped(w, r, a, err) {
		return
	}
	s, err := p.session(r)
	if err != nil {
		p.brokenPage(w, r, err)
		return
	}
	switch {
	case s == nil || !a.satisfiedBy(s, p.now()):
		p.askToSignIn(w, r, a)
	default:
		p.proceed(w, r, a, s, slices.Contains(a.prompt, "consent"))
	}
}

// askToSignIn shows the sign-in page, where one may be shown.
func (p *Provider) askToSignIn(w http.ResponseWriter, r *http.Request, a *authorization) {
	if slices.Contains(a.prompt, "none") {
		p.refuse(w, r, a, "login_required", "nobody is signed in as it is asked for")
		return
	}
	p.signInPage(w, r, http.StatusOK, a, signInForm{Email: a.loginHint})
}

// asGet sends a form on to an address of ours, as a query.
func (p *Provider) asGet(w http.ResponseWriter, r *http.Request, path string) {
	sent, ok := form(r)
	if !ok {
		p.untrusted(w, r)
		return
	}
	redirect(w, http.StatusSeeOther, p.Issuer+path+"?"+sent.Encode())
}

// redirect sends the browser to another address, which does not learn this one.
func redirect(w http.ResponseWriter, status int, address string) {
	h := w.Header()
	h.Set("Location", address)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(status)
}

// stopped answers a request that can't go on. It reports whether it was one.
func (p *Provider) stopped(w http.ResponseWriter, r *http.Request, a *authorization, err error) bool {
	refused, ok := errors.AsType[*fault](err)
	switch {
	case err == nil:
		return false
	case ok:
		p.refuse(w, r, a, refused.code, refused.description)
	case errors.Is(err, errUntrusted):
		p.untrusted(w, r)
	default:
		p.brokenPage(w, r, err)
	}
	return true
}

// proceed goes on with somebody who is signed in: they are asked, where that is needed, or the application gets its code.
func (p *Provider) proceed(w http.ResponseWriter, r *http.Request, a *authorization, s *identity.Session, ask bool) {
	if !ask && a.client.Consent {
		had, err := p.db().Consented(r.Context(), s.UserID, a.client.ID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			p.brokenPage(w, r, err)
			return
		}
		ask = errors.Is(err, store.ErrNotFound) || !covers(had, a.learns())
	}
	switch {
	case !ask:
		p.issue(w, r, a, s, false)
	case slices.Contains(a.prompt, "none"):
		p.refuse(w, r, a, "consent_required", "the user was not asked yet")
	default:
		p.consentPage(w, r, a, s)
	}
}

// learns is the scope that tells the application as much as it asks for: its scope, and those of the claims that it names.
func (a *authorization) learns() string {
	all := strings.Fields(a.scope)
	for _, c := range userClaims {
		if (slices.Contains(a.named.IDToken, c.name) || slices.Contains(a.named.Userinfo, c.name)) && !slices.Contains(all, c.scope) {
			all = append(all, c.scope)
		}
	}
	return strings.Join(all, " ")
}

// covers tells whether a scope has all of another one.
func covers(had, wanted string) bool {
	all := strings.Fields(had)
	return !slices.ContainsFunc(strings.Fields(wanted), func(s string) bool { return !slices.Contains(all, s) })
}

// issue sends the user back with a code. consented says that they have just agreed.
func (p *Provider) issue(w http.ResponseWriter, r *http.Request, a *authorization, s *identity.Session, consented bool) {
	if s.UserID != a.hint && a.hint != "" || s.UserID != a.named.subject && a.named.subject != "" {
		p.refuse(w, r, a, "login_required", "somebody else is signed in than is asked for")
		return
	}
	code, hash := identity.NewSecret()
	g := &identity.Grant{Issuer: p.Issuer, Client: a.client.ID, UserID: s.UserID, RedirectURI: a.redirectURI, Scope: a.scope, Claims: a.named.kept(),
		Nonce: a.nonce, Challenge: a.challenge, SignedInAt: s.SignedInAt, IssuedAt: p.now()}
	e := p.entry(r, "authorize", "success", a.client.ID, s.UserID)
	err := p.db().Write(r.Context(), func(tx *store.Tx) error {
		if consented {
			if err := tx.Consent(s.UserID, a.client.ID, a.learns(), g.IssuedAt); err != nil {
				return err
			}
		}
		if err := tx.IssueCode(hash, s.Hash, g); err != nil {
			return err
		}
		return tx.LogSignin(e)
	})
	if errors.Is(err, store.ErrNotFound) {
		p.askToSignIn(w, r, a)
		return
	}
	if err != nil {
		p.brokenPage(w, r, err)
		return
	}
	metrics.SignIn(a.client.ID, "authorize", "success")
	p.back(w, r, a, url.Values{"code": {code}})
}

// refuse sends the user back with an error.
func (p *Provider) refuse(w http.ResponseWriter, r *http.Request, a *authorization, code, description string) {
	metrics.SignIn(a.client.ID, "authorize", code)
	p.back(w, r, a, url.Values{"error": {code}, "error_description": {description}})
}

// back sends the user to the redirect URI, whose own query stays as it is. The answer says who gives it (RFC 9207).
func (p *Provider) back(w http.ResponseWriter, r *http.Request, a *authorization, answer url.Values) {
	if a.state != "" {
		answer.Set("state", a.state)
	}
	answer.Set("iss", p.Issuer)
	p.leave(w, r, a.redirectURI, answer)
}

// leave sends the user to an address that was registered, with parameters added.
func (p *Provider) leave(w http.ResponseWriter, r *http.Request, address string, more url.Values) {
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	if len(more) > 0 {
		address += separator + more.Encode()
	}
	status := http.StatusFound
	if r.Method == http.MethodPost {
		status = http.StatusSeeOther
	}
	redirect(w, status, address)
}

// satisfiedBy tells whether a session is what the request wants: not a new one, young enough, and of whom it is about.
func (a *authorization) satisfiedBy(s *identity.Session, now time.Time) bool {
	switch {
	case slices.Contains(a.prompt, "login") || slices.Contains(a.prompt, "select_account"):
		return false
	case a.maxAge >= 0 && now.Sub(s.SignedInAt) > a.maxAge:
		return false
	case a.hint != "" && a.hint != s.UserID, a.named.subject != "" && a.named.subject != s.UserID:
		return false
	}
	return true
}

// read looks at an authorization request. errUntrusted: it leads nowhere. A *fault goes to the application, which is known then.
func (p *Provider) read(r *http.Request, raw string) (*authorization, error) {
	if len(raw) > maxRequest {
		return nil, errUntrusted
	}
	q, malformed := url.ParseQuery(raw) // with what is wrong left out
	one := func(name string) string {
		if len(q[name]) != 1 {
			return ""
		}
		return q[name][0]
	}
	c, err := p.db().Client(r.Context(), one("client_id"))
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && (!c.DisabledAt.IsZero() || !slices.Contains(c.RedirectURIs, one("redirect_uri"))):
		return nil, errUntrusted
	case err != nil:
		return nil, err
	}
	a := &authorization{raw: raw, client: c, redirectURI: one("redirect_uri"), state: one("state"), nonce: one("nonce"), challenge: one("code_challenge"),
		loginHint: one("login_hint"), locales: one("ui_locales")}
	if malformed != nil {
		return a, invalid("the request is not form-urlencoded: percent-encode each parameter")
	}
	for _, check := range []func(url.Values) error{a.checkForm, a.checkKind, a.checkScope, a.checkPKCE, a.checkPrompt, a.checkClaims} {
		if err := check(q); err != nil {
			return a, err
		}
	}
	if hint := one("id_token_hint"); hint != "" {
		user, _, ok := p.hinted(r.Context(), hint)
		if !ok {
			return a, invalid("id_token_hint is no ID token of this provider")
		}
		a.hint = user
	}
	return a, nil
}

func invalid(description string) error { return badRequest("invalid_request", description) }

func (a *authorization) checkForm(q url.Values) error {
	if repeated(q) {
		return invalid("a parameter comes more than once")
	}
	for _, unsupported := range []string{"request", "request_uri", "registration"} {
		if q.Get(unsupported) != "" {
			return badRequest(unsupported+"_not_supported", "the parameter "+unsupported+" is not supported")
		}
	}
	if !utf8.ValidString(a.nonce) || strings.ContainsRune(a.nonce, 0) {
		return invalid("nonce is not text")
	}
	return nil
}

func (a *authorization) checkKind(q url.Values) error {
	switch q.Get("response_type") {
	case "":
		return invalid("response_type is missing: it is code")
	case "code":
	default:
		return badRequest("unsupported_response_type", "response_type must be code")
	}
	if mode := q.Get("response_mode"); mode != "" && mode != "query" {
		return invalid("response_mode must be query")
	}
	return nil
}

func (a *authorization) checkScope(q url.Values) error {
	a.scope = knownScope(q.Get("scope"))
	if !covers(a.scope, "openid") {
		return badRequest("invalid_scope", "scope must have openid")
	}
	return nil
}

// knownScope is what is known of a scope, without repetition.
func knownScope(scope string) string {
	var known []string
	for _, s := range strings.Fields(scope) {
		if slices.Contains(scopes, s) && !slices.Contains(known, s) {
			known = append(known, s)
		}
	}
	return strings.Join(known, " ")
}

var challenge = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// checkPKCE takes S256 alone (RFC 7636): plain, which is what a missing method means, protects nothing.
func (a *authorization) checkPKCE(q url.Values) error {
	method := q.Get("code_challenge_method")
	switch {
	case a.challenge == "" && method != "":
		return invalid("code_challenge is missing")
	case a.challenge == "" && a.client.RequirePKCE:
		return invalid("this client must send a code_challenge")
	case a.challenge == "":
		return nil
	case method != "S256":
		return invalid("code_challenge_method must be S256")
	case !challenge.MatchString(a.challenge):
		return invalid("code_challenge is not a SHA-256 in base64url")
	}
	return nil
}

// ages, in seconds, are longer than any session: a century. What max_age has beyond that means the same, and stays within what a
// time.Duration holds.
const ages = 100 * 365 * 24 * 60 * 60

func (a *authorization) checkPrompt(q url.Values) error {
	a.prompt = strings.Fields(q.Get("prompt"))
	for _, one := range a.prompt {
		if !slices.Contains([]string{"none", "login", "consent", "select_account"}, one) {
			return invalid("prompt is unknown")
		}
	}
	if len(a.prompt) > 1 && slices.Contains(a.prompt, "none") {
		return invalid("prompt none stands alone")
	}
	a.maxAge = -1
	if s := q.Get("max_age"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64) // which takes no sign
		if err != nil {
			return invalid("max_age must be a number of seconds")
		}
		a.maxAge = time.Duration(min(n, ages)) * time.Second
	}
	return nil
}

func (a *authorization) checkClaims(q url.Values) error {
	var ok bool
	if a.named, ok = parseClaims(q.Get("claims")); !ok {
		return invalid("claims is not the JSON object that goes there")
	}
	if a.named.mustHaveACR { // Core section 5.5.1.1: as a sign-in that failed
		return badRequest("unmet_authentication_requirements", "this provider knows no acr: ask for it as a voluntary claim")
	}
	return nil
}
