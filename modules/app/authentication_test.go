package app

import (
	"os"
	"path/filepath"
	"testing"

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
		{Authentication{Headers: []AuthHeader{{"Authorization", "Key {env.GATEWAY_TEST_CREDENTIAL}"}}},
			model.Authentication{Headers: []model.AuthHeader{{Name: "Authorization", Value: "Key hunter2"}}}},
		{Authentication{Basic: &BasicAuth{"gate", "{file." + file + "}"}},
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
		"a header's value is empty":                     {Headers: []AuthHeader{{Name: "X-Key"}}},
		"header X-Service-UUID: those that begin":       {Headers: []AuthHeader{{"X-Service-UUID", "hunter2"}}},
		"header Host is set by the gateway":             {Headers: []AuthHeader{{"Host", "hunter2"}}},
		"exclude each other":                            {Bearer: "hunter2", Basic: &BasicAuth{"a", "hunter2"}},
		"has no value":                                  {Bearer: "{env.GATEWAY_TEST_NOT_SET}"},
		"add `client_id {env.ACME_CLIENT_ID}`":          {OAuth2: &OAuth2{TokenURL: "https://x.example/y", ClientSecret: "hunter2"}},
		"token_url: the URL is plain http":              {OAuth2: &OAuth2{"http://login.example/token", "a", "hunter2", ""}},
		"tls: cert: the file can't be read":             {TLS: &ClientTLS{Cert: missing, Key: missing}},
		"tls: cert (certificate) and key belong":        {TLS: &ClientTLS{Cert: "authentication_test.go"}},
		"there is no certificate in ca":                 {TLS: &ClientTLS{CA: "authentication_test.go"}},
		"integration hris: authentication: basic takes": {Basic: &BasicAuth{"a:b", "hunter2"}},
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
