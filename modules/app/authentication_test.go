package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

func TestCredentialsComeFromEnvironmentAndFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte("of the file\r\n"), 0o600))
	t.Setenv("GATEWAY_TEST_CREDENTIAL", "hunter2")
	for _, one := range []struct {
		written Authentication
		want    model.Authentication
	}{
		{Authentication{Headers: []model.AuthHeader{{Name: "Authorization", Value: "Key {env.GATEWAY_TEST_CREDENTIAL}"}}},
			model.Authentication{Headers: []model.AuthHeader{{Name: "Authorization", Value: "Key hunter2"}}}},
		{Authentication{Basic: &model.BasicAuth{User: "gate", Password: "{file." + file + "}"}},
			model.Authentication{Basic: &model.BasicAuth{User: "gate", Password: "of the file"}}},
		{Authentication{Bearer: "{env.GATEWAY_TEST_CREDENTIAL}"}, model.Authentication{Bearer: "hunter2"}},
		{Authentication{OAuth2: &OAuth2{"https://login.example/token", "gate", "{env.GATEWAY_TEST_CREDENTIAL}", "a b"}},
			model.Authentication{OAuth2: &model.OAuth2{TokenURL: "https://login.example/token", ClientID: "gate",
				ClientSecret: "hunter2", Scope: "a b"}}},
	} {
		a := app()
		a.Dev, a.Tenants[0].Secrets = false, []string{"{file." + file + "}"}
		i := &a.Tenants[0].Integrations[0]
		i.Secret, i.Authentication = "{file."+file+"}", &one.written
		c, err := build(a)
		require.NoError(t, err)
		built, _ := c.Integration("acme", "hris")
		require.Equal(t, &one.want, built.Authentication)
	}
}

func TestCredentialsAreChecked(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing.pem")
	for want, written := range map[string]Authentication{
		"a header's value is empty":                     {Headers: []model.AuthHeader{{Name: "X-Key"}}},
		"header X-Service-UUID: those that begin":       {Headers: []model.AuthHeader{{Name: "X-Service-UUID", Value: "hunter2"}}},
		"header Host is set by the gateway":             {Headers: []model.AuthHeader{{Name: "Host", Value: "hunter2"}}},
		"exclude each other":                            {Bearer: "hunter2", Basic: &model.BasicAuth{User: "a", Password: "hunter2"}},
		"has no value":                                  {Bearer: "{env.GATEWAY_TEST_NOT_SET}"},
		"add `client_id {env.ACME_CLIENT_ID}`":          {OAuth2: &OAuth2{TokenURL: "https://x.example/y", ClientSecret: "hunter2"}},
		"token_url: the URL is plain http":              {OAuth2: &OAuth2{"http://login.example/token", "a", "hunter2", ""}},
		"tls: cert: the file can't be read":             {TLS: &ClientTLS{Certificate: missing, Key: missing}},
		"tls: cert (certificate) and key belong":        {TLS: &ClientTLS{Certificate: "authentication_test.go"}},
		"there is no certificate in ca":                 {TLS: &ClientTLS{CA: "authentication_test.go"}},
		"integration hris: authentication: basic takes": {Basic: &model.BasicAuth{User: "a:b", Password: "hunter2"}},
	} {
		a := app()
		a.Tenants[0].Integrations[0].Authentication = &written
		_, err := build(a)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
		require.NotContains(t, err.Error(), missing)
	}
	a := app()
	a.Tenants[0].Integrations[0].URL = "http://10.20.1.1/x"
	a.Tenants[0].Integrations[0].Authentication = &Authentication{TLS: &ClientTLS{CA: "testdata/none"}}
	_, err := build(a)
	require.Error(t, err)
}

// Caddy shows what is written out. A file may hold the certificate and its key.
func TestPrivateKeysAreNotWrittenOut(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	public, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	shown := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public}))
	secret := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
	folder := t.TempDir()
	certificate, key, both := filepath.Join(folder, "cert"), filepath.Join(folder, "key"), filepath.Join(folder, "both")
	for path, content := range map[string]string{certificate: shown, key: secret, both: shown + secret} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	t.Setenv("GATEWAY_TEST_KEY", secret)
	with := func(dev bool, written ClientTLS) error {
		a := app()
		a.Dev, a.Tenants[0].Secrets = dev, []string{"{file." + key + "}"}
		i := &a.Tenants[0].Integrations[0]
		i.Secret, i.Authentication = "{file."+key+"}", &Authentication{TLS: &written}
		_, err := build(a)
		return err
	}
	for _, written := range []ClientTLS{{Certificate: both, Key: both}, {Certificate: shown, Key: key, CA: shown},
		{Certificate: certificate, Key: "{env.GATEWAY_TEST_KEY}"}, {Certificate: certificate, Key: "{file." + key + "}"}} {
		require.NoError(t, with(false, written))
	}
	for option, written := range map[string]ClientTLS{"key": {Certificate: certificate, Key: secret},
		"cert": {Certificate: shown + secret, Key: key}, "ca": {CA: shown + secret}} {
		require.ErrorContains(t, with(false, written), "tls: "+option+" holds the private key itself: write the path")
		require.NotContains(t, with(false, written).Error(), "-----BEGIN")
	}
	require.NoError(t, with(true, ClientTLS{Certificate: shown, Key: secret}))
}
