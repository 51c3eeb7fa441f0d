package egress

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckURL(t *testing.T) {
	t.Parallel()
	open := New(Policy{Allow: append(allow(t, "127.0.0.1", "8090").Allow, allow(t, "10.0.0.0/8", "80").Allow...)})
	for _, ok := range []string{
		"https://hr.acme.example/inbound?client=acme",
		"https://hr.acme.example?client=acme",
		"https://hr.acme.example/acme",
		"https://hr.acme.example//acme/",
		"HTTPS://hr.acme.example:443/acme",
		"https://hr.acme.example:80/acme",
		"https://hr.acme.example:8090/acme",
		"https://8.8.8.8/acme",
		"https://[2606:4700:4700::1111]/acme",
		"http://hr.acme.example/acme", // decided when it is dialled
		"http://hr.acme.example:8090/acme",
		"http://127.0.0.1:8090/acme",
		"https://127.0.0.1:8090/acme",
		"http://10.1.2.3/acme",
	} {
		require.NoError(t, open.ValidateURL(ok), ok)
	}
	for url, want := range map[string]string{
		"":                                             "can't be read: write it as https://host/path",
		"hr.acme.example/hidden":                       "can't be read",
		"//hr.acme.example/hidden":                     "can't be read",
		"mailto:hidden@acme.example":                   "can't be read",
		"https://hr.acme.example/hidden%zz":            "can't be read",
		"https://hr.acme.example:hidden/":              "can't be read",
		"https://hr acme/hidden":                       "can't be read",
		" https://hr.acme.example/hidden":              "can't be read",
		"ftp://hr.acme.example/hidden":                 "scheme is ftp: use https",
		"https:///hidden":                              "no host",
		"https://:443/hidden":                          "no host",
		"https://hidden:hidden@hr.acme.example/hidden": "user name or password",
		"https://hidden@hr.acme.example/hidden":        "user name or password",
		"https://@hr.acme.example/hidden":              "user name or password",
		"https://hr.acme.example/hidden#hidden":        "fragment",
		"https://hr.acme.example/hidden#":              "fragment",
		"https://hr.acme.example": "no identifier of the receiver: add a path segment " +
			"or a query parameter",
		"https://hr.acme.example/":               "no identifier",
		"https://hr.acme.example//":              "no identifier",
		"https://hr.acme.example/?hidden":        "no identifier",
		"https://hr.acme.example/?hidden=":       "no identifier",
		"https://hr.acme.example:0/hidden":       "port is out of range",
		"https://hr.acme.example:65536/hidden":   "port is out of range",
		"https://hr.acme.example:8443/hidden":    "port is 8443: use 443, or let the operator allow",
		"http://hr.acme.example:8080/hidden":     "port is 8080: use 443, or let the operator allow",
		"http://hr.acme.example:443/hidden":      "plain http: use https, or let the operator allow",
		"https://127.0.0.1/hidden":               "127.0.0.1:443 is not a public but a loopback address",
		"https://[::1]:8090/hidden":              "a loopback address",
		"https://[::ffff:127.0.0.1]:8090/hidden": "an IPv4 address in IPv6 form",
		"https://[fe80::1%25eth0]/hidden":        "a link-local address",
		"https://169.254.169.254/hidden":         "a link-local address",
		"https://8.8.8.8:22/hidden":              "neither port 80 nor 443",
		"http://8.8.8.8/hidden":                  "plain http: use https",
		"http://8.8.8.8:8090/hidden":             "neither port 80 nor 443",
		"http://10.1.2.3:8080/hidden":            "a private address",
	} {
		err := open.ValidateURL(url)
		require.ErrorContains(t, err, want, url)
		require.NotContains(t, err.Error(), "hidden", url)
	}
}

func TestCheckURLWithoutAllowances(t *testing.T) {
	t.Parallel()
	g := New(Policy{})
	require.NoError(t, g.ValidateURL("https://hr.acme.example/acme"))
	require.ErrorContains(t, g.ValidateURL("http://hr.acme.example/acme"), "plain http: use https")
	require.ErrorContains(t, g.ValidateURL("http://127.0.0.1:8090/acme"), "a loopback address")
}
