package receiver_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/modules/receiver"
)

const (
	nobody   = "nobody receives exports at this address: check the identifier in the URL"
	tooLarge = "the body is larger than this address takes"
	encoded  = "send the body as it is, without Content-Encoding"
	broken   = "the body broke off"
	notOurs  = "the signature is missing or does not match: send the hex HMAC-SHA256 of the raw body, made with this " +
		"tenant's secret, in X-Service-Signature"
	noEvent = "the header X-Service-Event must be CANDIDATE-EXPORT or VERIFY"
)

func TestOnlyPOST(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, method := range []string{"GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", "post", "X"} {
		for _, path := range []string{"/hooks/acme", "/hooks/nobody"} {
			r := request{method: method, path: path}.make()
			r.Body = unread{t}
			requireProblem(t, b.do(r), http.StatusMethodNotAllowed, "this address takes POST only", "Allow", "POST")
		}
	}
	require.Empty(t, b.Exports(t))
}

func TestUnknownTenantIsNotFound(t *testing.T) {
	t.Parallel()
	b := newFixture(t, gatewaytest.Tenant("acme"), gatewaytest.Tenant("former"))
	requireReceipt(t, b.send(request{path: "/hooks/former", secret: "former-secret", uuid: "u-1"}), http.StatusAccepted)
	reloaded := *b.Receiver.Gateway
	reloaded.Config = &config.Config{Names: b.Config.Names,
		Tenants: map[string]*model.Tenant{"acme": gatewaytest.Tenant("acme")}}
	b.Receiver.Gateway = &reloaded

	never := b.send(request{path: "/hooks/never", secret: "former-secret", uuid: "u-1"})
	requireProblem(t, never, http.StatusNotFound, nobody, "Connection", "close")
	for _, path := range []string{"/hooks/former", "/hooks/", "/hooks", "/", "/hooks/ACME", "/hooks/acme ",
		"/hooks/receipts", "/acme", "/hooks//acme",
		"/hooks/acme\x00", "/hooks/" + strings.Repeat("a", 100_000)} {
		r := request{path: path, secret: "former-secret", uuid: "u-1"}.make()
		r.Body = unread{t}
		got := b.do(r)
		require.Equal(t, never.Code, got.Code, path)
		require.Equal(t, never.Header(), got.Header(), path)
		require.Equal(t, never.Body.Bytes(), got.Body.Bytes(), path)
	}
}

// A body that nobody wants is not taken off the connection either: it is closed.
func TestConnectionOfAnUnknownTenantIsClosed(t *testing.T) {
	t.Parallel()
	conn, answers := dial(t, newFixture(t).serve(t))
	_, err := fmt.Fprintf(conn, "POST /hooks/nobody HTTP/1.1\r\nHost: gate\r\nContent-Length: 1000000\r\n\r\n")
	require.NoError(t, err)
	requireClosedAfter(t, answers, http.StatusNotFound)
}

func TestBodyOverTheCapByItsLength(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, 5*1024*1024, receiver.DefaultMaxBody)
	b := newFixture(t)
	r := request{}.make()
	r.Body, r.ContentLength = unread{t}, receiver.DefaultMaxBody+1
	requireProblem(t, b.do(r), http.StatusRequestEntityTooLarge, tooLarge, "Connection", "close")

	conn, answers := dial(t, b.serve(t))
	_, err := fmt.Fprintf(conn, "POST /hooks/acme HTTP/1.1\r\nHost: gate\r\nContent-Length: %d\r\n\r\n",
		receiver.DefaultMaxBody+1)
	require.NoError(t, err)
	requireClosedAfter(t, answers, http.StatusRequestEntityTooLarge)
}

func TestBodyOverTheCapByReading(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.MaxBody = 4096
	body := new(endless)
	r := request{chunked: true}.make()
	r.Body = body
	requireProblem(t, b.do(r), http.StatusRequestEntityTooLarge, tooLarge, "Connection", "close")
	require.EqualValues(t, 4097, body.taken, "it was read further than needed to know")

	conn, answers := dial(t, b.serve(t))
	_, err := fmt.Fprintf(conn, "POST /hooks/acme HTTP/1.1\r\nHost: gate\r\nTransfer-Encoding: "+
		"chunked\r\n\r\n%x\r\n%s\r\n", 4097, strings.Repeat(" ", 4097))
	require.NoError(t, err)
	requireClosedAfter(t, answers, http.StatusRequestEntityTooLarge)
}

func TestBodyUpToTheCapIsTaken(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.MaxBody = 4096
	atCap := append(bytes.Clone(minimal), bytes.Repeat([]byte(" "), 4096-len(minimal))...)
	for _, chunked := range []bool{false, true} {
		requireReceipt(t, b.send(request{body: atCap, chunked: chunked, uuid: fmt.Sprint(chunked)}), http.StatusAccepted)
		requireProblem(t, b.send(request{body: append(atCap, ' '), chunked: chunked}), http.StatusRequestEntityTooLarge,
			tooLarge, "Connection", "close")
	}
	require.Len(t, b.Exports(t), 2)
}

// A length is promised before a signature is looked at: memory is taken for what came of it. Not beside other tests,
// whose memory it would count.
func TestPromisedBodyTakesNoMemory(t *testing.T) {
	b := newFixture(t)
	const promises = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range promises {
		r := request{}.make()
		r.Body, r.ContentLength = io.NopCloser(io.MultiReader(bytes.NewReader(minimal[:20]), failing{})),
			receiver.DefaultMaxBody
		requireProblem(t, b.do(r), http.StatusBadRequest, broken, "Connection", "close")
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(promises*receiver.DefaultMaxBody/4))
}

func requireClosedAfter(t *testing.T, answers io.Reader, status int) {
	t.Helper()
	raw, err := io.ReadAll(answers) // returns when the server closes the connection
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(raw), fmt.Sprintf("HTTP/1.1 %d ", status)), "%s", raw)
	require.Contains(t, string(raw), "\r\nConnection: close\r\n")
	require.Equal(t, 1, strings.Count(string(raw), "HTTP/1.1 "), "it went on after the refusal")
}

func TestContentEncodingIsRefused(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, encodings := range [][]string{{"gzip"}, {"br"}, {"identity, gzip"}, {"x"}, {"identity", "gzip"}, {"", "gzip"}} {
		r := request{more: http.Header{"Content-Encoding": encodings}}.make()
		r.Body = unread{t}
		requireProblem(t, b.do(r), http.StatusUnsupportedMediaType, encoded, "Connection", "close")
	}
	for n, encodings := range [][]string{{"identity"}, {"Identity"}, {""}, {"identity", "identity"}} {
		requireReceipt(t, b.send(request{uuid: fmt.Sprint(n), more: http.Header{"Content-Encoding": encodings}}),
			http.StatusAccepted)
	}
}

func TestContentTypeIsIgnored(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for n, kinds := range [][]string{nil, {""}, {"application/json"}, {"text/plain; charset=utf-16"},
		{"multipart/form-data; boundary=x"},
		{"application/x-www-form-urlencoded"}, {"not a type"}, {"a/b", "c/d"}} {
		requireReceipt(t, b.send(request{uuid: fmt.Sprint("u-", n), more: http.Header{"Content-Type": kinds}}),
			http.StatusAccepted)
	}
}

func TestBrokenOffBody(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	r := request{}.make()
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(minimal[:20]), failing{}))
	requireProblem(t, b.do(r), http.StatusBadRequest, broken, "Connection", "close")
	require.Empty(t, b.Exports(t))
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestSignatureIsRequired(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	good := webhook.Sign("acme-secret", minimal)
	for name, values := range map[string][]string{
		"missing":           nil,
		"empty":             {""},
		"not hex":           {strings.Repeat("g", 64)},
		"too short":         {good[:63]},
		"too long":          {good + "0"},
		"twice as long":     {good + good},
		"with a prefix":     {"sha256=" + good},
		"with a space":      {" " + good[1:]},
		"base64":            {"n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="},
		"of another body":   {webhook.Sign("acme-secret", full)},
		"of the empty body": {webhook.Sign("acme-secret", nil)},
		"by a wrong secret": {webhook.Sign("acme-secreT", minimal)},
		"by no secret":      {webhook.Sign("", minimal)},
		"by another tenant": {webhook.Sign("globex-secret", minimal)},
		"zeros":             {zeros},
		"there twice":       {good, good},
		"in the wrong one":  {zeros, good},
		"one digit off": {good[:63] + string("0123456789abcdef"[(strings.IndexByte("0123456789abcdef",
			good[63])+1)%16])},
		"Unicode digits":       {strings.Repeat("１", 64)},
		"hex with a NUL":       {good[:63] + "\x00"},
		"enormous":             {strings.Repeat("a", 1<<20)},
		"of the trimmed bytes": {webhook.Sign("acme-secret", bytes.TrimSpace(minimal)) + " "},
	} {
		got := b.send(request{more: http.Header{"X-Service-Signature": values}})
		requireProblem(t, got, http.StatusUnauthorized, notOurs)
		require.NotContains(t, got.Body.String(), good, name)
	}
	require.Empty(t, b.Exports(t))
	for _, entry := range b.Logged.All() {
		require.NotContains(t, fmt.Sprint(entry.Message, entry.ContextMap()), "secret",
			"a log line is about signatures or secrets")
	}
}

func TestSignatureCountsInEitherCase(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	good := webhook.Sign("acme-secret", minimal)
	mixed := strings.ToUpper(good[:32]) + good[32:]
	for n, signature := range []string{good, strings.ToUpper(good), mixed} {
		requireReceipt(t, b.send(request{uuid: fmt.Sprint("u-", n), more: http.Header{"X-Service-Signature": {signature}}}),
			http.StatusAccepted)
	}
}

func TestBothSecretsOfARotationCount(t *testing.T) {
	t.Parallel()
	b := newFixture(t, gatewaytest.Tenant("acme", "old", "new"))
	for _, secret := range []string{"old", "new"} {
		requireReceipt(t, b.send(request{secret: secret, uuid: secret}), http.StatusAccepted)
	}
	for _, secret := range []string{"acme-secret", "oldnew", "Old"} {
		requireProblem(t, b.send(request{secret: secret}), http.StatusUnauthorized, notOurs)
	}
}

// A secret that ends at a time is refused from then on, with nothing stored or sent to any node.
func TestSecretEndsByTheClock(t *testing.T) {
	t.Parallel()
	tenant := gatewaytest.Tenant("acme", "old", "new")
	b := newFixture(t, tenant)
	tenant.SecretEnds = map[model.Secret]time.Time{"old": b.Clock.Now().Add(time.Minute)}
	requireReceipt(t, b.send(request{secret: "old", uuid: "1"}), http.StatusAccepted)
	b.Clock.Advance(time.Minute)
	requireProblem(t, b.send(request{secret: "old", uuid: "2"}), http.StatusUnauthorized, notOurs)
	requireReceipt(t, b.send(request{secret: "new", uuid: "3"}), http.StatusAccepted)
}

// That VERIFY was answered is stored, for all gateways.
func TestVerifyIsNoted(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	verify := request{event: webhook.EventVerify, body: []byte(`{"data":"Service Verify Event"}`)}
	for range 2 {
		require.Equal(t, http.StatusOK, b.send(verify).Code)
	}
	verify.body = []byte(`{"data":"something else"}`)
	require.Equal(t, http.StatusUnprocessableEntity, b.send(verify).Code)
	b.Runtime.Remarks.Flush()
	noted, err := b.Runtime.Store().ListRemarks(t.Context(), model.VerifyAnswered, "acme", b.Clock.Now())
	require.NoError(t, err)
	require.Len(t, noted, 1)
	require.EqualValues(t, 2, noted[0].Count)
}

// Requests are counted by tenant and result for all gateways, those of strangers too: in memory, and written together.
func TestRequestsAreCountedByResult(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	stored := func() map[string]int64 {
		counts := map[string]int64{}
		all, err := b.Runtime.Store().ListRemarks(t.Context(), model.RequestReceived, "", b.Clock.Now())
		require.NoError(t, err)
		for _, one := range all {
			require.Equal(t, "acme", one.Tenant)
			require.Empty(t, one.Rule+one.Pointer)
			counts[one.Name] = one.Count
		}
		return counts
	}
	for range 20 {
		require.Equal(t, http.StatusUnauthorized, b.send(request{secret: "wrong"}).Code)
	}
	require.Equal(t, http.StatusNotFound, b.send(request{path: "/hooks/nobody"}).Code)
	require.Equal(t, http.StatusAccepted, b.send(request{uuid: "1"}).Code)
	require.Equal(t, http.StatusOK, b.send(request{uuid: "1"}).Code)
	b.Runtime.Remarks.Flush()
	require.Equal(t, map[string]int64{"signature": 20, "accepted": 1, "repeated": 1}, stored())
	b.Clock.Advance(91 * 24 * time.Hour)
	require.Empty(t, stored())
}

// openssl has made this one: printf '%s' '{"data":"Service Verify Event"}' | openssl dgst -sha256 -hmac acme-secret
func TestSignatureMadeElsewhere(t *testing.T) {
	t.Parallel()
	got := newFixture(t).send(request{event: webhook.EventVerify, body: []byte(`{"data":"Service Verify Event"}`),
		more: http.Header{"X-Service-Signature": {"4ab0117a26cc0e3ae40cfc942b8705a285f4dc13bfba737a81a9e54d0d0ba276"}}})
	require.Equal(t, http.StatusOK, got.Code)
}

// Whoever can't sign learns nothing of what the body means to us.
func TestSignatureIsCheckedBeforeTheBodyIsParsed(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, body := range []string{"garbage", `{"candidate":`, "{}", "", `{"a":1e10000000}`} {
		requireProblem(t, b.send(request{body: []byte(body), unsigned: true}), http.StatusUnauthorized, notOurs)
		got := b.send(request{body: []byte(body)})
		require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, got.Code, body)
	}
}

func TestEventHeader(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, values := range [][]string{nil, {""}, {"EXPORT"}, {"verify"}, {"candidate-export"}, {"VERIFY "},
		{"VERIFY,VERIFY"}, {"VERIFY", "VERIFY"},
		{"CANDIDATE-EXPORT", "CANDIDATE-EXPORT"}, {strings.Repeat("V", 1025)}} {
		for _, body := range [][]byte{minimal, verify, []byte("garbage")} {
			got := b.send(request{body: body, more: http.Header{"X-Service-Event": values}})
			requireProblem(t, got, http.StatusBadRequest, noEvent)
		}
	}
	require.Empty(t, b.Exports(t))
}

func TestHeaderNamesCountInAnyCase(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	conn, answers := dial(t, b.serve(t))
	_, err := fmt.Fprintf(conn, "POST /hooks/acme HTTP/1.1\r\nhost: gate\r\nx-service-event: "+
		"CANDIDATE-EXPORT\r\nX-SERVICE-UUID: u-1\r\nlink: https://a/b\r\n"+
		"x-SERVICE-export-CONTEXT: job\r\nx-service-signature: %s\r\ncontent-length: %d\r\n\r\n%s",
		webhook.Sign("acme-secret", minimal), len(minimal), minimal)
	require.NoError(t, err)
	answer, err := http.ReadResponse(answers, nil)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusAccepted, answer.StatusCode)
	e := b.Exports(t)[0]
	require.NoError(t, b.Runtime.Store().LoadBody(t.Context(), e))
	require.Equal(t, "u-1", e.Key)
	require.Equal(t, "https://a/b", string(e.Link))
	require.Equal(t, "job", string(e.ExportContext))
}
