package receiver_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/modules/receiver"
)

// fixture is a receiver at /hooks/<tenant>.
type fixture struct {
	*gatewaytest.Fixture
	*receiver.Receiver
}

func newFixture(t testing.TB, tenants ...*model.Tenant) fixture {
	t.Helper()
	return fixtureOn(gatewaytest.New(t, tenants...))
}

func fixtureOn(g *gatewaytest.Fixture) fixture {
	segment := 1
	return fixture{g, &receiver.Receiver{
		Gateway: g.Gateway, Tenant: receiver.TenantFrom{Segment: &segment}, MaxBody: receiver.DefaultMaxBody,
		MaxAttachments: receiver.DefaultMaxAttachments, Limits: receiver.DefaultLimits,
		Address: func(r *http.Request) string { return r.RemoteAddr }, LogUUID: func(*http.Request, string) {},
		Log: g.Log,
	}}
}

// request is what a service sends; the zero value, filled by its defaults, is a valid export of acme.
type request struct {
	method   string
	path     string
	query    string
	event    string // "-": no such header
	uuid     string // empty: no such header
	body     []byte
	secret   string
	unsigned bool // the signature is 64 zeros
	chunked  bool
	more     http.Header
}

const zeros = "0000000000000000000000000000000000000000000000000000000000000000"

func (q request) make() *http.Request {
	or := func(s *string, value string) {
		if *s == "" {
			*s = value
		}
	}
	or(&q.method, http.MethodPost)
	or(&q.path, "/hooks/acme")
	or(&q.event, webhook.EventExport)
	or(&q.secret, "acme-secret")
	if q.body == nil {
		q.body = minimal
	}
	r := &http.Request{
		Method: q.method, URL: &url.URL{Path: q.path, RawQuery: q.query}, Host: "gate.example.com", Proto: "HTTP/1.1",
		ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(q.body)), ContentLength: int64(len(q.body)),
	}
	if q.chunked {
		r.ContentLength = -1
	}
	r.Header.Set("X-Service-Signature", webhook.Sign(q.secret, q.body))
	if q.unsigned {
		r.Header.Set("X-Service-Signature", zeros)
	}
	if q.event != "-" {
		r.Header.Set("X-Service-Event", q.event)
	}
	if q.uuid != "" {
		r.Header.Set("X-Service-UUID", q.uuid)
	}
	for name, values := range q.more {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	return r
}

func (b fixture) do(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

func (b fixture) send(q request) *httptest.ResponseRecorder { return b.do(q.make()) }

func (b fixture) get(path string) *httptest.ResponseRecorder {
	return b.do(request{method: http.MethodGet, path: path}.make())
}

// sample reads a file of testdata/samples.
func sample(name string) []byte {
	raw, err := os.ReadFile("../../testdata/samples/" + name)
	if err != nil {
		panic(err)
	}
	return raw
}

var (
	minimal = sample("export-minimal.json")
	full    = sample("export-full.json")
	verify  = sample("verify.json")
)

// another is a valid export other than minimal, each n one of its own.
func another(n int) []byte {
	return bytes.Replace(minimal, []byte(`{`), fmt.Appendf(nil, `{"n":"%d",`, n), 1)
}

// requireProblem compares a whole refusal: status, every header, and the body.
func requireProblem(t *testing.T, got *httptest.ResponseRecorder, status int, detail string, more ...string) {
	t.Helper()
	require.Equal(t, status, got.Code, "%s", got.Body)
	want := http.Header{"Content-Type": {"application/problem+json"}, "Cache-Control": {"no-store"},
		"X-Content-Type-Options": {"nosniff"}}
	for n := 0; n < len(more); n += 2 {
		want[more[n]] = []string{more[n+1]}
	}
	require.Equal(t, want, got.Header())
	body, err := json.Marshal(map[string]any{"title": http.StatusText(status), "status": status, "detail": detail})
	require.NoError(t, err)
	require.JSONEq(t, string(body), got.Body.String())
}

// receipt is the answer to an accepted export.
type receipt struct {
	Receipt    string    `json:"receipt"`
	SHA256     string    `json:"sha256"`
	ReceivedAt time.Time `json:"receivedAt"`
}

// requireReceipt compares an acknowledgement: status, every header, and the body's shape.
func requireReceipt(t *testing.T, got *httptest.ResponseRecorder, status int) receipt {
	t.Helper()
	require.Equal(t, status, got.Code, "%s", got.Body)
	r := decode[receipt](t, got.Body.Bytes())
	require.Regexp(t, `^[a-z2-7]{39}$`, r.Receipt)
	require.Regexp(t, `^[0-9a-f]{64}$`, r.SHA256)
	location := got.Header().Get("Location")
	require.Regexp(t, `/receipts/`+r.Receipt+`$`, location)
	require.Equal(t, http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-store"},
		"Location": {location}}, got.Header())
	return r
}

// decode reads JSON that must have T's fields and no others.
func decode[T any](t *testing.T, raw []byte) (v T) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&v), "%s", raw)
	return v
}

// unread fails the test when a byte of it is asked for.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}
func (unread) Close() error { return nil }

// endless never ends, and counts what was taken.
type endless struct{ taken int64 }

func (e *endless) Read(p []byte) (int, error) {
	for n := range p {
		p[n] = ' '
	}
	e.taken += int64(len(p))
	return len(p), nil
}
func (*endless) Close() error { return nil }

// serve runs a real server.
func (b fixture) serve(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(b.Receiver)
	t.Cleanup(server.Close)
	return server
}

// dial opens a connection on which a test writes its own bytes.
func dial(t *testing.T, server *httptest.Server) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	return conn, bufio.NewReader(conn)
}
