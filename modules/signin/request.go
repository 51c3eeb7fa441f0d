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
	"unicode"
	"unicode/utf8"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
)

// authorization is a parsed authorization request (OpenID Connect Core section 3.1.2.1). Its client and redirectURI are
// checked before anything else.
type authorization struct {
	raw         string // as it came, for the forms that continue it
	client      *identity.Client
	redirectURI string
	state       string // empty: none was sent
	formPost    bool   // the answer goes to the redirect URI as a form (OAuth 2.0 Form Post Response Mode)
	scope       string // the scopes that we know, without repetition
	nonce       string
	challenge   string
	prompt      []string
	maxAge      time.Duration // negative: any
	hint        string        // the user of the ID token that was sent as a hint; empty: none
	claims      requestedClaims
	loginHint   string
	locales     string
}

// errUntrusted means that a request must not lead anywhere: its client or its redirect URI is unknown.
var errUntrusted = errors.New("the client or its redirect URI is not known")

// readRequest parses and checks an authorization request. errUntrusted: it must not lead anywhere. A
// *problem.Problem goes to the
// application, which is known then.
func (p *Provider) readRequest(r *http.Request, raw string) (*authorization, error) {
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
	if reason := distrust(c, err == nil, one("redirect_uri")); reason != "" {
		p.countRefusal(identity.NewRefusal(one("client_id"), err == nil, reason, one("redirect_uri"), p.now()))
		return nil, errUntrusted
	}
	a := &authorization{raw: raw, client: c, redirectURI: one("redirect_uri"), state: one("state"), nonce: one("nonce"),
		challenge: one("code_challenge"), formPost: one("response_mode") == "form_post",
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
		user, _, ok := p.verifyHint(r.Context(), hint)
		if !ok {
			return a, invalid("id_token_hint is not an ID token of this provider")
		}
		a.hint = user
	}
	return a, nil
}

// distrust returns why a request must not lead anywhere; empty: it may. known reports whether there is such a client.
func distrust(c *identity.Client, known bool, redirectURI string) string {
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

// satisfiedBy reports whether a session meets the request: no new sign-in is demanded, it is young enough, and its user
// is the requested one.
func (a *authorization) satisfiedBy(s *identity.Session, now time.Time) bool {
	young := a.maxAge < 0 || now.Sub(s.SignedInAt) <= a.maxAge
	return young && a.accepts(s.UserID) && !a.prompts("login") && !a.prompts("select_account")
}

// accepts reports whether a user is the requested one, or any user may sign in.
func (a *authorization) accepts(user string) bool {
	return (a.hint == "" || a.hint == user) && (a.claims.subject == "" || a.claims.subject == user)
}

// prompts reports whether the request asks for a prompt: none, login, consent or select_account.
func (a *authorization) prompts(one string) bool { return slices.Contains(a.prompt, one) }

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
	switch mode := q.Get("response_mode"); {
	case mode != "" && mode != "query" && mode != "form_post":
		return invalid("response_mode must be query or form_post")
	case a.formPost && (!utf8.ValidString(a.state) || strings.ContainsFunc(a.state, unicode.IsControl)):
		a.formPost = false
		return invalid("a form can't return this state: use printable characters, or response_mode=query")
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

var challenge = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// checkPKCE accepts only S256 (RFC 7636): plain, the default when the method is missing, protects nothing.
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

// longestAge is a century in seconds, longer than any session. A larger max_age is cut to it, so that it fits into a
// time.Duration.
const longestAge = 100 * 365 * 24 * 60 * 60

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
		a.maxAge = time.Duration(min(n, longestAge)) * time.Second
	}
	return nil
}

func (a *authorization) checkClaims(q url.Values) error {
	var ok bool
	if a.claims, ok = parseClaims(q.Get("claims")); !ok {
		return invalid("claims is not the JSON object that goes there")
	}
	if a.claims.mustHaveACR { // Core section 5.5.1.1: as a sign-in that failed
		return badRequest("unmet_authentication_requirements", "this provider knows no acr: ask for it as a voluntary claim")
	}
	return nil
}
