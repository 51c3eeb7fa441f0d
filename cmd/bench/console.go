package main

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"time"
)

const consoleSite = signinSite + `
	handle_path /console* {
		console {
			key {env.HIREGATE_SIGNIN_KEY}
			roles {
				administrator email ops@example.com
			}
		}
	}`

// consolePages are the paths of the pages to measure, below the console's address.
var consolePages = map[string]string{
	"start":               "",
	"start of a tenant":   "?tenant=t-3",
	"exports":             "/exports",
	"exports of a tenant": "/exports?tenant=t-3",
	"failed":              "/exports?tenant=t-3&outcome=failed",
	"undelivered":         "/exports?undelivered=true",
	"lost documents":      "/exports?lostDocuments=true",
	"one export":          "/exports/t-3/u-3",
	"tenant":              "/tenants/t-3",
	"integration":         "/tenants/t-3/integrations/hris",
	"redeliveries":        "/redeliveries",
	"audit":               "/audit",
}

const readsOfPage = 50

// console measures the pages of the console over many exports, as the browser of an administrator gets them.
func (b *bench) console() error {
	filled, err := b.database(b.onPostgres, b.dir)
	if err != nil {
		return err
	}
	if err := fill(filled, filling{exports: b.listed, body: "{}"}); err != nil {
		return err
	}
	var tenants strings.Builder
	for n := range filledTenants {
		name := fmt.Sprint("t-", n)
		tenants.WriteString(tenant(name, "127.0.0.1:1/"+name, ""))
	}
	s, err := b.serve(options{site: consoleSite, filled: filled, tenants: tenants.String()})
	if err != nil {
		return err
	}
	defer s.stop()
	operator, err := s.operator()
	if err != nil {
		return err
	}
	for name, path := range consolePages {
		if err := b.timed("console, "+name, readsOfPage, func() error {
			_, err := get(operator, "http://"+s.address+"/console"+path)
			return err
		}); err != nil {
			return err
		}
	}
	for _, path := range []string{"/overview", "/status?hours=24", "/failures"} {
		if err := b.timed("console, "+path, readsOfPage, func() error { return s.read(path) }); err != nil {
			return err
		}
	}
	return nil
}

// operator returns the client of an administrator who is signed in to the console of a server.
func (s *server) operator() (*http.Client, error) {
	const email, password = "ops@example.com", "correct horse"
	if err := s.post("/users", map[string]any{"email": email, "emailVerified": true, "password": password}); err != nil {
		return nil, err
	}
	return enterConsole("http://"+s.address+"/console", email, password)
}

// timed reports how long a question takes that is asked several times.
func (b *bench) timed(name string, times int, ask func() error) error {
	took := make([]time.Duration, times)
	for n := range took {
		began := time.Now()
		if err := ask(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		took[n] = time.Since(began)
	}
	r := resultOf(took, 0, 0)
	return report(name, struct {
		Rows int     `json:"rows"`
		P50  float64 `json:"p50Seconds"`
		P99  float64 `json:"p99Seconds"`
	}{b.listed, r.P50.Seconds(), r.P99.Seconds()})
}

// trusting also returns Secure cookies over http, as browsers do for localhost.
type trusting struct{ http.CookieJar }

func (j trusting) SetCookies(u *url.URL, cookies []*http.Cookie) {
	for _, c := range cookies {
		c.Secure = false
	}
	j.CookieJar.SetCookies(u, cookies)
}

var signInForm = regexp.MustCompile(`<form method="post" action="([^"]+)"`)

// enterConsole returns a client that is signed in to the console at an address.
func enterConsole(address, email, password string) (*http.Client, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Jar: trusting{jar}}
	page, err := get(client, address)
	if err != nil {
		return nil, err
	}
	action, request := signInForm.FindStringSubmatch(page), hidden.FindStringSubmatch(page)
	if action == nil || request == nil {
		return nil, fmt.Errorf("the console does not lead to a sign-in page: %.300s", page)
	}
	to, err := url.Parse(address)
	if err == nil {
		to, err = to.Parse(html.UnescapeString(action[1]))
	}
	if err != nil {
		return nil, err
	}
	answer, err := client.PostForm(to.String(), url.Values{"request": {html.UnescapeString(request[1])}, "email": {email},
		"password": {password}, "action": {"sign-in"}})
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if at := answer.Request.URL.String(); answer.StatusCode != http.StatusOK || !strings.HasPrefix(at, address) {
		return nil, fmt.Errorf("signing in to the console led to %s, status %d", at, answer.StatusCode)
	}
	return client, nil
}

// get returns the body at an address. Any status but 200 is an error.
func get(client *http.Client, address string) (string, error) {
	answer, err := client.Get(address)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d", address, answer.StatusCode)
	}
	return string(text), err
}
