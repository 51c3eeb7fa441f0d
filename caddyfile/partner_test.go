package caddyfile_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/require"
)

// A gateway with listen.Caddyfile, moved to this machine: both variants of the address accept, nothing else does, and
// the log holds no address that opens a receipt or a document, and no candidate that the command line asked about.
func TestPartner(t *testing.T) {
	folder := t.TempDir()
	public, own, admin := freeAddress(t), freeAddress(t), freeAddress(t)
	log := filepath.Join(folder, "log")
	config := string(inside(t, folder, read(t, "partner.Caddyfile")))
	for old, moved := range map[string]string{
		"\tshutdown_delay 1s\n":  "\tshutdown_delay 1s\n\tadmin " + admin + "\n\tpersist_config off\n",
		"\tlog {\n":              "\tlog {\n\t\toutput file " + log + "\n",
		"temporal.internal:7233": "127.0.0.1:1", // nobody listens there
		"\ngate.example.com {":   "\nhttp://gate.example.com:" + port(public) + " {",
		"\nhooks.example.com {":  "\nhttp://hooks.example.com:" + port(public) + " {",
		"\nhttp://, https:// {":  "\nhttp://:" + port(public) + " {",
		"http://:9180 {":         "http://:" + port(own) + " {",
	} {
		require.Equal(t, 1, strings.Count(config, old), old)
		config = strings.Replace(config, old, moved, 1)
	}
	config = strings.ReplaceAll(config, "shared/0.0.0.0", "shared/127.0.0.1")
	require.NoError(t, os.Mkdir(filepath.Join(folder, "data"), 0o700))
	require.NoError(t, caddy.Load(adapt(t, []byte(config)), true))
	defer func() { require.NoError(t, caddy.Stop()) }()

	ask := func(method, host, at, secret string) *http.Response {
		t.Helper()
		r := signed(t, method, public, at, secret)
		r.Host = host + ":" + port(public)
		r.Header.Set("Link", "https://service.example/profiles/secret-profile")
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer
	}
	const gate, hooks = "gate.example.com", "hooks.example.com"
	var credentials []string
	for _, accepted := range []struct{ host, at, secret string }{
		{gate, "/hooks/acme", "the secret of ACME_SECRET"},
		{gate, "/hooks/acme/", "the secret of ACME_SECRET_NEXT"},
		{gate, "/hooks/initech", "the secret of initech"},
		{hooks, "/inbound?client=globex", "the secret of GLOBEX_SECRET"},
	} {
		answer := ask(http.MethodPost, accepted.host, accepted.at, accepted.secret)
		require.Equal(t, http.StatusAccepted, answer.StatusCode, accepted.at)
		receipt := answer.Header.Get("Location")
		require.Equal(t, http.StatusOK, ask(http.MethodGet, accepted.host, receipt, "").StatusCode, receipt)
		credentials = append(credentials, path.Base(receipt))
	}
	const token = "c2VjcmV0LXRva2VuLXNlY3JldC10b2tlbi1zZWNyZXQ"
	credentials = append(credentials, token, "secret-profile")
	for at, host := range map[string]string{
		"/documents/" + token: gate, "/documents/" + token + "?a=b": gate, "/Documents//" + token: gate, "/": gate,
		"/hook/acme": gate, "/hooks": gate, "/console/portal?ticket=" + token: gate,
		"/inbound/": hooks, "/hooks/globex": hooks, "/inbound/receipts": hooks, "/metrics": gate, "/healthz": hooks,
	} {
		method := http.MethodPost
		if strings.Contains(at, token) {
			method = http.MethodGet
		}
		require.Equal(t, http.StatusNotFound, ask(method, host, at, "").StatusCode, at)
	}
	require.Equal(t, http.StatusNotFound, ask(http.MethodPost, "other.example.com", "/hooks/acme",
		"the secret of ACME_SECRET").StatusCode)
	for at, status := range map[string]int{"/metrics": http.StatusOK, "/healthz": http.StatusOK,
		"/": http.StatusNotFound} {
		answer, err := http.Get("http://" + own + at)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, status, answer.StatusCode, at)
	}
	for at, status := range map[string]int{"/tenants/acme/exports?candidate=c-zoe": http.StatusOK,
		"/tenants/acme/candidates/c-zoe": http.StatusNotFound} {
		answer, err := http.Get("http://" + admin + "/hiregate/v1" + at)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, status, answer.StatusCode, at)
	}
	credentials = append(credentials, "c-zoe")

	require.NoError(t, caddy.Stop())
	logged := string(read(t, log))
	require.Contains(t, logged, `"uri":"/hooks/acme/receipts/-"`)
	require.Contains(t, logged, `"uri":"/hiregate/v1/tenants/acme/exports?-"`)
	require.Contains(t, logged, `"uri":"/inbound/receipts/-"`)
	require.Contains(t, logged, `"uri":"/documents/-?a=b"`)
	require.Contains(t, logged, `"uri":"/console/portal?-"`)
	require.Contains(t, logged, `"uri":"/inbound?client=globex"`)
	for _, credential := range credentials {
		require.NotContains(t, logged, credential)
	}
}

// One line of partner.Caddyfile turns the console on.
func TestPartnerWithTheConsole(t *testing.T) {
	folder := t.TempDir()
	const line = "\t# import console\n"
	config := string(read(t, "partner.Caddyfile"))
	require.Equal(t, 1, strings.Count(config, line))
	config = string(inside(t, folder, []byte(strings.Replace(config, line, "\timport console\n", 1))))
	t.Setenv("HIREGATE_SIGNIN_KEY", strings.Repeat("k", 32))
	adapted := adapt(t, []byte(config))
	require.Contains(t, string(adapted), `"handler":"console"`)
	require.NoError(t, validate(t, adapted, folder))
}

// signed is a request with an export, to what a gateway offers at an address of this machine.
func signed(t *testing.T, method, gateway, at, secret string) *http.Request {
	t.Helper()
	body := []byte(`{"candidate":{"person":{"id":{"value":"c-1","schemeId":"Service Candidate","schemeAgencyId":"Service"}}}}`)
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+gateway+at, bytes.NewReader(body))
	require.NoError(t, err)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	r.Header.Set("X-Service-Event", "CANDIDATE-EXPORT")
	r.Header.Set("X-Service-UUID", "u"+strings.ReplaceAll(at, "/", "-"))
	r.Header.Set("X-Service-Signature", hex.EncodeToString(mac.Sum(nil)))
	return r
}

// freeAddress returns an address of this machine with a free port below those that systems give to outgoing connections, so
// that none of these has it before the gateway does.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_240+rand.IntN(20_000)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		require.NoError(t, err)
		defer l.Close()
		return l.Addr().String()
	}
}

func port(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		panic(fmt.Sprint("no address: ", address))
	}
	return port
}
