package e2e

import (
	"bytes"
	"cmp"
	"context"
	"html"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// onLoopback finds every host here, as browsers do with those below localhost.
var onLoopback = &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
}}

// visitor is a browser of a test: it has cookies of each host, and of domains, and takes redirects one by one.
type visitor struct {
	t       *testing.T
	cookies map[string]map[string]string
}

func newVisitor(t *testing.T) *visitor { return &visitor{t, map[string]map[string]string{}} }

// ask sends a request, a form if there is one, as a browser does that shows a page. change may give it other headers.
func (v *visitor) ask(method, address string, form url.Values, change ...func(http.Header)) (*http.Response, string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, address, strings.NewReader(form.Encode()))
	require.NoError(v.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Mode", "navigate")
	for site, cookies := range v.cookies {
		if site != r.URL.Host && !strings.HasSuffix(r.URL.Hostname(), "."+site) {
			continue
		}
		for name, value := range cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
	}
	for _, fn := range change {
		fn(r.Header)
	}
	res, err := onLoopback.RoundTrip(r)
	require.NoError(v.t, err)
	defer res.Body.Close()
	var b bytes.Buffer
	_, err = io.Copy(&b, res.Body)
	require.NoError(v.t, err)
	for _, c := range res.Cookies() {
		site := cmp.Or(c.Domain, r.URL.Host)
		if v.cookies[site] == nil {
			v.cookies[site] = map[string]string{}
		}
		v.cookies[site][c.Name] = c.Value
	}
	return res, b.String()
}

// open shows a page, and returns where redirects end.
func (v *visitor) open(address string) (at, body string) {
	v.t.Helper()
	for range 10 {
		res, body := v.ask(http.MethodGet, address, nil)
		to := res.Header.Get("Location")
		if to == "" {
			return address, body
		}
		address = to
	}
	require.FailNow(v.t, "the redirects have no end", address)
	return "", ""
}

var requestOfForm = regexp.MustCompile(`name="request" value="([^"]*)"`)

// enter signs ada in, on the page of a sign-in, and returns where that ends.
func (v *visitor) enter(issuer, page string) (at, body string) {
	v.t.Helper()
	return v.enterAs("ada@example.com", issuer, page)
}

func (v *visitor) enterAs(email, issuer, page string) (at, body string) {
	v.t.Helper()
	return v.open(v.submit(email, issuer, page))
}

// submit fills in the page of a sign-in, and returns where that leads.
func (v *visitor) submit(email, issuer, page string) string {
	v.t.Helper()
	found := requestOfForm.FindStringSubmatch(page)
	require.NotNil(v.t, found, page)
	res, body := v.ask(http.MethodPost, issuer+"/oauth/sign-in", url.Values{"request": {html.UnescapeString(found[1])},
		"email": {email}, "password": {"correct horse"}, "action": {"sign-in"}})
	require.Equal(v.t, http.StatusSeeOther, res.StatusCode, body)
	return res.Header.Get("Location")
}

// An application has a provider for each host, and for a path. What signs in at one is nothing at the others.
func TestProvidersByHostAndPath(t *testing.T) {
	t.Parallel()
	a := newAlone(t, `http://localhost:PORT, http://127.0.0.1:PORT {
	bind 127.0.0.1
	handle_path /one/* {
		signin {
			base_url http://localhost:PORT/one
			key "a text of more than thirty-two characters"
		}
	}
	handle_path /two/* {
		signin {
			base_url http://localhost:PORT/two
			key "a text of more than thirty-two characters"
		}
	}
	handle {
		signin_gate {
			provider http://localhost:PORT/two {
				path /acme/*
				client acme what-the-application-is-known-by
				allow email nobody@example.com
			}
			provider http://localhost:PORT/one {
				host 127.0.0.1
				client acme what-the-application-is-known-by
			}
			provider http://localhost:PORT/two {
				host localhost
				client acme what-the-application-is-known-by
			}
			key "a text of more than thirty-two characters"
			allow email *@example.com
		}
		respond "the application has {http.request.header.X-Auth-Request-Email}"
	}
}
`)
	one, two := a.url("/one"), a.url("/two")
	first, second := "http://"+loopback(a.http), a.url("")
	a.addAda(first+"/oauth2/callback", first+"/acme/oauth2/callback", second+"/oauth2/callback")

	v := newVisitor(t)
	at, page := v.open(first + "/deep?x=1")
	require.Contains(t, at, one+"/oauth/authorize?")
	at, page = v.enter(one, page)
	require.Equal(t, []string{first + "/deep?x=1", "the application has ada@example.com"}, []string{at, page})

	here, there := strings.TrimPrefix(first, "http://"), strings.TrimPrefix(second, "http://")
	v.cookies[there] = maps.Clone(v.cookies[here])
	res, body := v.ask(http.MethodPost, second+"/", nil)
	require.Equal(t, http.StatusUnauthorized, res.StatusCode, body)
	at, _ = v.open(second + "/")
	require.Contains(t, at, two+"/oauth/authorize?")

	at, page = v.open(first + "/acme/x")
	require.Contains(t, at, two+"/oauth/authorize?")
	require.Contains(t, at, url.QueryEscape(first+"/acme/oauth2/callback"))
	at, page = v.enter(two, page)
	require.Equal(t, first+"/acme/x", at)
	require.Contains(t, page, "isn’t for this account", "the provider says itself who may come in")
	for _, path := range []string{"/acme/../x", "//acme/x", "/acme%2fx"} {
		res, body = v.ask(http.MethodGet, first+path, nil)
		require.Equal(t, http.StatusForbidden, res.StatusCode, "%s: %s", path, body)
	}
	_, page = v.open(first + "/x")
	require.Equal(t, "the application has ada@example.com", page)
}
