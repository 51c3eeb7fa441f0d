package app

import (
	"cmp"
	"fmt"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/gateway"
)

// Temporal has the address of the Temporal server, and how to connect to it.
type Temporal struct {
	Address   string `json:"address,omitempty"`   // host:port
	Namespace string `json:"namespace,omitempty"` // default: default
	// TLS encrypts the connection. Default: it is encrypted only with an API key.
	TLS *gateway.TLS `json:"tls,omitempty"`
	// APIKey authenticates the gateway at Temporal Cloud, or at a proxy in front of a cluster: a placeholder.
	APIKey string `json:"api_key,omitempty"`
	// TakeOver is the id of a database that no gateway uses any more; our database takes over its namespace. With the
	// option dev it may be any. Default: a namespace of another database is refused.
	TakeOver string `json:"take_over,omitempty"`
}

// checkTakeOver checks take_over.
func checkTakeOver(s string, dev bool) error {
	if s == "" || s == gateway.TakeOverAny && dev {
		return nil
	}
	if id, err := uuid.Parse(s); err != nil || id.String() != s {
		return fmt.Errorf("take_over %q: write the id of the database whose namespace this one's is to be, as the refusal of "+
			"that namespace says it, such as %s", s, exampleID)
	}
	return nil
}

// security resolves the placeholders, and checks that the files can be read.
func (t Temporal) security(resolve resolve, dev bool) (s gateway.Security, err error) {
	s.Encrypted = t.TLS != nil || t.APIKey != ""
	if t.APIKey != "" {
		if s.APIKey, err = secretFrom(t.APIKey, dev, resolve); err != nil {
			return s, fmt.Errorf("api_key: %w", err)
		}
	}
	if t.TLS != nil {
		s.TLS = *t.TLS
	}
	for _, one := range []struct {
		option string
		text   *string
	}{{"ca", &s.TLS.CA}, {"client_auth", &s.TLS.Certificate}, {"client_auth", &s.TLS.Key},
		{"server_name", &s.TLS.ServerName}} {
		text, err := resolve(*one.text)
		if err != nil {
			return s, Unset(one.option, err)
		}
		*one.text = text
	}
	_, err = s.TLSConfig()
	return s, err
}

const (
	exampleTLS = "tls {, below it ca /etc/hiregate/temporal-ca.pem, below that }"
	exampleKey = "{env.TEMPORAL_API_KEY}"
	exampleID  = "0f8a6c1e-5d0e-4a57-9f0b-0c6f3f2b7a11"
)

func (p *parser) temporal() (err error) {
	t := &p.app.Temporal
	if t.Address, err = p.text(exampleTemporal, checkTemporal); err != nil {
		return err
	}
	return p.block(func() (err error) {
		option := p.Val()
		switch option {
		case "namespace":
			t.Namespace, err = p.text("default", anything)
		case "api_key":
			t.APIKey, err = p.argument(exampleKey)
			p.atEnd(func() error { return checkSecret(t.APIKey, p.app.Dev) })
		case "tls":
			return p.tls()
		case "take_over":
			t.TakeOver, err = p.word(exampleID, p.inMode(checkTakeOver))
		default:
			return p.unknown("namespace, tls, api_key or take_over")
		}
		return cmp.Or(err, p.noBlock(option))
	})
}

func (p *parser) tls() error {
	t := new(gateway.TLS)
	p.app.Temporal.TLS = t
	if p.NextArg() {
		return p.Err("tls takes a block, or nothing: write " + exampleTLS)
	}
	return p.block(func() (err error) {
		option := p.Val()
		switch option {
		case "ca":
			t.CA, err = p.argument("/etc/hiregate/temporal-ca.pem")
		case "server_name":
			t.ServerName, err = p.argument("temporal.internal")
		case "client_auth":
			if !p.AllArgs(&t.Certificate, &t.Key) || t.Certificate == "" || t.Key == "" {
				err = p.Err("client_auth takes two files, the gateway's certificate and its key: write, for example, " +
					"`client_auth /etc/hiregate/temporal.pem /etc/hiregate/temporal.key`")
			}
		default:
			return p.unknown("ca, client_auth or server_name")
		}
		return cmp.Or(err, p.noBlock(option))
	})
}
