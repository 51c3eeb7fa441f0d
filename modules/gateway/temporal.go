package gateway

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"go.temporal.io/sdk/client"

	"github.com/hiregate/hiregate/internal/hiring"
)

// Temporal says where the Temporal server is, and how it is reached.
type Temporal struct {
	Address   string `json:"address,omitempty"`   // host:port
	Namespace string `json:"namespace,omitempty"` // default: default
	// TLS encrypts the connection. Default: it is encrypted only with an API key.
	TLS *TLS `json:"tls,omitempty"`
	// APIKey is what Temporal Cloud, or a proxy in front of a cluster, knows the gateway by: a placeholder.
	APIKey string `json:"api_key,omitempty"`
}

// TLS says how the connection to Temporal is encrypted. Files are PEM.
type TLS struct {
	// CA is a file of the authorities that may have signed the server's certificate. Default: the system's.
	CA string `json:"ca,omitempty"`
	// Certificate and Key are files of what the gateway shows of itself. Default: nothing.
	Certificate string `json:"certificate,omitempty"`
	Key         string `json:"key,omitempty"`
	// ServerName is whose certificate the server must have. Default: the host of the address.
	ServerName string `json:"server_name,omitempty"`
}

// Security is how the connection to Temporal is protected.
type Security struct {
	Encrypted bool
	TLS       TLS
	APIKey    hiring.Secret
}

// security resolves the placeholders, and looks whether the files can be read.
func (t Temporal) security(resolve resolve, dev bool) (s Security, err error) {
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
	}{{"ca", &s.TLS.CA}, {"client_auth", &s.TLS.Certificate}, {"client_auth", &s.TLS.Key}, {"server_name", &s.TLS.ServerName}} {
		text, err := resolve(*one.text)
		if err != nil {
			return s, Unset(one.option, err)
		}
		*one.text = text
	}
	_, err = s.config()
	return s, err
}

// config is that of the connections; nil: they are not encrypted. The gateway's certificate is read for each of them, so that one that
// was renewed is taken up.
func (s Security) config() (*tls.Config, error) {
	if !s.Encrypted {
		return nil, nil
	}
	c := &tls.Config{ServerName: s.TLS.ServerName}
	if s.TLS.CA != "" {
		raw, err := os.ReadFile(s.TLS.CA)
		if err != nil {
			return nil, fmt.Errorf("temporal: ca: %w: name a file with the authorities' certificates, which the gateway's user may read", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(raw) {
			return nil, fmt.Errorf("temporal: ca: there is no certificate in %s: it must hold those of the authorities, as PEM", s.TLS.CA)
		}
	}
	if s.TLS.Certificate == "" && s.TLS.Key == "" {
		return c, nil
	}
	own := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(s.TLS.Certificate, s.TLS.Key)
		if err != nil {
			return nil, fmt.Errorf("temporal: client_auth: %w: name the gateway's certificate and its key, as PEM, which its user may read", err)
		}
		return &pair, nil
	}
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own() }
	_, err := own()
	return c, err
}

// protect puts it into a client's options.
func (s Security) protect(o *client.Options) (err error) {
	o.ConnectionOptions.TLS, err = s.config()
	if s.APIKey != "" {
		o.Credentials = client.NewAPIKeyStaticCredentials(s.APIKey.Reveal())
	}
	return err
}

const (
	exampleTLS = "tls {, below it ca /etc/hiregate/temporal-ca.pem, below that }"
	exampleKey = "{env.TEMPORAL_API_KEY}"
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
		default:
			return p.unknown("namespace, tls or api_key")
		}
		return cmp.Or(err, p.noBlock(option))
	})
}

func (p *parser) tls() error {
	t := new(TLS)
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
				err = p.Err("client_auth takes two files, the gateway's certificate and its key: write, for example, `client_auth /etc/hiregate/temporal.pem /etc/hiregate/temporal.key`")
			}
		default:
			return p.unknown("ca, client_auth or server_name")
		}
		return cmp.Or(err, p.noBlock(option))
	})
}
