package oidcclient

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/hiregate/hiregate/internal/bearer"
	"github.com/hiregate/hiregate/internal/identity"
)

// Account describes a user, as a provider reports it.
type Account struct {
	Subject       string
	AuthTime      int64 // when they signed in there, in seconds since 1970; 0: unknown
	Email         string
	EmailVerified bool
	Name          string
	GivenName     string
	FamilyName    string
	Groups        []string // the claim groups, which some providers are set up to send
	SID           string   // their session there (claim sid); empty: the provider named none
	IDToken       string   // as it came: the hint with which they sign out there
	RefreshToken  string   // empty: the provider gave none
	// AccessLife is how long the access token is valid that came with it; 0: the provider did not say.
	AccessLife time.Duration
	// Described says that the provider described the user again when it was asked to refresh.
	Described bool

	access    *oauth2.Token // for UserInfo
	hasGroups bool          // the provider said which, perhaps none
}

// claims holds the claims of an ID token, or of UserInfo. A malformed optional claim counts as absent.
type claims map[string]json.RawMessage

func (c claims) text(name string) (s string) {
	if json.Unmarshal(c[name], &s) != nil {
		return ""
	}
	return s
}

func (c claims) texts(name string) (all []string) {
	if json.Unmarshal(c[name], &all) != nil {
		return nil
	}
	return all
}

// seconds reads a NumericDate, which may have a fraction (RFC 7519 section 2); 0: absent.
func (c claims) seconds(name string) int64 {
	var s float64
	if json.Unmarshal(c[name], &s) != nil || s < 0 || s > 1<<40 {
		return 0
	}
	return int64(s)
}

// yes reads a boolean. Some providers write email_verified as a string; anything but true and "true" is false.
func (c claims) yes(name string) bool {
	text := string(c[name])
	return text == `true` || text == `"true"`
}

// describe copies the claims that describe the user.
func (p *Provider) describe(a *Account, c claims) {
	a.Described = true
	if email := c.text("email"); email != "" {
		a.Email, a.EmailVerified = email, c.yes("email_verified")
		if _, told := c["email_verified"]; !told { // Entra ID never sends it
			a.EmailVerified = identity.InDomains(a.Email, p.TrustEmail)
		}
	}
	a.Name, a.GivenName = cmp.Or(c.text("name"), a.Name), cmp.Or(c.text("given_name"), a.GivenName)
	a.FamilyName = cmp.Or(c.text("family_name"), a.FamilyName)
	if groups := c.texts(cmp.Or(p.GroupsClaim, "groups")); groups != nil {
		a.Groups, a.hasGroups = groups, true
	}
}

// ErrTooManyGroups means that the provider did not say which groups a person has, but where one may ask for them.
var ErrTooManyGroups = errors.New("the provider names no groups because the person has too many (overage): have it send " +
	"only those that are assigned to the application")

// checkGroups refuses claims that leave the groups out because there are too many, as Entra ID does.
func (p *Provider) checkGroups(c claims) error {
	var elsewhere map[string]json.RawMessage
	if (p.WantsGroups || p.TellsGroups) && (json.Unmarshal(c["_claim_names"], &elsewhere) == nil && elsewhere["groups"] != nil ||
		c.yes("hasgroups")) {
		return ErrTooManyGroups
	}
	return nil
}

// Visit is one visit of a person to a provider. They must return with the browser with which they left.
type Visit struct {
	State, Nonce, Verifier string
}

// NewVisit begins a visit.
func NewVisit() Visit {
	return Visit{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
}

// AnswerError is the error code that a provider answers with (RFC 6749 section 4.1.2.1). Anyone may have written it, so
// its text is only shown if it looks like a code.
type AnswerError string

var errorCode = regexp.MustCompile(`^[a-z_]{1,40}$`)

func (e AnswerError) Error() string {
	if e.Code() == "" {
		return "the upstream answered with an error"
	}
	return "the upstream answered with the error " + e.Code()
}

// Code returns the code; empty: it does not look like one.
func (e AnswerError) Code() string {
	if !errorCode.MatchString(string(e)) {
		return ""
	}
	return string(e)
}

// ErrCode means that a provider does not take a code (invalid_grant): it is too old, or was used before, as when a browser
// asks once more.
var ErrCode = errors.New("the upstream does not take the code")

// Redeem exchanges the code of an answer, which came to redirectURI with the query q, and checks what it gets. The
// caller has compared the state. Errors: AnswerError, ErrCode.
func (p *Provider) Redeem(ctx context.Context, q url.Values, redirectURI string, v Visit) (*Account, error) {
	found, err := p.Discover(ctx)
	if err != nil {
		return nil, err
	}
	if iss := q.Get("iss"); iss != p.Issuer && (iss != "" || found.SendsIssuer) { // RFC 9207 section 2.4
		return nil, errors.New("the answer is another issuer's, or names no issuer (iss)")
	}
	if code := q.Get("error"); code != "" || q.Get("code") == "" {
		return nil, AnswerError(code)
	}
	ctx = oidc.ClientContext(ctx, bearer.Client(p.client()))
	issued, err := found.config(redirectURI).Exchange(ctx, q.Get("code"), oauth2.VerifierOption(v.Verifier))
	if err != nil {
		var refused *oauth2.RetrieveError
		switch {
		case errors.As(err, &refused) && refused.ErrorCode == "invalid_grant":
			return nil, ErrCode
		case refused != nil && refused.Response != nil: // its text contains the upstream's body
			return nil, fmt.Errorf("exchanging the upstream's code: it was answered %d", refused.Response.StatusCode)
		}
		return nil, advised(fmt.Errorf("exchanging the upstream's code: %w", err))
	}
	if err := bearer.Check(issued); err != nil {
		return nil, fmt.Errorf("exchanging the upstream's code: %w", err)
	}
	raw, _ := issued.Extra("id_token").(string)
	token, err := found.Verifier(&oidc.Config{ClientID: p.ClientID, Now: p.late}).Verify(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("the upstream's ID token: %w", err)
	}
	account, err := p.account(token, v.Nonce)
	if err != nil {
		return nil, err
	}
	account.IDToken = raw
	account.hold(issued)
	return account, nil
}

// hold gives an account the tokens beside the ID token.
func (a *Account) hold(issued *oauth2.Token) {
	a.access, a.RefreshToken = issued, issued.RefreshToken
	if seconds, ok := issued.Extra("expires_in").(float64); ok && seconds > 0 && seconds < 1<<30 {
		a.AccessLife = time.Duration(seconds) * time.Second
	}
}

// skew is less than how much the provider's clock may differ from ours.
const skew = time.Minute

// late is by when a token has to have ended to be refused.
func (p *Provider) late() time.Time { return p.Now().Add(time.Nanosecond - skew) }

// account reads a verified ID token, and does the checks that go-oidc leaves to us (OpenID Connect Core sections 2 and
// 3.1.3.7).
func (p *Provider) account(token *oidc.IDToken, nonce string) (*Account, error) {
	var c claims
	if err := token.Claims(&c); err != nil {
		return nil, errors.New("the upstream's ID token can't be read")
	}
	_, authorized := c["azp"]
	switch {
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(nonce)) == 0:
		return nil, errors.New("the upstream's ID token is of another sign-in")
	case authorized && c.text("azp") != p.ClientID:
		return nil, errors.New("the upstream's ID token was issued to another client (azp)")
	case !authorized && len(token.Audience) > 1:
		return nil, errors.New(
			"the upstream's ID token is for several clients, and does not name the one to which it was issued (azp)")
	case token.IssuedAt.After(p.Now().Add(skew)):
		return nil, errors.New("the upstream's ID token is of a time to come (iat): compare the clocks")
	case token.Subject == "" || len(token.Subject) > maxSubject || strings.ContainsFunc(token.Subject, unicode.IsControl):
		return nil, errors.New("the upstream's ID token names no user: sub is missing or malformed")
	}
	account := &Account{Subject: token.Subject, AuthTime: c.seconds("auth_time")}
	if sid := c.text("sid"); len(sid) <= maxSubject && !strings.ContainsFunc(sid, unicode.IsControl) {
		account.SID = sid
	}
	p.describe(account, c)
	return account, p.checkGroups(c)
}

// maxSubject is the length of a sub, in bytes (OpenID Connect Core section 2).
const maxSubject = 255

// ErrUserinfo means that UserInfo did not answer as it should.
var ErrUserinfo = errors.New("asking the upstream's UserInfo")

// Complete asks UserInfo about the user if the ID token has no e-mail address, or no groups where they are wanted: some
// providers put them only there (OpenID Connect Core section 5.4). Errors: ErrUserinfo, ErrTooManyGroups.
func (p *Provider) Complete(ctx context.Context, account *Account) error {
	found, err := p.Discover(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUserinfo, err)
	}
	if account.Email != "" && (account.hasGroups || !p.WantsGroups) || found.UserInfoEndpoint() == "" {
		return nil
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, found.UserInfoEndpoint(), nil)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUserinfo, err)
	}
	account.access.SetAuthHeader(r)
	answer, err := p.client().Do(r)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUserinfo, err)
	}
	defer answer.Body.Close()
	var c claims
	switch {
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("%w: it was answered %d", ErrUserinfo, answer.StatusCode)
	case json.NewDecoder(answer.Body).Decode(&c) != nil:
		return fmt.Errorf("%w: the answer is not a JSON object", ErrUserinfo)
	case c.text("sub") != account.Subject: // section 5.3.2
		return fmt.Errorf("%w: it is about another user", ErrUserinfo)
	}
	p.describe(account, c)
	return p.checkGroups(c)
}
