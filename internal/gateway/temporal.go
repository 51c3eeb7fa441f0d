package gateway

import (
	"crypto/tls"
	"fmt"

	"go.temporal.io/sdk/client"

	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/model"
)

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
	APIKey    model.Secret
}

// TLSConfig returns the TLS configuration of the connections; nil: they are not encrypted. Each connection reads the
// gateway's certificate again, so that a renewed one is used.
func (s Security) TLSConfig() (*tls.Config, error) {
	if !s.Encrypted {
		return nil, nil
	}
	c := &tls.Config{ServerName: s.TLS.ServerName}
	if s.TLS.CA != "" {
		var err error
		if c.RootCAs, err = egress.Authorities(s.TLS.CA); err != nil {
			return nil, fmt.Errorf("temporal: %w", err)
		}
	}
	if s.TLS.Certificate == "" && s.TLS.Key == "" {
		return c, nil
	}
	own := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(s.TLS.Certificate, s.TLS.Key)
		if err != nil {
			return nil, fmt.Errorf("temporal: client_auth: %w: name the gateway's certificate and its key, as PEM, "+
				"which its user may read", err)
		}
		return &pair, nil
	}
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own() }
	_, err := own()
	return c, err
}

// protect puts it into a client's options.
func (s Security) protect(o *client.Options) (err error) {
	o.ConnectionOptions.TLS, err = s.TLSConfig()
	if s.APIKey != "" {
		o.Credentials = client.NewAPIKeyStaticCredentials(s.APIKey.Reveal())
	}
	return err
}
