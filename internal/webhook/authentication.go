package webhook

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/hiregate/hiregate/internal/model"
)

// ValidateAuthentication says which header can't be set because it is one of the contract's; nil where there is none.
func (n Names) ValidateAuthentication(a *model.Authentication) error {
	if a == nil {
		return nil
	}
	for _, h := range a.Headers {
		if err := n.ValidateAuthHeader(h.Name); err != nil {
			return err
		}
	}
	return nil
}

// ValidateAuthHeader says what is wrong with the name of a header beside those of the contract, or nil.
func (n Names) ValidateAuthHeader(name string) error {
	if err := model.ValidateAuthHeader(name); err != nil {
		return err
	}
	if prefix := "X-" + n.Service + "-"; len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
		return fmt.Errorf("header %s: those that begin with %s belong to the contract: choose another name", name, prefix)
	}
	return nil
}

// Guard makes the clients that reach addresses that others gave us; *egress.Guard.
type Guard interface {
	Client() *http.Client
	// ClientWith returns a client with connections of its own, made with these certificates.
	ClientWith(*tls.Config) *http.Client
	// Kept returns the client that was built for an owner with a setting, so that its connections and tokens are used again.
	Kept(owner string, setting [sha256.Size]byte, build func() *http.Client) *http.Client
}

// ClientFor returns the client of an integration: through the guard, with its authentication, which an observer of the
// client's transport does not see.
func ClientFor(guard Guard, i *model.Integration) *http.Client {
	if i.Authentication.Empty() {
		return guard.Client()
	}
	return guard.Kept(i.Tenant+"/"+i.Name, sha256.Sum256(i.Setting()), func() *http.Client { return ClientOnce(guard, i) })
}

// ClientOnce returns a client as ClientFor does, for a setting that may not be used again: it is not kept. Close its idle
// connections after use.
func ClientOnce(guard Guard, i *model.Integration) *http.Client {
	a, plain := cmp.Or(i.Authentication, new(model.Authentication)), guard.Client()
	client := *plain
	if a.TLS != nil {
		if config, err := a.TLS.Config(); err == nil { // it was validated
			client = *guard.ClientWith(config)
		}
	}
	t := &authenticated{next: client.Transport, authentication: a}
	if a.OAuth2 != nil {
		issuer := plain
		if hostOf(a.OAuth2.TokenURL) == hostOf(i.URL) { // one server has one certificate
			issuer = &http.Client{Transport: client.Transport, CheckRedirect: client.CheckRedirect}
		}
		t.tokens = newTokens(issuer, a.OAuth2)
	}
	client.Transport = t
	return &client
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// authenticated adds credentials to requests.
type authenticated struct {
	next           http.RoundTripper
	authentication *model.Authentication
	tokens         *tokens // nil: there are none
}

// RoundTrip sends a request with credentials. One that is answered 401 is sent once more with a new token, where tokens
// are issued and a new one may help.
func (t *authenticated) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.tokens == nil {
		return t.next.RoundTrip(t.with(req, t.authentication.Bearer))
	}
	token, err := t.tokens.get(req.Context(), "")
	if err != nil {
		return nil, err
	}
	resp, err := t.next.RoundTrip(t.with(req, token))
	if err != nil || !t.tokens.judge(token, resp.StatusCode) || req.GetBody == nil {
		return resp, err
	}
	renewed, err := t.tokens.get(req.Context(), token)
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	body, err := req.GetBody()
	if err != nil {
		return resp, nil
	}
	resp.Body.Close()
	again := t.with(req, renewed)
	again.Body = body
	if resp, err = t.next.RoundTrip(again); err == nil {
		t.tokens.judge(renewed, resp.StatusCode)
	}
	return resp, err
}

// CloseIdleConnections closes those of the integration, which are those made with its certificates: the others are shared.
func (t *authenticated) CloseIdleConnections() {
	if own, ok := t.next.(interface{ CloseIdleConnections() }); ok && t.authentication.TLS != nil {
		own.CloseIdleConnections()
	}
}

// with returns a copy of a request with the credentials.
func (t *authenticated) with(req *http.Request, bearer string) *http.Request {
	req = req.Clone(req.Context())
	for _, h := range t.authentication.Headers {
		req.Header[h.Name] = []string{h.Value} // not Set: it goes onto the wire as it is written
	}
	switch basic := t.authentication.Basic; {
	case basic != nil:
		req.SetBasicAuth(basic.User, basic.Password)
	case bearer != "":
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	return req
}
