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

// authorization is a parsed authorization request (OpenID Connect Core section 3.1.2.1). Its client and redirectURI are
// checked before anything else.
type authorization struct {
	raw         string // as it came, for the forms that continue it
	client      *identity.Client
	redirectURI string
	state       string // empty: none was sent
	scope       string // the scopes that we know, without repetition
	nonce       string
	challenge   string
	prompt      []string
	maxAge      time.Duration // negative: any
	hint        string        // the user of the ID token that was sent as a hint; empty: none
	named       named
	loginHint   string
	locales     string
}

// errUntrusted means that the request must not lead anywhere: its client or its redirect URI is unknown.
var errUntrusted = errors.New("the client or its redirect URI is not known")

// authorize starts the flow. A POST is redirected to a GET: a POST from another site carries no cookie.
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

// askToSignIn shows the sign-in page, unless the request forbids it.
func (p *Provider) askToSignIn(w http.ResponseWriter, r *http.Request, a *authorization) {
	if slices.Contains(a.prompt, "none") {
		p.refuse(w, r, a, "login_required", "no user is signed in as requested")
		return
	}
	p.signInPage(w, r, http.StatusOK, a, signInForm{Email: a.loginHint})
}

// asGet redirects a form to one of our addresses, with the form as the query.
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

// stopped answers a request for which read returned an error. It reports whether there was one.
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

// proceed continues with a user who is signed in: it asks for their consent if that is needed, or sends the code.
func (p *Provider) proceed(w http.ResponseWriter, r *http.Request, a *authorization, s *identity.Session, ask bool) {
	if !ask && a.client.Consent {
		had, err := p.db().ConsentedScope(r.Context(), s.UserID, a.client.ID)
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

// learns returns the scope of all that the application asks for: its scope, and the scopes of the claims that it names.
func (a *authorization) learns() string {
	all := strings.Fields(a.scope)
	for _, c := range userClaims {
		if (slices.Contains(a.named.IDToken, c.name) || slices.Contains(a.named.Userinfo, c.name)) &&
			!slices.Contains(all, c.scope) {
			all = append(all, c.scope)
		}
	}
	return strings.Join(all, " ")
}

// covers reports whether a scope contains all of another one.
func covers(had, wanted string) bool {
	all := strings.Fields(had)
	return !slices.ContainsFunc(strings.Fields(wanted), func(s string) bool { return !slices.Contains(all, s) })
}

// issue sends the user back with a code. consented means that they have just agreed.
func (p *Provider) issue(w http.ResponseWriter, r *http.Request, a *authorization, s *identity.Session,
	consented bool) {
	if s.UserID != a.hint && a.hint != "" || s.UserID != a.named.subject && a.named.subject != "" {
		p.refuse(w, r, a, "login_required", "another user is signed in than requested")
		return
	}
	code, hash := identity.NewSecret()
	g := &identity.Grant{Issuer: p.Issuer, Client: a.client.ID, UserID: s.UserID, RedirectURI: a.redirectURI,
		Scope: a.scope, Claims: a.named.kept(),
		Nonce: a.nonce, Challenge: a.challenge, SignedInAt: s.SignedInAt, IssuedAt: p.now()}
	e := p.entry(r, "authorize", "success", a.client.ID, s.UserID)
	err := p.db().Write(r.Context(), func(tx *store.Tx) error {
		if consented {
			if err := tx.UpsertConsent(s.UserID, a.client.ID, a.learns(), g.IssuedAt); err != nil {
				return err
			}
		}
		if err := tx.InsertCode(hash, s.Hash, g); err != nil {
			return err
		}
		return tx.InsertSigninEntry(e)
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

// back sends the user to the redirect URI, and keeps its query. The answer names its issuer (RFC 9207).
func (p *Provider) back(w http.ResponseWriter, r *http.Request, a *authorization, answer url.Values) {
	if a.state != "" {
		answer.Set("state", a.state)
	}
	answer.Set("iss", p.Issuer)
	p.leave(w, r, a.redirectURI, answer)
}

// leave sends the user to a registered address, with parameters added.
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

// satisfiedBy reports whether a session meets the request: no new sign-in is demanded, it is young enough, and it is of
// the user that is asked for.
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

// read parses and checks an authorization request. errUntrusted: it must lead nowhere. A *fault goes to the
// application, which is known then.
func (p *Provider) read(r *http.Request, raw string) (*authorization, error) {
	if len(raw) > maxRequest {
		return nil, errUntrusted
	}
	q, malformed := url.ParseQuery(raw) // without what can't be parsed
	one := func(name string) string {
		if len(q[name]) != 1 {
			return ""
		}
		return q[name][0]
	}
	c, err := p.db().Client(r.Context(), one("client_id"))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if reason := untrusted(c, err == nil, one("redirect_uri")); reason != "" {
		p.refused(identity.NewRefusal(one("client_id"), err == nil, reason, one("redirect_uri"), p.now()))
		return nil, errUntrusted
	}
	a := &authorization{raw: raw, client: c, redirectURI: one("redirect_uri"), state: one("state"), nonce: one("nonce"),
		challenge: one("code_challenge"),
		loginHint: one("login_hint"), locales: one("ui_locales")}
	if malformed != nil {
		return a, invalid("the request is not form-urlencoded: percent-encode each parameter")
	}
	for _, check := range []func(url.Values) error{a.checkForm, a.checkKind, a.checkScope, a.checkPKCE, a.checkPrompt,
		a.checkClaims} {
		if err := check(q); err != nil {
			return a, err
		}
	}
	if hint := one("id_token_hint"); hint != "" {
		user, _, ok := p.hinted(r.Context(), hint)
		if !ok {
			return a, invalid("id_token_hint is not an ID token of this provider")
		}
		a.hint = user
	}
	return a, nil
}

// untrusted says why a request of a client, if it is known, must lead nowhere; empty: it may.
func untrusted(c *identity.Client, known bool, redirectURI string) string {
	switch {
	case !known:
		return identity.UnknownClient
	case !c.DisabledAt.IsZero():
		return identity.DisabledClient
	case redirectURI == "":
		return identity.RedirectURINotUnique
	case !slices.Contains(c.RedirectURIs, redirectURI):
		return identity.RedirectURIDiffers
	}
	return ""
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

// knownScope returns the scopes that we know, without repetition.
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

// checkPKCE accepts S256 alone (RFC 7636): plain, the default when the method is missing, protects nothing.
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

// ages is a century in seconds, longer than any session. A larger max_age is cut to it, so that it fits into a
// time.Duration.
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
