package egress

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
)

// Authorities reads the certificates of authorities from a PEM file.
func Authorities(file string) (*x509.CertPool, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("ca: %w: name a file with the authorities' certificates, which the gateway's user may read", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("ca: there is no certificate in %s: it must hold those of the authorities, as PEM", file)
	}
	return pool, nil
}

// ClientFor returns a guarded client for servers whose certificates are of the authorities in a file; empty: of the
// system's.
func (g *Guard) ClientFor(ca string) (*http.Client, error) {
	if ca == "" {
		return g.Client(), nil
	}
	pool, err := Authorities(ca)
	if err != nil {
		return nil, err
	}
	return g.ClientWith(&tls.Config{RootCAs: pool}), nil
}
