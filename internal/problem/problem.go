// Package problem has the error that refuses a request: a status, a code where the API has codes, and a sentence.
// Write encodes it as application/problem+json (RFC 9457). The Apply API and sign-in encode it as the contract and
// OAuth want it, after SetHeader.
package problem

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Problem is an error that is answered to the sender of a request. Detail is a sentence that says what to do; it contains
// nothing of the request's body.
type Problem struct {
	// Code names the error for machines: as in RFC 6749 section 5.2, or where errors of one status need different actions.
	Code   string `json:"code,omitempty"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Findings lists what is wrong with the request.
	Findings any `json:"findings,omitempty"`
	// Transcript shows a request to another server whose answer is why this one is refused.
	Transcript any `json:"transcript,omitempty"`

	challenge  string
	retryAfter time.Duration
	close      bool
}

// New returns a problem with an HTTP status.
func New(status int, detail string) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Detail: detail}
}

// Newf returns a problem whose detail is formatted as by fmt.Sprintf.
func Newf(status int, format string, args ...any) *Problem {
	return New(status, fmt.Sprintf(format, args...))
}

// Error implements error: it returns the detail.
func (p *Problem) Error() string { return p.Detail }

// Challenge adds the header WWW-Authenticate.
func (p *Problem) Challenge(challenge string) *Problem {
	p.challenge = challenge
	return p
}

// WithCode adds a code.
func (p *Problem) WithCode(code string) *Problem {
	p.Code = code
	return p
}

// RetryAfter adds the header Retry-After, in whole seconds, at least one.
func (p *Problem) RetryAfter(d time.Duration) *Problem {
	p.retryAfter = max(d, time.Second)
	return p
}

// linger is the time in which the rest of an unwanted body may still arrive, to be discarded, before its connection is
// closed. Closing at once would reset the connection, and the sender could lose the answer (RFC 9112 section 9.6).
const linger = 500 * time.Millisecond

// Closing ends the connection soon after the answer, without waiting for the rest of the request's body.
func (p *Problem) Closing() *Problem {
	p.close = true
	return p
}

// Write answers with the problem.
func (p *Problem) Write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	p.SetHeader(w, true)
	w.WriteHeader(p.Status)
	json.NewEncoder(w).Encode(p)
}

// SetHeader sets the headers of Challenge and RetryAfter, and of Closing if the request has a body. Encoders call it
// before they write the status.
func (p *Problem) SetHeader(w http.ResponseWriter, body bool) {
	if p.challenge != "" {
		w.Header().Set("WWW-Authenticate", p.challenge)
	}
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", Seconds(p.retryAfter))
	}
	if p.close && body {
		Close(w)
	}
}

// Seconds formats a time in whole seconds, rounded up, for the header Retry-After.
func Seconds(d time.Duration) string { return strconv.Itoa(int((d + time.Second - 1) / time.Second)) }

// Close ends the connection soon after the answer, which must not have begun yet.
func Close(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	// net/http would wait without end for 256 KiB more. Where there is no connection, there is nothing to close.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(linger))
}

// MethodNotAllowed answers 405 with the methods that are allowed.
func MethodNotAllowed(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	New(http.StatusMethodNotAllowed, "this address takes "+allow+" only").Write(w)
}

// Unavailable answers 503: the store can't be reached, and the same request may be sent again. Nothing was stored, unless
// the answer to a COMMIT was lost.
func Unavailable(w http.ResponseWriter) {
	New(http.StatusServiceUnavailable, "the gateway can't write to its database now: send the same request again").
		RetryAfter(5 * time.Second).Write(w)
}
