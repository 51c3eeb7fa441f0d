package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

func TestAuthenticationRules(t *testing.T) {
	t.Parallel()
	header := func(name, value string) *model.Authentication {
		return &model.Authentication{Headers: []model.AuthHeader{{Name: name, Value: value}}}
	}
	basic := &model.BasicAuth{User: "gate", Password: "hunter2"}
	tokens := &model.OAuth2{TokenURL: "https://login.example/token", ClientID: "id", ClientSecret: "hunter2"}
	many := new(model.Authentication)
	for n := range 21 {
		many.Headers = append(many.Headers, model.AuthHeader{Name: fmt.Sprint("X-", n), Value: "v"})
	}
	for name, one := range map[string]struct {
		a    *model.Authentication
		want string // part of the sentence; empty: it is valid
	}{
		"nothing":              {new(model.Authentication), ""},
		"header":               {header("x-api-key", "Key hunter2"), ""},
		"authorization":        {header("Authorization", "Key hunter2"), ""},
		"basic":                {&model.Authentication{Basic: basic}, ""},
		"bearer":               {&model.Authentication{Bearer: "hunter2=="}, ""},
		"oauth2":               {&model.Authentication{OAuth2: tokens}, ""},
		"content type":         {header("content-type", "text/plain"), "header content-type is set by the gateway"},
		"host":                 {header("Host", "x"), "header Host is set by the gateway"},
		"length":               {header("Content-Length", "1"), "set by the gateway"},
		"link":                 {header("Link", "x"), "set by the gateway"},
		"standard webhooks":    {header("Webhook-Id", "x"), "set by the gateway"},
		"trace":                {header("traceparent", "x"), "set by the gateway"},
		"no name":              {header("", "x"), `header ""`},
		"space in a name":      {header("X Y", "x"), "letters, digits and hyphens"},
		"no value":             {header("X-Y", ""), "header X-Y has a value that is empty"},
		"line in a value":      {header("X-Y", "a\r\nHost: b"), "characters that HTTP does not allow"},
		"long value":           {header("X-Y", strings.Repeat("a", 5000)), "longer than 4 KiB"},
		"too many headers":     {many, "more than 20 headers"},
		"user with a colon":    {&model.Authentication{Basic: &model.BasicAuth{User: "a:b", Password: "c"}}, "without a colon"},
		"no password":          {&model.Authentication{Basic: &model.BasicAuth{User: "a"}}, "basic takes"},
		"bearer with the word": {&model.Authentication{Bearer: "Bearer hunter2"}, "without the word Bearer"},
		"two ways":             {&model.Authentication{Basic: basic, Bearer: "hunter2"}, "exclude each other"},
		"a way and a header":   {&model.Authentication{Headers: header("authorization", "x").Headers, OAuth2: tokens}, "exclude each other"},
		"half of oauth2":       {&model.Authentication{OAuth2: &model.OAuth2{ClientID: "id"}}, "oauth2 is not complete"},
		"tls of nothing":       {&model.Authentication{TLS: new(model.ClientTLS)}, "tls says nothing"},
		"certificate alone":    {&model.Authentication{TLS: &model.ClientTLS{Certificate: "x"}}, "belong together"},
		"certificate that is no PEM": {&model.Authentication{TLS: &model.ClientTLS{Certificate: "hunter2", Key: "hunter2"}},
			"can't be used"},
		"ca that is no PEM": {&model.Authentication{TLS: &model.ClientTLS{CA: "hunter2"}}, "no certificate in ca"},
	} {
		err := one.a.Validate()
		if one.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, one.want, name)
		require.NotContains(t, err.Error(), "hunter2", name)
	}
	twice := header("X-Key", "a")
	twice.Headers = append(twice.Headers, model.AuthHeader{Name: "x-key", Value: "b"})
	require.ErrorContains(t, twice.Validate(), "there twice")
}

// Credentials neither print nor change the setting of those that have none.
func TestAuthenticationIsHidden(t *testing.T) {
	t.Parallel()
	i := model.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/in", Secret: "s"}
	plain := i.Setting()
	i.Authentication = &model.Authentication{Bearer: "hunter2"}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		require.NotContains(t, fmt.Sprintf(format, i.Authentication), "hunter2")
		require.NotContains(t, fmt.Sprintf(format, i), "hunter2")
	}
	require.NotEqual(t, plain, i.Setting(), "other credentials are verified")
	read, err := model.ParseAuthentication(i.Authentication.Format())
	require.NoError(t, err)
	require.Equal(t, i.Authentication, read)
	none, err := model.ParseAuthentication((*model.Authentication)(nil).Format())
	require.NoError(t, err)
	require.Nil(t, none)
}
