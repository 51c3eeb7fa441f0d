package main

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// exchanged has the figures of exchanges of a code for tokens.
type exchanged struct {
	result
	CPU time.Duration // of the server, for each exchange
}

const (
	callback    = "http://127.0.0.1:1/callback"
	codesAtOnce = 50 // codes fetched ahead for each connection; few, because they expire soon
)

const signinSite = `handle_path /signin/* {
		signin {
			key {env.HIREGATE_SIGNIN_KEY}
		}
	}`

// exchanges measures how many codes a second are exchanged for tokens whose ID token is signed with the algorithm. The
// time in which the codes are fetched does not count.
func (b *bench) exchanges(postgres bool, algorithm string) (e exchanged, err error) {
	s, err := b.serve(options{site: signinSite, postgres: postgres})
	if err != nil {
		return e, err
	}
	defer s.stop()
	const email, password = "ada@example.com", "correct horse"
	if err := s.post("/users", map[string]any{"email": email, "password": password}); err != nil {
		return e, err
	}
	if err := s.post("/oauth-clients", map[string]any{"id": "bench", "secret": secret, "name": "Bench",
		"redirectUris": []string{callback}, "algorithm": algorithm}); err != nil {
		return e, err
	}
	u := &browser{issuer: "http://" + s.address + "/signin"}
	if err := u.signIn(email, password); err != nil {
		return e, err
	}
	headers := "Content-Type: application/x-www-form-urlencoded\r\n" +
		"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("bench:"+secret)) + "\r\n"
	partner, err := dial(s.address, headers, connections)
	if err != nil {
		return e, err
	}
	defer partner.close()
	for e.Seconds < b.during.Seconds() {
		codes := make([]string, connections*codesAtOnce)
		for n := range codes {
			if codes[n], err = u.code(); err != nil {
				return e, err
			}
		}
		ask := func(connection, n int) (string, []byte) {
			form := url.Values{"grant_type": {"authorization_code"}, "redirect_uri": {callback},
				"code": {codes[connection*codesAtOnce+n]}}
			return "/signin/openId/accessToken", []byte(form.Encode())
		}
		r, cpu, err := s.measure(func() (result, error) {
			return partner.loadWhile(ask, http.StatusOK, func(n int) bool { return n < codesAtOnce })
		})
		if err != nil {
			return e, err
		}
		e.result = together([]result{e.result, r})
		e.CPU += cpu
	}
	e.CPU /= time.Duration(e.Requests)
	return e, nil
}

// browser is a person's browser, which keeps all cookies.
type browser struct{ issuer, cookies string }

var hidden = regexp.MustCompile(`name="request" value="([^"]*)"`)

func (b *browser) authorize() (*http.Response, error) {
	q := url.Values{"response_type": {"code"}, "scope": {"openid profile email"}, "client_id": {"bench"},
		"redirect_uri": {callback}, "state": {"s"}, "nonce": {"n"}}
	r, err := http.NewRequest(http.MethodGet, b.issuer+"/oauth/authorize?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	return b.do(r)
}

func (b *browser) do(r *http.Request) (*http.Response, error) {
	r.Header.Set("Cookie", b.cookies)
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	for _, c := range answer.Cookies() {
		b.cookies += c.Name + "=" + c.Value + "; "
	}
	return answer, nil
}

func (b *browser) signIn(email, password string) error {
	page, err := b.authorize()
	if err != nil {
		return err
	}
	defer page.Body.Close()
	raw, err := io.ReadAll(page.Body)
	if err != nil {
		return err
	}
	request := hidden.FindSubmatch(raw)
	if request == nil {
		return fmt.Errorf("the sign-in page was answered %d without a form", page.StatusCode)
	}
	form := url.Values{"request": {html.UnescapeString(string(request[1]))}, "email": {email}, "password": {password},
		"action": {"sign-in"}}
	r, err := http.NewRequest(http.MethodPost, b.issuer+"/oauth/sign-in", strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := b.do(r)
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.Header.Get("Location") == "" {
		return fmt.Errorf("signing in was answered %d", answer.StatusCode)
	}
	return nil
}

// code returns a new authorization code; the browser must be signed in.
func (b *browser) code() (string, error) {
	answer, err := b.authorize()
	if err != nil {
		return "", err
	}
	answer.Body.Close()
	to, err := answer.Location()
	if err != nil || to.Query().Get("code") == "" {
		return "", fmt.Errorf("no code came, the answer was %d: %w", answer.StatusCode, err)
	}
	return to.Query().Get("code"), nil
}

// signature returns the processor time of one RSA-2048 signature by the library that signs ID tokens.
func signature() (time.Duration, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return 0, err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, nil)
	if err != nil {
		return 0, err
	}
	claims := []byte(`{"aud":"bench","iss":"https://gate.example.com/signin","name":"Ada Lovelace","nonce":"n","sub":"user-ada"}`)
	const times = 2000
	began := time.Now()
	for range times {
		if _, err := signer.Sign(claims); err != nil {
			return 0, err
		}
	}
	return time.Since(began) / times, nil
}

// signin measures sign-in on one database, and prints a table.
func (b *bench) signin(postgres bool) error {
	w := table()
	fmt.Fprintf(w, "\nsign-in on %s\tper second\tp50\tp99\tfailed\tCPU each\tsignature's share\t\n", nameOf(postgres))
	signed, err := signature()
	if err != nil {
		return err
	}
	for _, algorithm := range []string{"RS256", "ES256"} {
		say("exchanges of a code for tokens, %s, on %s: %s", algorithm, nameOf(postgres), b.during)
		e, err := b.exchanges(postgres, algorithm)
		if err != nil {
			return err
		}
		share := ""
		if algorithm == "RS256" {
			share = fmt.Sprintf("%.2f", float64(signed)/float64(e.CPU))
		}
		fmt.Fprintf(w, "exchanges, %s\t%.0f\t%s\t%d\t%s\t%s\t\n", algorithm, e.rate(), e.percentiles(), e.Failed,
			e.CPU.Round(time.Microsecond), share)
	}
	fmt.Fprintf(w, "one RSA-2048 signature, one core\t%.0f\t\t\t\t%s\t\t\n", 1/signed.Seconds(),
		signed.Round(time.Microsecond))
	return w.Flush()
}
