package signin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"
)

// Upstream is another OpenID provider, such as that of a company, where people may sign in.
type Upstream struct {
	Name     string // as people know it
	Issuer   string
	ClientID string
	Secret   string
	Client   *http.Client // that asks it
	Now      func() time.Time

	reading singleflight.Group
	last    atomic.Pointer[reading]
}

const (
	upstreamPatience = 15 * time.Second // how long an upstream may take to answer
	metadataGood     = time.Hour        // how long its metadata is valid
	metadataPause    = 10 * time.Second // before it is read again after a failure
)

// metadata is an upstream's metadata (OpenID Connect Discovery section 3).
type metadata struct {
	*oidc.Provider
	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	TellsIssuer bool     `json:"authorization_response_iss_parameter_supported"` // RFC 9207 section 3
}

// reading is the result of reading metadata, valid until a time.
type reading struct {
	found *metadata
	err   error
	till  time.Time
}

// discovered returns the upstream's metadata. It is read on first use, once for all callers, each of whom waits as long
// as its own context. Later it is refreshed in the background, and the old metadata stays if that fails.
func (u *Upstream) discovered(ctx context.Context) (*metadata, error) {
	last := u.last.Load()
	if last != nil && u.Now().Before(last.till) {
		return last.found, last.err
	}
	read := u.reading.DoChan("", func() (any, error) { u.read(); return nil, nil })
	if last != nil && last.found != nil {
		return last.found, nil
	}
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the upstream's metadata: %w", ctx.Err())
	case <-read:
		last = u.last.Load()
		return last.found, last.err
	}
}

// read reads the metadata, and stores the result.
func (u *Upstream) read() {
	next := new(reading)
	next.found, next.err = u.ask()
	next.till = u.Now().Add(metadataGood)
	if next.err != nil {
		next.till = u.Now().Add(metadataPause)
		if last := u.last.Load(); last != nil && last.found != nil {
			next.found, next.err = last.found, nil
		}
	}
	u.last.Store(next)
}

// ask requests the metadata. Its context has no end: the upstream's keys are read with it later.
func (u *Upstream) ask() (*metadata, error) {
	found, err := oidc.NewProvider(oidc.ClientContext(context.Background(), u.client()), u.Issuer)
	if err != nil {
		return nil, fmt.Errorf("reading the upstream's metadata: %w", err)
	}
	m := &metadata{Provider: found}
	if found.Claims(m) != nil {
		return nil, errors.New(
			"reading the upstream's metadata: a member has another type than OpenID Connect Discovery says")
	}
	return m, nil
}

func (u *Upstream) client() *http.Client {
	c := *u.Client
	c.Timeout = upstreamPatience
	c.Transport = bounded{cmp.Or(c.Transport, http.DefaultTransport)}
	return &c
}

// maxUpstreamAnswer is how much of an upstream's answer is read, in bytes.
const maxUpstreamAnswer = 1 << 20

// bounded limits the size of answers: the libraries that read them read to the end.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxUpstreamAnswer)
	}
	return answer, err
}

func (u *Upstream) config(found *metadata, here string) *oauth2.Config {
	at := found.Endpoint()
	at.AuthStyle = found.authStyle()
	return &oauth2.Config{ClientID: u.ClientID, ClientSecret: u.Secret, Endpoint: at,
		RedirectURL: here + upstreamCallback, Scopes: []string{oidc.ScopeOpenID, "profile", "email"}}
}

// authStyle returns how the upstream takes our secret: with client_secret_basic, the default, or else in the body.
// Trying both would send the code twice.
func (m *metadata) authStyle() oauth2.AuthStyle {
	if slices.Contains(m.AuthMethods, "client_secret_post") && !slices.Contains(m.AuthMethods, "client_secret_basic") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}
