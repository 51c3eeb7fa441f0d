package app

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

// Authentication proves to a receiver who calls it, beside the signature.
type Authentication struct {
	// Headers are sent with each request. Each value has a placeholder in it. Default: none.
	Headers []model.AuthHeader `json:"headers,omitempty"`
	// Basic makes the header Authorization with a user and a password, which is a placeholder. Default: none.
	Basic *model.BasicAuth `json:"basic,omitempty"`
	// Bearer is a token for the header Authorization: a placeholder. Default: none.
	Bearer string `json:"bearer,omitempty"`
	// OAuth2 fetches such tokens with the client credentials grant. Default: none.
	OAuth2 *OAuth2 `json:"oauth2,omitempty"`
	// TLS has the certificate that is shown to the receiver, and the receiver's authorities. Default: none, and the system's.
	TLS *ClientTLS `json:"tls,omitempty"`
}

// OAuth2 says how tokens are fetched.
type OAuth2 struct {
	TokenURL string `json:"token_url"`
	ClientID string `json:"client_id"`
	// ClientSecret is a placeholder.
	ClientSecret string `json:"client_secret"`
	// Scope lists scopes, separated by spaces. Default: none.
	Scope string `json:"scope,omitempty"`
}

// ClientTLS names files, or has placeholders of their content. All are PEM.
type ClientTLS struct {
	// Certificate is shown to the receiver, and Key is its key, which is not written out. Default: none.
	Certificate string `json:"cert,omitempty"`
	Key         string `json:"key,omitempty"`
	// CA has the authorities that may have issued the receiver's certificate. Default: the system's.
	CA string `json:"ca,omitempty"`
}

// build resolves the placeholders and reads the files; nil where nothing is set.
func (a *Authentication) build(resolve resolve, dev bool, guard *egress.Guard) (*model.Authentication, error) {
	if a == nil {
		return nil, nil
	}
	var failed error
	text := func(option, written string) string {
		text, err := resolve(written)
		if err != nil {
			failed = cmp.Or(failed, Unset(option, err))
		}
		return strings.TrimRight(text, "\r\n") // of a file
	}
	secret := func(option, written string) string {
		secret, err := secretFrom(written, dev, resolve)
		if err != nil {
			failed = cmp.Or(failed, fmt.Errorf("%s: %w", option, err))
		}
		return secret.Reveal()
	}
	built := new(model.Authentication)
	for _, h := range a.Headers {
		if err := checkHeaderValue(h.Value, dev); err != nil {
			return nil, err
		}
		built.Headers = append(built.Headers, model.AuthHeader{Name: h.Name, Value: text("header", h.Value)})
	}
	if a.Basic != nil {
		built.Basic = &model.BasicAuth{User: text("basic", a.Basic.User), Password: secret("basic", a.Basic.Password)}
	}
	if a.Bearer != "" {
		built.Bearer = secret("bearer", a.Bearer)
	}
	if a.OAuth2 != nil {
		if err := a.OAuth2.complete(); err != nil {
			return nil, err
		}
		o := model.OAuth2(*a.OAuth2)
		o.TokenURL, o.ClientID = text("token_url", o.TokenURL), text("client_id", o.ClientID)
		o.ClientSecret, o.Scope = secret("client_secret", o.ClientSecret), text("scope", o.Scope)
		built.OAuth2 = &o
	}
	if a.TLS != nil {
		t := model.ClientTLS(*a.TLS)
		for _, one := range []struct {
			option string
			pem    *string
		}{{"cert", &t.Certificate}, {"key", &t.Key}, {"ca", &t.CA}} {
			err := checkKey(one.option, *one.pem, dev)
			if err == nil {
				*one.pem, err = pemFrom(one.option, *one.pem, resolve)
			}
			if err != nil {
				return nil, err
			}
		}
		built.TLS = &t
	}
	if failed == nil && built.OAuth2 != nil {
		if err := guard.ValidateURL(built.OAuth2.TokenURL); err != nil {
			failed = fmt.Errorf("token_url: %w", err)
		}
	}
	return built, failed
}

// checkKey checks an option of tls as it is written in the configuration: a private key is not written out, nor one beside
// a certificate.
func checkKey(option, written string, dev bool) error {
	if !dev && strings.Contains(written, "-----BEGIN") && (option == "key" || strings.Contains(written, "PRIVATE KEY-----")) {
		return fmt.Errorf("tls: %s holds the private key itself: write the path of a file that has it, or a placeholder, "+
			"{env.NAME} or {file./path}: Caddy shows what is written out in its /config and its autosave file ({$NAME} is "+
			"written out, too)", option)
	}
	return nil
}

// pemFrom returns the content of a file, or of a placeholder that has it.
func pemFrom(option, written string, resolve resolve) (string, error) {
	if written == "" {
		return "", nil
	}
	text, err := resolve(written)
	if err != nil {
		return "", Unset("tls: "+option, err)
	}
	if strings.Contains(text, "-----BEGIN ") {
		return text, nil
	}
	if placeholder.MatchString(written) && strings.ContainsAny(text, "\r\n") {
		return "", fmt.Errorf("tls: %s: %s has no PEM, which begins with -----BEGIN: put the file's content there, or "+
			"write its path", option, written)
	}
	raw, err := os.ReadFile(text)
	if err != nil {
		return "", fmt.Errorf("tls: %s: the file can't be read (%w): name one that the gateway's user may read", option,
			withoutPath(err))
	}
	return string(raw), nil
}

// withoutPath returns the cause alone: the path may be a placeholder's value that was meant to be the content.
func withoutPath(err error) error {
	if at := new(os.PathError); errors.As(err, &at) {
		return at.Err
	}
	return err
}

// checkHeaderValue checks the value of a header as it is written in the configuration.
func checkHeaderValue(written string, dev bool) error {
	switch {
	case written == "":
		return errors.New("a header's value is empty: write a placeholder, {env.NAME} or {file./path}")
	case !dev && !placeholders.MatchString(written):
		return errors.New("a header's value must have a placeholder in it, {env.NAME} or {file./path}: Caddy shows what is " +
			"written out in its /config and its autosave file ({$NAME} is written out, too)")
	}
	return nil
}

func (o *OAuth2) complete() error {
	return incomplete("oauth2", required{"token_url", o.TokenURL, exampleTokenURL},
		required{"client_id", o.ClientID, "{env.ACME_CLIENT_ID}"},
		required{"client_secret", o.ClientSecret, "{env.ACME_CLIENT_SECRET}"})
}

func (t *ClientTLS) complete() error {
	switch {
	case t.Certificate == "" && t.Key == "" && t.CA == "":
		return fmt.Errorf("tls takes a block: write %s", exampleClientTLS)
	case (t.Certificate == "") != (t.Key == ""):
		return errors.New("tls: cert and key belong together: write both, or neither")
	}
	return nil
}

const (
	exampleTokenURL  = "https://login.acme.example/oauth/token"
	exampleClientTLS = "tls {, below it cert /etc/hiregate/acme.pem and key /etc/hiregate/acme.key, below that }"
)

// authentication reads an option of an integration that says how the receiver knows the gateway; known is false where
// it is none.
func (p *parser) authentication(i *Integration) (known bool, err error) {
	a, option := i.Authentication, p.Val()
	if a == nil {
		a = new(Authentication)
	}
	var authorizes bool // it makes the header Authorization
	switch option {
	case "header":
		authorizes, err = p.authHeader(a)
	case "basic":
		authorizes, err = true, p.basic(a)
	case "bearer":
		authorizes = true
		a.Bearer, err = p.argument("{env.ACME_TOKEN}")
		token := a.Bearer
		p.atEnd(func() error { return checkSecret(token, p.app.Dev) })
	case "oauth2":
		authorizes, err = true, p.oauth2(a)
	case "tls":
		err = p.clientTLS(a)
	default:
		return false, nil
	}
	if err == nil && authorizes {
		if i.authorizedBy != "" {
			return true, p.Errf("%s and %s exclude each other, since both make the header Authorization: keep one of them",
				i.authorizedBy, option)
		}
		i.authorizedBy = option
	}
	i.Authentication = a
	return true, err
}

func (p *parser) authHeader(a *Authentication) (authorizes bool, err error) {
	args := p.RemainingArgs()
	if len(args) != 2 {
		return false, p.Err("header takes a name and a value: write, for example, `header X-Api-Key {env.ACME_API_KEY}`")
	}
	name, value := args[0], args[1]
	if err := model.ValidateAuthHeader(name); err != nil {
		return false, p.WrapErr(err)
	}
	for _, other := range a.Headers {
		if strings.EqualFold(other.Name, name) {
			return false, p.Errf("header %s is there twice: keep one of them", name)
		}
	}
	p.atEnd(func() error { return cmp.Or(checkHeaderValue(value, p.app.Dev), p.checkAuthHeader(name)) })
	a.Headers = append(a.Headers, model.AuthHeader{Name: name, Value: value})
	return strings.EqualFold(name, "Authorization"), p.noBlock("header")
}

// checkAuthHeader checks the name of a header against those of the contract, unless the maker's name is a placeholder.
func (p *parser) checkAuthHeader(name string) error {
	names, err := webhook.NamesFor(cmp.Or(p.app.ServiceName, defaultService))
	if err != nil {
		return nil // see service_name
	}
	return names.ValidateAuthHeader(name)
}

func (p *parser) basic(a *Authentication) error {
	args := p.RemainingArgs()
	if len(args) != 2 || args[0] == "" || args[1] == "" {
		return p.Err("basic takes a user and a password: write, for example, `basic hiregate {env.ACME_PASSWORD}`")
	}
	a.Basic = &model.BasicAuth{User: args[0], Password: args[1]}
	p.atEnd(func() error { return checkSecret(args[1], p.app.Dev) })
	return p.noBlock("basic")
}

func (p *parser) oauth2(a *Authentication) error {
	if p.NextArg() {
		return p.Err("oauth2 takes a block: write oauth2 {, below it token_url, client_id and client_secret, below that }")
	}
	head, o := *p.Dispenser, new(OAuth2)
	a.OAuth2 = o
	if err := p.block(func() (err error) {
		option := p.Val()
		switch option {
		case "token_url":
			o.TokenURL, err = p.text(exampleTokenURL, func(s string) error {
				p.atEnd(func() error { return p.checkURL(s) })
				return nil
			})
		case "client_id":
			o.ClientID, err = p.text("{env.ACME_CLIENT_ID}", anything)
		case "client_secret":
			o.ClientSecret, err = p.argument("{env.ACME_CLIENT_SECRET}")
			p.atEnd(func() error { return checkSecret(o.ClientSecret, p.app.Dev) })
		case "scope":
			all := p.RemainingArgs()
			if o.Scope = strings.Join(all, " "); o.Scope == "" {
				err = p.Err("scope takes one or several scopes: write, for example, `scope candidates.write`")
			}
		default:
			return p.unknown("token_url, client_id, client_secret or scope")
		}
		return cmp.Or(err, p.noBlock(option))
	}); err != nil {
		return err
	}
	p.complete(head, o.complete())
	return nil
}

func (p *parser) clientTLS(a *Authentication) error {
	if p.NextArg() {
		return p.Err("tls takes a block: write " + exampleClientTLS)
	}
	head, t := *p.Dispenser, new(ClientTLS)
	a.TLS = t
	if err := p.block(func() (err error) {
		option := p.Val()
		check := p.inMode(func(s string, dev bool) error { return checkKey(option, s, dev) })
		switch option {
		case "cert":
			t.Certificate, err = p.word("/etc/hiregate/acme.pem", check)
		case "key":
			t.Key, err = p.word("/etc/hiregate/acme.key", check)
		case "ca":
			t.CA, err = p.word("/etc/hiregate/acme-ca.pem", check)
		default:
			return p.unknown("cert, key or ca")
		}
		return cmp.Or(err, p.noBlock(option))
	}); err != nil {
		return err
	}
	p.complete(head, t.complete())
	return nil
}
