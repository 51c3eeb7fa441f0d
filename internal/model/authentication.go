package model

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	maxHeaders    = 20
	maxHeaderName = 100
	maxCredential = 4 << 10 // bytes of a header's value, a token, a user, a password
)

// Bytes of PEM, at most.
const (
	MaxCertificate = 64 << 10 // a certificate or a key
	MaxAuthorities = 256 << 10
)

// Authentication proves to a receiver who calls it, beside the signature. Its values are credentials, which no answer
// shows.
type Authentication struct {
	Headers []AuthHeader `json:"headers,omitempty" schema:"maxItems=20"` // sent as they are
	// one of basic, bearer, oauth2 and a header Authorization may be there
	Basic  *BasicAuth `json:"basic,omitempty"`
	Bearer string     `json:"bearer,omitempty"` // the token of the header Authorization: Bearer
	OAuth2 *OAuth2    `json:"oauth2,omitempty"`
	TLS    *ClientTLS `json:"tls,omitempty"`
}

// AuthHeader is a header of each request. Those of the contract and of the connection are refused.
type AuthHeader struct {
	Name  string `json:"name" schema:"maxLength=100"`
	Value string `json:"value"`
}

// BasicAuth are the credentials of HTTP Basic (RFC 7617).
type BasicAuth struct {
	User     string `json:"user"` // without a colon
	Password string `json:"password"`
}

// OAuth2 fetches bearer tokens with the client credentials grant (RFC 6749 section 4.4).
type OAuth2 struct {
	TokenURL     string `json:"tokenUrl"` // where tokens are issued, reached as every receiver is
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret"`
	Scope        string `json:"scope,omitempty"` // separated by spaces
}

// ClientTLS is a certificate that is shown to the receiver, and the authorities that may have issued the receiver's.
// Either may be left out. All are PEM.
type ClientTLS struct {
	Certificate string `json:"certificate,omitempty"` // followed by those between it and its authority
	Key         string `json:"key,omitempty"`         // without a passphrase
	CA          string `json:"ca,omitempty"`          // left out: the system's authorities
}

// It prints as a placeholder, so that it can't slip into a log. Its JSON has the values: it is what a request for it
// holds, and what the store seals.

func (*Authentication) String() string   { return Hidden }
func (*Authentication) GoString() string { return Hidden }

// Format returns all of it, values included, as JSON; nil where there is none. Equal ones have equal texts.
func (a *Authentication) Format() []byte {
	if a == nil {
		return nil
	}
	raw, _ := json.Marshal(a) // of strings: can't fail
	return raw
}

// ParseAuthentication reads what Format made.
func ParseAuthentication(raw []byte) (*Authentication, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	a := new(Authentication)
	return a, json.Unmarshal(raw, a)
}

// Empty reports whether nothing is set.
func (a *Authentication) Empty() bool {
	return a == nil || len(a.Headers) == 0 && a.Basic == nil && a.Bearer == "" && a.OAuth2 == nil && a.TLS == nil
}

const authorization = "Authorization"

// Validate says which rule is broken, as Tenant.Validate does. Whether a header is one of the contract's is up to
// webhook.Names, and whether the token endpoint may be called up to egress.
func (a *Authentication) Validate() error {
	if len(a.Headers) > maxHeaders {
		return fmt.Errorf("there are more than %d headers: leave some out", maxHeaders)
	}
	ways := 0
	for n, h := range a.Headers {
		if err := h.Validate(); err != nil {
			return err
		}
		if slices.ContainsFunc(a.Headers[:n], func(o AuthHeader) bool { return strings.EqualFold(o.Name, h.Name) }) {
			return fmt.Errorf("header %s is there twice: keep one of them", h.Name)
		}
		if strings.EqualFold(h.Name, authorization) {
			ways++
		}
	}
	for _, there := range []bool{a.Basic != nil, a.Bearer != "", a.OAuth2 != nil} {
		if there {
			ways++
		}
	}
	if ways > 1 {
		return errors.New("basic, bearer, oauth2 and a header Authorization exclude each other, since each makes the " +
			"header Authorization: keep one of them")
	}
	if a.Basic != nil && (a.Basic.User == "" || strings.Contains(a.Basic.User, ":") || !isFieldValue(a.Basic.User) ||
		!isFieldValue(a.Basic.Password)) {
		return errors.New("basic takes a user without a colon and a password, each without control characters and spaces " +
			"at its ends, at least a character and at most 4 KiB long")
	}
	if a.Bearer != "" && (!isFieldValue(a.Bearer) || strings.Contains(a.Bearer, " ")) {
		return errors.New("bearer takes a token alone, without the word Bearer, spaces and control characters, at most " +
			"4 KiB long")
	}
	if a.OAuth2 != nil {
		if err := a.OAuth2.validate(); err != nil {
			return err
		}
	}
	if a.TLS != nil {
		return a.TLS.validate()
	}
	return nil
}

// Validate says what is wrong with a header.
func (h AuthHeader) Validate() error {
	if err := ValidateAuthHeader(h.Name); err != nil {
		return err
	}
	if !isFieldValue(h.Value) {
		return fmt.Errorf("header %s has a value that is empty, longer than 4 KiB, begins or ends with a space or has "+
			"characters that HTTP does not allow: correct it", h.Name)
	}
	return nil
}

// ours are headers that the gateway or the connection sets, in lower case. Those of the contract that have the maker's
// name are not among them.
var ours = []string{
	"host", "content-length", "content-type", "content-encoding", "user-agent", "link", "accept-encoding", "connection",
	"keep-alive", "proxy-connection", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade", "expect",
	"webhook-id", "webhook-timestamp", "webhook-signature", "traceparent", "tracestate",
}

// ValidateAuthHeader says what is wrong with the name of a header.
func ValidateAuthHeader(name string) error {
	const others = "!#$%&'*+-.^_`|~0123456789"
	if name == "" || len(name) > maxHeaderName || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune(others, r)
	}) {
		return fmt.Errorf("header %q: the name of a header has letters, digits and hyphens, as X-Api-Key, and at most %d "+
			"of them", name, maxHeaderName)
	}
	if slices.Contains(ours, strings.ToLower(name)) {
		return fmt.Errorf("header %s is set by the gateway and can't be another: leave it out", name)
	}
	return nil
}

// isFieldValue reports whether s can be the value of a header (RFC 9110 section 5.5), and is not too long.
func isFieldValue(s string) bool {
	return s != "" && len(s) <= maxCredential && strings.TrimSpace(s) == s &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func (o *OAuth2) validate() error {
	switch {
	case o.TokenURL == "" || o.ClientID == "" || o.ClientSecret == "":
		return errors.New("oauth2 is not complete: it takes token_url (tokenUrl), client_id (clientId) and client_secret " +
			"(clientSecret)")
	case len(o.TokenURL) > maxURL:
		return errors.New("oauth2: token_url (tokenUrl) is longer than 2 KiB: shorten it")
	case len(o.ClientID) > maxCredential || len(o.ClientSecret) > maxCredential || len(o.Scope) > maxCredential:
		return errors.New("oauth2: client_id (clientId), client_secret (clientSecret) or scope is longer than 4 KiB: " +
			"shorten it")
	}
	return nil
}

func (t *ClientTLS) validate() error {
	switch {
	case t.Certificate == "" && t.CA == "":
		return errors.New("tls says nothing: give cert (certificate) and key, or ca, or all three")
	case (t.Certificate == "") != (t.Key == ""):
		return errors.New("tls: cert (certificate) and key belong together: give both, or neither")
	case len(t.Certificate) > MaxCertificate || len(t.Key) > MaxCertificate || len(t.CA) > MaxAuthorities:
		return fmt.Errorf("tls: a certificate and a key have at most %d KiB, and ca %d KiB: leave out what is not needed",
			MaxCertificate>>10, MaxAuthorities>>10)
	}
	_, err := t.Config()
	return err
}

// Config returns the TLS configuration of the connections to the receiver.
func (t *ClientTLS) Config() (*tls.Config, error) {
	c := new(tls.Config)
	if t.CA != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(t.CA)) {
			return nil, errors.New("tls: there is no certificate in ca: it must hold those of the authorities, as PEM")
		}
	}
	if t.Certificate == "" {
		return c, nil
	}
	pair, err := tls.X509KeyPair([]byte(t.Certificate), []byte(t.Key))
	if err != nil { // its text has nothing of the key
		return nil, fmt.Errorf("tls: cert (certificate) and key can't be used (%w): give a certificate and its own key, "+
			"both as PEM, the key without a passphrase", err)
	}
	// Given as it is, also where the receiver names authorities that did not issue it: it says then why it refuses it.
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	return c, nil
}

// CertificateEnd returns when the certificate that is shown to the receiver ends; zero where there is none.
func (a *Authentication) CertificateEnd() time.Time {
	if a == nil || a.TLS == nil {
		return time.Time{}
	}
	for rest := []byte(a.TLS.Certificate); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return time.Time{}
		}
		if block.Type != "CERTIFICATE" { // as where the key is in the same file
			continue
		}
		leaf, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return time.Time{}
		}
		return leaf.NotAfter
	}
}
