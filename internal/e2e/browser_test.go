package e2e

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// surfer goes through pages as somebody with a browser without JavaScript does. It follows redirects and keeps cookies.
type surfer struct {
	t      *testing.T
	client *http.Client
	at     *url.URL // where it is
	status int
	text   string // of the page
}

func newSurfer(t *testing.T) *surfer {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &surfer{t: t, client: &http.Client{Jar: trusting{jar}, Transport: &http.Transport{DisableKeepAlives: true}}}
}

// trusting keeps the Secure cookies of http://localhost, too, as browsers do.
type trusting struct{ http.CookieJar }

func (j trusting) SetCookies(u *url.URL, cookies []*http.Cookie) {
	for _, c := range cookies {
		c.Secure = c.Secure && u.Hostname() != "localhost"
	}
	j.CookieJar.SetCookies(u, cookies)
}

func (s *surfer) do(r *http.Request) {
	s.t.Helper()
	answer, err := s.client.Do(r)
	require.NoError(s.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(s.t, err)
	s.at, s.status, s.text = answer.Request.URL, answer.StatusCode, string(text)
}

func (s *surfer) open(address string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, address, nil)
	require.NoError(s.t, err)
	s.do(r)
}

var (
	formAction  = regexp.MustCompile(`<form method="post" action="([^"]+)"`)
	hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)
	link        = regexp.MustCompile(`<a [^>]*href="([^"]+)">([^<]+)</a>`)
)

// submit fills the page's form in and sends it.
func (s *surfer) submit(filled url.Values) {
	s.t.Helper()
	action := formAction.FindStringSubmatch(s.text)
	require.NotNil(s.t, action, "there is no form at %s: %s", s.at, s.text)
	for _, hidden := range hiddenField.FindAllStringSubmatch(s.text, -1) {
		filled.Set(hidden[1], html.UnescapeString(hidden[2]))
	}
	to, err := s.at.Parse(action[1])
	require.NoError(s.t, err)
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, to.String(), strings.NewReader(filled.Encode()))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", s.at.Scheme+"://"+s.at.Host)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	s.do(r)
}

// follow goes where a link leads, by its text.
func (s *surfer) follow(text string) {
	s.t.Helper()
	for _, one := range link.FindAllStringSubmatch(s.text, -1) {
		if one[2] == text {
			to, err := s.at.Parse(html.UnescapeString(one[1]))
			require.NoError(s.t, err)
			s.open(to.String())
			return
		}
	}
	require.FailNow(s.t, "no such link", "%q at %s: %s", text, s.at, s.text)
}

// signIn fills the sign-in page in as Ada does.
func (s *surfer) signIn() {
	s.t.Helper()
	require.Equal(s.t, http.StatusOK, s.status, s.text)
	s.submit(url.Values{"email": {"ada@example.com"}, "password": {"correct horse"}, "action": {"sign-in"}})
}
