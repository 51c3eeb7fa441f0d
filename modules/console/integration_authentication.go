package console

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// authenticationOf reads the credentials of a form; nil: none were written, so that those that are stored stay. The
// *failure says what is wrong with them.
func authenticationOf(form url.Values) (*model.Authentication, *failure) {
	field := func(name string) string { // browsers end lines of text with CRLF, which would make PEM longer
		return strings.TrimSpace(strings.ReplaceAll(form.Get(name), "\r\n", "\n"))
	}
	a := &model.Authentication{Bearer: field("bearer")}
	for line := range strings.Lines(form.Get("headers")) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, &failure{status: http.StatusBadRequest, Text: "WrongHeaders"}
		}
		a.Headers = append(a.Headers, model.AuthHeader{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
	}
	if user, password := field("basicUser"), form.Get("basicPassword"); user != "" || password != "" {
		a.Basic = &model.BasicAuth{User: user, Password: password}
	}
	if o := (model.OAuth2{TokenURL: field("tokenURL"), ClientID: field("clientID"), ClientSecret: form.Get("clientSecret"),
		Scope: field("scope")}); o != (model.OAuth2{}) {
		a.OAuth2 = &o
	}
	if t := (model.ClientTLS{Certificate: field("certificate"), Key: field("key"), CA: field("ca")}); t != (model.ClientTLS{}) {
		a.TLS = &t
	}
	if a.Empty() && form.Get("noAuthentication") == "" {
		return nil, nil
	}
	return a, nil
}

// CredentialsSet lists the kinds of credentials that an integration has.
func (p view) CredentialsSet(a *api.AuthenticationSet) string {
	kinds := append([]string(nil), a.Headers...)
	if a.Scheme != "" {
		kinds = append(kinds, p.Word("scheme", a.Scheme))
	}
	if !a.CertificateEndsAt.IsZero() {
		kinds = append(kinds, p.Word("scheme", "certificate"))
	}
	if a.CA {
		kinds = append(kinds, p.Word("scheme", "ca"))
	}
	return strings.Join(kinds, ", ")
}
