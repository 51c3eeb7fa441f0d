package listen

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/oauth2"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// The paths of the sample partner's own pages. Everything else is the webhook's.
const (
	HomePath     = "/"
	signInPath   = "/sign-in"
	CallbackPath = "/callback"
	signOutPath  = "/sign-out"
)

// attemptLife is the time in which a user must sign in.
const attemptLife = 10 * time.Minute

// rememberedPeople bounds the sign-ins, and the attempts, that the sample partner holds in memory.
const rememberedPeople = 1000

// signIn is the sample partner as an application that people sign in to, with the authorization code flow (OpenID
// Connect Core 1.0 section 3.1), PKCE, state and nonce.
type signIn struct {
	issuer string
	config oauth2.Config // without the endpoint, which comes from discovery
	home   string        // address
	client *http.Client

	mu       sync.Mutex
	provider *oidc.Provider // nil until discovery has succeeded

	attempts *lru.Cache[string, attempt] // by state
	people   *lru.Cache[string, person]  // by the value of their cookie
}

// attempt is a user who was sent to sign in. A code is accepted only in the same browser: its cookie has the state.
type attempt struct {
	nonce, verifier string
	till            time.Time
}

// person is a user who signed in.
type person struct {
	idToken string
	claims  map[string]any
}

// The cookies. They have no names of people in them. Not Secure: the sample partner is at http://localhost.
const (
	attemptCookie = "partner-sign-in"
	personCookie  = "partner-person"
)

// newSignIn prepares sign-in at an issuer, for a partner at an address such as http://localhost:8090. It sends no
// request: the issuer may start later.
func newSignIn(issuer, client, secret, home string) (*signIn, error) {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("--issuer %s is no address: write it like http://localhost:8080/signin", issuer)
	}
	s := &signIn{issuer: issuer, home: home, client: terminal.Direct, config: oauth2.Config{
		ClientID: client, ClientSecret: secret, RedirectURL: home + CallbackPath,
		Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}}
	if s.attempts, err = lru.New[string, attempt](rememberedPeople); err != nil {
		return nil, err
	}
	s.people, err = lru.New[string, person](rememberedPeople)
	return s, err
}

// discover reads the provider's metadata, once.
func (s *signIn) discover() (*oidc.Provider, oauth2.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.provider == nil {
		// The provider requests keys with this context later: a request's context would have ended by then.
		p, err := oidc.NewProvider(oidc.ClientContext(context.Background(), s.client), s.issuer)
		if err != nil {
			return nil, oauth2.Config{}, err
		}
		s.provider = p
	}
	config := s.config
	config.Endpoint = s.provider.Endpoint()
	config.Endpoint.AuthStyle = oauth2.AuthStyleInHeader // trying other ways after an error would hide what it was
	return s.provider, config, nil
}

// serves reports whether a path is one of the pages.
func (s *signIn) serves(path string) bool {
	return s != nil && (path == HomePath || path == signInPath || path == CallbackPath || path == signOutPath)
}

func (s *signIn) serve(w http.ResponseWriter, r *http.Request, counts string) {
	switch r.URL.Path {
	case signInPath:
		s.begin(w, r)
	case CallbackPath:
		s.finish(w, r)
	case signOutPath:
		s.end(w, r)
	default:
		s.show(w, http.StatusOK, &pageData{Person: s.who(r), Counts: counts})
	}
}

// begin sends the user to the provider.
func (s *signIn) begin(w http.ResponseWriter, r *http.Request) {
	if home, err := url.Parse(s.home); err == nil && r.Host != home.Host {
		// The provider sends them back to that host, where they need the cookie.
		http.Redirect(w, r, s.home+signInPath, http.StatusSeeOther)
		return
	}
	_, config, err := s.discover()
	if err != nil {
		s.failed(w, http.StatusBadGateway, fmt.Sprintf("The provider's metadata can't be read: %v", err))
		return
	}
	state := rand.Text()
	a := attempt{nonce: rand.Text(), verifier: oauth2.GenerateVerifier(), till: time.Now().Add(attemptLife)}
	s.attempts.Add(state, a)
	setCookie(w, attemptCookie, state)
	http.Redirect(w, r, config.AuthCodeURL(state, oidc.Nonce(a.nonce), oauth2.S256ChallengeOption(a.verifier)),
		http.StatusSeeOther)
}

// finish handles the return of the user, with a code.
func (s *signIn) finish(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a, ok := s.attempts.Get(q.Get("state"))
	cookie, err := r.Cookie(attemptCookie)
	if !ok || err != nil || cookie.Value != q.Get("state") || time.Now().After(a.till) {
		s.failed(w, http.StatusBadRequest,
			"This answer belongs to no sign-in that began in this browser in the last ten minutes. Begin again.")
		return
	}
	s.attempts.Remove(cookie.Value) // an answer is accepted once
	setCookie(w, attemptCookie, "")
	provider, _, err := s.discover()
	if err != nil {
		s.failed(w, http.StatusBadGateway, fmt.Sprintf("The provider's metadata can't be read: %v", err))
		return
	}
	if !s.answers(provider, q) {
		s.failed(w, http.StatusBadRequest, "This answer is from another provider than the one that was asked.")
		return
	}
	if code := q.Get("error"); code != "" {
		s.failed(w, http.StatusForbidden, fmt.Sprintf("You are not signed in: %s (%s).", q.Get("error_description"), code))
		return
	}
	who, err := s.exchange(r.Context(), q.Get("code"), a)
	if err != nil {
		s.failed(w, http.StatusBadGateway, fmt.Sprintf("You are not signed in: %v", err))
		return
	}
	id := rand.Text()
	s.people.Add(id, who)
	setCookie(w, personCookie, id)
	http.Redirect(w, r, s.home+HomePath, http.StatusSeeOther)
}

// answers reports whether an answer is from the provider that was asked, as far as it says: only providers whose
// metadata promises it are sure to say so (RFC 9207 section 2.4).
func (s *signIn) answers(provider *oidc.Provider, q url.Values) bool {
	if q.Has("iss") {
		return q.Get("iss") == s.issuer
	}
	var metadata struct {
		Says bool `json:"authorization_response_iss_parameter_supported"`
	}
	return provider.Claims(&metadata) == nil && !metadata.Says
}

// exchange gets the tokens for a code, and verifies signature, issuer, audience, expiry and nonce of the ID token.
func (s *signIn) exchange(ctx context.Context, code string, a attempt) (person, error) {
	provider, config, err := s.discover()
	if err != nil {
		return person{}, err
	}
	token, err := config.Exchange(oidc.ClientContext(ctx, s.client), code, oauth2.VerifierOption(a.verifier))
	if err != nil {
		return person{}, fmt.Errorf("exchanging the code: %w", err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return person{}, errors.New("the provider's answer has no ID token")
	}
	verified, err := provider.Verifier(&oidc.Config{ClientID: s.config.ClientID}).Verify(ctx, raw)
	if err != nil {
		return person{}, err
	}
	if verified.Nonce != a.nonce {
		return person{}, errors.New("the ID token was made for another sign-in: its nonce is not the one that was sent")
	}
	if err := verified.VerifyAccessToken(token.AccessToken); err != nil {
		return person{}, fmt.Errorf("the access token is not the one of the ID token: %w", err)
	}
	who := person{idToken: raw}
	if err := verified.Claims(&who.claims); err != nil {
		return person{}, fmt.Errorf("reading the claims: %w", err)
	}
	return who, nil
}

// end signs the user out, here and at the provider.
func (s *signIn) end(w http.ResponseWriter, r *http.Request) {
	who := s.who(r)
	if cookie, err := r.Cookie(personCookie); err == nil {
		s.people.Remove(cookie.Value)
	}
	setCookie(w, personCookie, "")
	to := s.home + HomePath
	if provider, _, err := s.discover(); err == nil && who != nil {
		var metadata struct {
			EndSession string `json:"end_session_endpoint"`
		}
		if provider.Claims(&metadata) == nil && metadata.EndSession != "" {
			to = metadata.EndSession + "?" + url.Values{"id_token_hint": {who.idToken}, "client_id": {s.config.ClientID},
				"post_logout_redirect_uri": {to}}.Encode()
		}
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (s *signIn) who(r *http.Request) *person {
	cookie, err := r.Cookie(personCookie)
	if err != nil {
		return nil
	}
	who, ok := s.people.Get(cookie.Value)
	if !ok {
		return nil
	}
	return &who
}

// setCookie sets a cookie, or removes it if the value is empty.
func setCookie(w http.ResponseWriter, name, value string) {
	c := &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}
