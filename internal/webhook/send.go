package webhook

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

const (
	// AttemptTimeout bounds a whole attempt: resolving, connecting, sending, and reading the answer.
	AttemptTimeout = 20 * time.Second
	// AnswerBound is the most bytes of an answer's body that are read.
	AnswerBound = 64 << 10
	// AnswerHeaderBound is the most bytes of an answer's header that are kept.
	AnswerHeaderBound = 8 << 10
	// MaxRetryAfter is the longest wait that a Retry-After header can ask for.
	MaxRetryAfter = time.Hour
)

// Delivery is the content of one attempt. Optional headers of an export that are nil are not sent. A VERIFY event has
// none of them.
type Delivery struct {
	URL    string
	Secret string
	// OtherSecret makes a second signature of Standard Webhooks, during a rotation; empty: there is none.
	OtherSecret string
	Event       string // EventExport or EventVerify
	Body        []byte

	UUID          []byte
	Link          []byte
	ExportContext []byte

	// WebhookID adds the signature set of Standard Webhooks, for either event; empty: it is left out.
	WebhookID string
	// Traceparent is the span of the attempt (W3C Trace Context); empty: it is left out.
	Traceparent string
}

// Answer is the response to an attempt, of any status: a redirect is an answer and is not followed.
type Answer struct {
	Status     int
	Head       []byte        // the body's first AnswerBound bytes at most; it and Header without Credentials
	RetryAfter time.Duration // 0 to MaxRetryAfter; 0 if not asked for
	Started    time.Time
	Duration   time.Duration
	Header     []byte // a line each, by name; at most AnswerHeaderBound bytes, without Set-Cookie
	Address    string // IP address and port of the other end; empty: none was found
	Phases     model.Phases
}

// Acknowledged reports whether the receiver took a CANDIDATE-EXPORT event: any 2xx (contract, "Events" rule 1).
func (a Answer) Acknowledged() bool { return a.Status >= 200 && a.Status <= 299 }

// Verified reports whether the receiver took a VERIFY event: exactly 200 (contract, "Events" rule 2).
func (a Answer) Verified() bool { return a.Status == http.StatusOK }

// RefusesCredentials reports whether the status says that credentials are wrong or missing (RFC 9110 sections 15.5.2 and
// 15.5.4).
func (a Answer) RefusesCredentials() bool {
	return a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden
}

// RefusalOfCredentials returns the sentence about such an answer. Receivers say so of a signature, too.
func (a Answer) RefusalOfCredentials() string {
	return fmt.Sprintf("answered %d: it does not accept the signature or the credentials; check the integration's secret and "+
		"authentication", a.Status)
}

// Send makes one attempt through the client's transport, which should come from egress: it bounds connecting, and it
// asks for no compression, so that the request has no header beyond Host, Content-Length, Content-Type, User-Agent and
// the contract's.
//
// Where no status came back the error is a *SendError, unless ctx was cancelled, which is nobody's failure: then the
// error wraps its cause. Started and Duration are set in every case. Once a status came, the attempt has its answer,
// even if the body behind it breaks off.
func (n Names) Send(ctx context.Context, client *http.Client, d Delivery) (a Answer, err error) {
	return exchange(ctx, client, []string{d.Secret, d.OtherSecret},
		func(ctx context.Context, at time.Time) (*http.Request, error) { return n.request(ctx, d, at) })
}

// exchange makes a request, sends it and reads the answer, which shows none of the secrets that sign the request, and no
// other credential of it.
func exchange(ctx context.Context, client *http.Client, secrets []string,
	request func(ctx context.Context, at time.Time) (*http.Request, error)) (a Answer, err error) {
	a.Started = time.Now()
	var seen progress
	defer func() {
		a.Duration = time.Since(a.Started)
		a.Address, a.Phases = seen.measured()
	}()

	attempt, cancel := context.WithTimeout(ctx, AttemptTimeout)
	defer cancel()
	req, err := request(seen.trace(attempt), a.Started)
	if err != nil {
		return a, err
	}
	// Not client.Do: it follows redirects, or fails where their Location can't be read, and adds cookies.
	transport := client.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return a, seen.explain(ctx, req.URL.Host, err)
	}
	defer resp.Body.Close()
	credentials := credentialsIn(resp.Request, req, secrets)
	a.Status, a.Header = resp.StatusCode, credentials.Blank(headerLines(resp.Header), false)
	a.RetryAfter = RetryAfter(resp.Header.Get("Retry-After"), time.Now())
	if a.Status != http.StatusSwitchingProtocols { // its body is the bare connection, which no context ends
		head, _ := io.ReadAll(io.LimitReader(resp.Body, AnswerBound))
		a.Head = credentials.Blank(head, len(head) == AnswerBound)
	}
	return a, nil
}

// SendLogout makes one attempt at telling an application that a session has ended (OpenID Connect Back-Channel Logout 1.0
// section 2.5), as Send does.
func (n Names) SendLogout(ctx context.Context, client *http.Client, uri, token string) (Answer, error) {
	return exchange(ctx, client, []string{token}, func(ctx context.Context, _ time.Time) (*http.Request, error) {
		req, err := post(ctx, uri, []byte(url.Values{"logout_token": {token}}.Encode()))
		if err != nil {
			return nil, err
		}
		req.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "User-Agent": {n.UserAgent},
			"Cache-Control": {"no-store"}}
		return req, nil
	})
}

// post is a POST of a body to an address, without headers. The parser's error is dropped because it quotes the URL.
func post(ctx context.Context, address string, body []byte) (*http.Request, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, &SendError{Kind: KindProtocol, Err: errURL}
	}
	if u.User != nil { // it would become an Authorization header
		return nil, &SendError{Kind: KindProtocol, Host: u.Host, Err: errUserInfo}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, &SendError{Kind: KindProtocol, Host: u.Host, Err: errURL}
	}
	return req, nil
}

// request builds what goes onto the wire.
func (n Names) request(ctx context.Context, d Delivery, at time.Time) (*http.Request, error) {
	req, err := post(ctx, d.URL, d.Body)
	if err != nil {
		return nil, err
	}
	// Assigned, not Set: Set would spell it X-Service-Uuid.
	req.Header = http.Header{
		"Content-Type": {"application/json"},
		"User-Agent":   {n.UserAgent},
		n.Event:        {d.Event},
		n.Signature:    {Sign(d.Secret, d.Body)},
	}
	if d.Event == EventExport {
		put(req.Header, n.UUID, d.UUID)
		put(req.Header, LinkHeader, d.Link)
		put(req.Header, n.ExportContext, d.ExportContext)
	}
	if d.WebhookID != "" {
		signStandard(req.Header, d.WebhookID, at, d.Body, d.Secret, d.OtherSecret)
	}
	if d.Traceparent != "" {
		put(req.Header, "traceparent", []byte(d.Traceparent))
	}
	return req, nil
}

func put(h http.Header, name string, value []byte) {
	if value != nil {
		h[name] = []string{string(value)}
	}
}

// RetryAfter reads a Retry-After header (RFC 9110 section 10.2.3): seconds or an HTTP date. What can't be read, or has
// passed, is 0.
func RetryAfter(value string, now time.Time) time.Duration {
	if value != "" && strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseUint(value, 10, 64)
		if err != nil || seconds > uint64(MaxRetryAfter/time.Second) { // an error here is a number out of range
			return MaxRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(date.Sub(now), 0), MaxRetryAfter)
}

// headerLines are the fields of a header, a line each, by name: as many whole ones as there is room for. Set-Cookie is
// left out, since it may hold a credential.
func headerLines(h http.Header) (lines []byte) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if name == "Set-Cookie" {
			continue
		}
		for _, value := range h[name] {
			if line := name + ": " + value + "\n"; len(lines)+len(line) <= AnswerHeaderBound {
				lines = append(lines, line...)
			}
		}
	}
	return lines
}
