package app_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/webhook"
)

// The five ways that a configuration can come and go: load, the same again, a changed one, a failing one, stop. What
// is shared is held once after each, requests are answered after each, and nothing is left in the end.
func TestReloadFiveWays(t *testing.T) {
	s := newSite(t)
	first := s.with("acme")

	s.load(first)
	require.Equal(t, held{1, 1}, s.references(first))
	s.accepted("acme", "u-loaded")
	s.counts(1)

	s.load(first)
	require.Equal(t, held{1, 1}, s.references(first), "the same configuration again")
	s.accepted("acme", "u-same")
	require.Equal(t, 200, s.send("acme", "u-loaded"), "the store is not the one that took the first export")
	s.counts(2)

	require.Equal(t, 404, s.send("globex", "u-early"))
	changed := s.with("acme", "globex")
	s.load(changed)
	require.Equal(t, held{1, 1}, s.references(changed), "a tenant more")
	s.accepted("acme", "u-changed")
	s.accepted("globex", "u-changed")
	s.counts(4)

	moved := changed
	moved.database = s.path("other.db")
	s.load(moved)
	require.Equal(t, held{1, 1}, s.references(moved), "another database")
	require.Equal(t, held{}, s.references(changed), "the former database is held still")
	require.Equal(t, []string{"acme u-changed", "acme u-loaded", "acme u-same", "globex u-changed"}, s.stored(changed))
	s.accepted("acme", "u-moved")
	s.accepted("acme", "u-same") // not known there
	s.counts(6)

	s.failToLoad(moved)
	s.accepted("acme", "u-after-failures")
	s.counts(7)

	require.NoError(t, caddy.Stop())
	require.Equal(t, held{}, s.references(moved))
	require.Nil(t, gateway.Current())
	require.Equal(t, []string{"acme u-after-failures", "acme u-moved", "acme u-same"}, s.stored(moved))
	require.Eventually(t, func() bool { return s.unreachable() }, 10*time.Second, 10*time.Millisecond)
	require.Eventually(t, func() bool { return len(ours()) == 0 }, 10*time.Second, 50*time.Millisecond,
		"goroutines are left")
}

// failToLoad loads configurations that fail, with what is shared the same as in force and with a database of its own.
// The one in force must go on, and the failed ones must let go of what they took. Apps start in no order, so each is
// tried a few times.
func (s *site) failToLoad(in settings) {
	s.t.Helper()
	s.take("127.0.0.2")
	other := in
	other.database = s.path("never.db")
	for _, failing := range []settings{in, other} {
		failing.tenants = []string{"initech"} // were it to answer, it would know nobody else
		provision, start := failing, failing
		provision.handlers = "basic_auth /never {\nbob not-a-hash\n}"
		start.bind = "shared/127.0.0.1 shared/127.0.0.2" // the second is taken; the first is listened at by then
		for range 4 {
			require.ErrorContains(s.t, s.tryToLoad(provision), "base64")
			s.goesOn(in)
			require.ErrorContains(s.t, s.tryToLoad(start), "address already in use")
			s.goesOn(in)
		}
	}
	require.Equal(s.t, held{}, s.references(other))
	require.Empty(s.t, s.stored(other), "a failed configuration took an export")
}

// goesOn checks that a configuration is in force. New connections are made: each could come to another listener.
func (s *site) goesOn(in settings) {
	s.t.Helper()
	require.Equal(s.t, held{1, 1}, s.references(in))
	require.NotNil(s.t, gateway.Current())
	require.Contains(s.t, gateway.Current().Config.Tenants, in.tenants[0])
	for range 3 {
		require.Equal(s.t, 200, s.send(in.tenants[0], "u-moved"), "the failed configuration answers")
	}
	require.Equal(s.t, 404, s.send("initech", "u-failed"))
}

func TestValidateMakesNoFile(t *testing.T) {
	s := newSite(t)
	var config caddy.Config
	require.NoError(t, caddy.StrictUnmarshalJSON(s.adapt(s.with("acme")), &config))
	require.NoError(t, caddy.Validate(&config))
	require.Empty(t, s.files())
	require.Equal(t, held{}, s.references(s.with("acme")))
	require.Eventually(t, func() bool { return len(ours()) == 0 }, 10*time.Second, 50*time.Millisecond,
		"goroutines are left")
}

// A configuration whose gateway can't start takes no connection from the one in force, not even while it fails.
func TestNoRequestComesToAGatewayThatCantStart(t *testing.T) {
	s := newSite(t)
	c := s.with("acme")
	s.load(c)
	s.accepted("acme", "u-first")
	unusable := s.with("initech")
	unusable.database = s.path("missing/hiregate.db")

	failing := make(chan struct{})
	go func() {
		defer close(failing)
		for range 6 { // apps start in no order
			assert.ErrorContains(t, s.tryToLoad(unusable), "missing does not exist")
		}
	}()
	for asked := 0; ; asked++ {
		select {
		case <-failing:
			require.Greater(t, asked, 6)
			require.Equal(t, held{1, 1}, s.references(c))
			require.Equal(t, held{}, s.references(unusable))
			return
		default:
			require.Equal(t, http.StatusOK, s.send("acme", "u-first"))
		}
	}
}

// A kept connection outlives the configuration that took it: its next request is answered by the one in force. One
// that fails takes none.
func TestKeptConnectionsMoveOn(t *testing.T) {
	s := newSite(t)
	s.load(s.with("acme"))
	began := gateway.Current()
	var conn net.Conn
	var answers *bufio.Reader
	dial := func() {
		var err error
		conn, err = net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)))
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		answers = bufio.NewReader(conn)
	}
	dial()
	reloading := false
	status := func(tenant, key string) int {
		t.Helper()
		r, err := s.export(tenant, key)
		require.NoError(t, err)
		require.NoError(t, r.Write(conn))
		answer, err := http.ReadResponse(answers, r)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		if reloading && answer.Close { // net/http ends what it answers in the moment in which it is told to stop
			dial()
		} else {
			require.Equal(t, answer.StatusCode == http.StatusNotFound, answer.Close,
				"who asks for a tenant that is not there is hung up on")
		}
		return answer.StatusCode
	}
	require.Equal(t, http.StatusAccepted, status("acme", "u-first"))
	start := s.with("initech")
	start.bind = "shared/127.0.0.1 shared/127.0.0.2"
	s.take("127.0.0.2")
	for n := range 4 { // apps start in no order
		require.ErrorContains(t, s.tryToLoad(start), "address already in use")
		require.Equal(t, http.StatusAccepted, status("acme", fmt.Sprint("u-after-a-failure-", n)))
	}
	s.load(s.with("acme", "globex")) // without a request meanwhile
	require.NotEqual(t, began, gateway.Current())
	require.Equal(t, http.StatusAccepted, status("globex", "u-moved"))
	loaded := make(chan error, 1)
	reloading = true
	go func() { loaded <- s.tryToLoad(s.with("acme", "globex", "initech")) }()
	for n := 0; len(loaded) == 0; n++ { // with requests while the former one is shut down
		require.Equal(t, http.StatusAccepted, status("globex", fmt.Sprint("u-busy-", n)))
	}
	require.NoError(t, <-loaded)
	reloading = false
	require.Equal(t, http.StatusAccepted, status("initech", "u-last"))
}

// A connection with TLS can't move. While its configuration is replaced, each answer of ours asks for another one.
func TestAnswersOfAReplacedConfigurationEndTheirConnection(t *testing.T) {
	s := newSite(t)
	c := s.with("acme")
	c.scheme, c.delay = "https", "5s"
	certificate, key := s.certificate()
	c.handlers = fmt.Sprintf(`tls %s %s
	handle /documents/* {
		documents
	}
	handle /healthz {
		healthz
	}
	handle_path /manage/* {
		manage_api
	}
	handle_path /apply/* {
		apply_api
	}
	handle_path /signin/* {
		signin {
			key MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=
		}
	}`, certificate, key)
	require.NoError(t, s.tryToLoad(c))
	type asked struct{ method, path string }
	all := []asked{{"GET", "/healthz"}, {"POST", "/healthz"}, {"GET", "/documents/none"}, {"PUT", "/documents/none"},
		{"GET", "/hooks/acme"},
		{"POST", "/hooks/acme"}, {"GET", "/manage/v1/tenants"}, {"GET", "/manage/nothing"}, {"GET", "/apply/nothing"},
		{"GET", "/apply/openapi.json"},
		{"GET", "/signin/nothing"}, {"PUT", "/signin/oauth/token"}}
	var closes []func() bool
	for _, one := range all {
		// The certificate is this test's own.
		conn, err := tls.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)),
			&tls.Config{InsecureSkipVerify: true})
		require.NoError(t, err)
		defer conn.Close()
		answers := bufio.NewReader(conn)
		closes = append(closes, func() bool {
			r, err := http.NewRequest(one.method, fmt.Sprintf("https://127.0.0.1:%d%s", s.port, one.path), nil)
			require.NoError(t, err)
			require.NoError(t, r.Write(conn))
			answer, err := http.ReadResponse(answers, r)
			require.NoError(t, err, one)
			_, err = io.Copy(io.Discard, answer.Body)
			require.NoError(t, err)
			return answer.Close
		})
	}
	for n, one := range all {
		require.False(t, closes[n](), one)
	}
	began := gateway.Current()
	loaded := make(chan error, 1)
	go func() { loaded <- s.tryToLoad(s.with("globex")) }()
	require.Eventually(t, func() bool { return gateway.Current() != began }, time.Minute, time.Millisecond)
	for n, one := range all {
		require.True(t, closes[n](), one)
	}
	require.NoError(t, <-loaded)
}

// A request that began before a reload is answered by the configuration it came to, whose store stays open until then.
func TestRequestThatOutlivesItsConfiguration(t *testing.T) {
	s := newSite(t)
	former, moved := s.with("acme"), s.with("acme")
	moved.database = s.path("other.db")
	s.load(former)
	began := gateway.Current()

	body := `{"candidate":{"person":{"id":{"value":"c-1","schemeId":"Service Candidate","schemeAgencyId":"Service"}}}}`
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)))
	require.NoError(t, err)
	defer conn.Close()
	fmt.Fprintf(conn, "POST /hooks/acme HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nExpect: 100-continue\r\nContent-Length: "+
		"%d\r\nX-Service-Event: CANDIDATE-EXPORT\r\n"+
		"X-Service-UUID: u-slow\r\nX-Service-Signature: %s\r\n\r\n", s.port, len(body),
		webhook.Sign("acme-secret", []byte(body)))
	answers := bufio.NewReader(conn)
	line, err := answers.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 100 Continue\r\n", line, "the body is not waited for")
	_, err = answers.ReadString('\n')
	require.NoError(t, err)

	loaded := make(chan error, 1)
	go func() { loaded <- s.tryToLoad(moved) }()
	require.Eventually(t, func() bool { now := gateway.Current(); return now != nil && now != began }, time.Minute,
		time.Millisecond)
	_, err = conn.Write([]byte(body))
	require.NoError(t, err)
	answer, err := http.ReadResponse(answers, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, answer.StatusCode)
	require.NoError(t, answer.Body.Close())
	require.NoError(t, <-loaded)
	require.Equal(t, []string{"acme u-slow"}, s.stored(former))
}
