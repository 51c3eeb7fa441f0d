// Package oidcclient lets people sign in at another OpenID provider: hiregate is the relying party there (OpenID Connect
// Core section 3.1, with PKCE).
package oidcclient

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"github.com/hiregate/hiregate/internal/metrics"
)

// Provider is an OpenID provider, and our registration there. Don't copy it.
type Provider struct {
	Name     string // as people know it
	Issuer   string
	ClientID string
	Secret   string
	Client   *http.Client // that asks it
	Now      func() time.Time
	// Base and Keys stand for the metadata of a provider that has none: the address below which it has the two paths of the
	// contract, and the address of its keys. Empty: it has metadata.
	Base, Keys string
	// WantsGroups asks for the person's groups, which must be known.
	WantsGroups bool
	// TellsGroups asks for them as well. They may be unknown, but others learn them: none must be missing without a word.
	TellsGroups bool
	GroupsClaim string // in which they are; empty: groups
	// TrustEmail are domains whose addresses count as verified where the provider does not say whether they are.
	TrustEmail []string

	reading singleflight.Group
	last    atomic.Pointer[reading]
}

const (
	patience      = 15 * time.Second // how long the provider may take to answer
	metadataGood  = time.Hour        // how long its metadata is valid
	metadataPause = 10 * time.Second // before it is read again after a failure
)

// Metadata is a provider's metadata (OpenID Connect Discovery section 3).
type Metadata struct {
	*oidc.Provider
	here *Provider

	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	SendsIssuer bool     `json:"authorization_response_iss_parameter_supported"` // RFC 9207 section 3
	KeysURL     string   `json:"jwks_uri"`
	Scopes      []string `json:"scopes_supported"`
	Revocation  string   `json:"revocation_endpoint"`  // RFC 8414 section 2; empty: none
	EndSession  string   `json:"end_session_endpoint"` // OpenID Connect RP-Initiated Logout section 2.1; empty: none
}

// reading is the result of reading metadata, valid until a time.
type reading struct {
	found *Metadata
	err   error
	till  time.Time
}

// Discover returns the provider's metadata. It reads them on first use, once for all callers; each waits up to the end
// of its context. Later it refreshes them in the background, and keeps the old ones if that fails.
func (p *Provider) Discover(ctx context.Context) (*Metadata, error) {
	last := p.last.Load()
	if last != nil && p.Now().Before(last.till) {
		return last.found, last.err
	}
	read := p.reading.DoChan("", func() (any, error) { p.read(); return nil, nil })
	if last != nil && last.found != nil {
		return last.found, nil
	}
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the provider's metadata: %w", ctx.Err())
	case <-read:
		last = p.last.Load()
		return last.found, last.err
	}
}

// read reads the metadata, and stores the result.
func (p *Provider) read() {
	next := new(reading)
	next.found, next.err = p.ask()
	next.till = p.Now().Add(metadataGood)
	if next.err != nil {
		next.till = p.Now().Add(metadataPause)
		if last := p.last.Load(); last != nil && last.found != nil {
			next.found, next.err = last.found, nil
		}
	}
	p.last.Store(next)
}

// ask requests the metadata. Its context has no end: the provider's keys are read with it later.
func (p *Provider) ask() (*Metadata, error) {
	client := p.client()
	keys := &sparing{RoundTripper: client.Transport, limit: rate.NewLimiter(keysPerSecond, keysAtOnce)}
	client.Transport = keys
	ctx := oidc.ClientContext(context.Background(), client)
	if p.Keys != "" {
		keys.url = p.Keys
		fixed := oidc.ProviderConfig{IssuerURL: p.Issuer, AuthURL: p.Base + "/oauth/authorize",
			TokenURL: p.Base + "/openId/accessToken", JWKSURL: p.Keys, Algorithms: []string{oidc.RS256, oidc.ES256}}
		return &Metadata{Provider: fixed.NewProvider(ctx), here: p, KeysURL: p.Keys}, nil
	}
	found, err := oidc.NewProvider(ctx, p.Issuer)
	if err != nil {
		return nil, advised(fmt.Errorf("reading the provider's metadata: %w", err))
	}
	m := &Metadata{Provider: found, here: p}
	if found.Claims(m) != nil {
		return nil, errors.New(
			"reading the provider's metadata: a member has another type than OpenID Connect Discovery says")
	}
	keys.url = m.KeysURL
	return m, nil
}

// ErrAuthority means that the provider's certificate is of an authority that is not trusted here.
var ErrAuthority = errors.New("its certificate is of an authority that this machine does not know: name the file of that " +
	"authority with ca, beside the provider's client_id, or add it to those of the system")

// advised adds to an error what to do, where the provider's certificate is of an unknown authority.
func advised(err error) error {
	if errors.As(err, new(x509.UnknownAuthorityError)) {
		return fmt.Errorf("%w: %w", err, ErrAuthority)
	}
	return err
}

// EndSessionURL returns the address at which the user of an ID token signs out; empty: the provider has none.
func (m *Metadata) EndSessionURL(idToken string) string {
	u, err := url.Parse(m.EndSession)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	q := u.Query()
	q.Set("client_id", m.here.ClientID)
	if idToken != "" {
		q.Set("id_token_hint", idToken)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

func (p *Provider) client() *http.Client {
	c := *p.Client
	c.Timeout = patience
	c.Transport = bounded{cmp.Or(c.Transport, http.DefaultTransport), p.Issuer}
	return &c
}

// maxAnswer limits a provider's answer, in bytes.
const maxAnswer = 1 << 20

// bounded limits the size of answers, because the libraries that read them read to the end. It counts them as well.
type bounded struct {
	http.RoundTripper
	issuer string
}

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil || !errors.Is(r.Context().Err(), context.Canceled) { // otherwise the person did not wait for it
		metrics.OpenIDProviderAsked(b.issuer, err == nil && answer.StatusCode < http.StatusInternalServerError)
	}
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	}
	return answer, err
}

// The provider's keys are read at most this often. A token that names an unknown key causes a read, and anyone may send
// one; all callers get the keys of the latest read.
const (
	keysPerSecond = 1
	keysAtOnce    = 5
)

// sparing refuses to request the keys too often.
type sparing struct {
	http.RoundTripper
	url   string // set once the metadata is known
	limit *rate.Limiter
}

func (s *sparing) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.url != "" && r.URL.String() == s.url && !s.limit.Allow() {
		return nil, errors.New("the provider's keys were read a moment ago")
	}
	return s.RoundTripper.RoundTrip(r)
}

// AuthCodeURL returns the address at which a person signs in, for one visit; they return to redirectURI.
func (m *Metadata) AuthCodeURL(redirectURI string, v Visit, options ...oauth2.AuthCodeOption) string {
	options = append(options, oidc.Nonce(v.Nonce), oauth2.S256ChallengeOption(v.Verifier))
	return m.config(redirectURI).AuthCodeURL(v.State, options...)
}

func (m *Metadata) config(redirectURI string) *oauth2.Config {
	at := m.Endpoint()
	at.AuthStyle = m.authStyle()
	scopes := []string{oidc.ScopeOpenID, "profile", "email"}
	if (m.here.WantsGroups || m.here.TellsGroups) && slices.Contains(m.Scopes, "groups") {
		scopes = append(scopes, "groups")
	}
	return &oauth2.Config{ClientID: m.here.ClientID, ClientSecret: m.here.Secret, Endpoint: at,
		RedirectURL: redirectURI, Scopes: scopes}
}

// authStyle returns how to send our secret to the provider: with client_secret_basic, the default, or else in the body.
// Trying both would send the code twice.
func (m *Metadata) authStyle() oauth2.AuthStyle {
	if slices.Contains(m.AuthMethods, "client_secret_post") && !slices.Contains(m.AuthMethods, "client_secret_basic") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}
