// Package problem has the one error that refuses a request: a status, a code where the API has codes, and a sentence.
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

// Problem is an error that is answered to whoever sent the request. Detail is a sentence that says what to do; nothing
// in it comes from a request's body.
type Problem struct {
	// Code names the error for machines, as in RFC 6749 section 5.2. application/problem+json does not show it.
	Code     string `json:"-"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"`
	Findings any    `json:"findings,omitempty"`
	// Transcript is what came of asking somebody else, where that is why it is refused.
	Transcript any `json:"transcript,omitempty"`

	retryAfter time.Duration
	close      bool
}

// New returns a problem with an HTTP status.
func New(status int, detail string) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Detail: detail}
}

// Newf is New with a detail that is formatted as by fmt.Sprintf.
func Newf(status int, format string, args ...any) *Problem {
	return New(status, fmt.Sprintf(format, args...))
}

// Error implements error: it returns the detail.
func (p *Problem) Error() string { return p.Detail }

// RetryAfter adds the header of that name, in whole seconds, at least one.
func (p *Problem) RetryAfter(d time.Duration) *Problem {
	p.retryAfter = max(d, time.Second)
	return p
}

// linger is how long the rest of a body that nobody wants may still come in, to be thrown away, before its connection
// is closed. Closing at once would reset it, and the sender could lose the answer (RFC 9112 section 9.6).
const linger = 500 * time.Millisecond

// Closing ends the connection soon after the answer: nobody waits for what is left of the request's body.
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
	p.SetHeader(w)
	w.WriteHeader(p.Status)
	json.NewEncoder(w).Encode(p)
}

// SetHeader sets what RetryAfter and Closing ask for. Encoders call it before they write the status.
func (p *Problem) SetHeader(w http.ResponseWriter) {
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", Seconds(p.retryAfter))
	}
	if p.close {
		Close(w)
	}
}

// Seconds writes a time in whole seconds, rounded up, as the header Retry-After has it.
func Seconds(d time.Duration) string { return strconv.Itoa(int((d + time.Second - 1) / time.Second)) }

// Close has the connection end soon after the answer, which must not have begun yet.
func Close(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	// net/http would wait without end for 256 KiB more. Where there is no connection, there is nothing to close.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(linger))
}

// MethodNotAllowed answers 405 with the methods that are.
func MethodNotAllowed(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	New(http.StatusMethodNotAllowed, "this address takes "+allow+" only").Write(w)
}

// Unavailable answers 503: the store can't be reached, and the same request may be sent again. As a rule nothing was
// kept; where the answer to a COMMIT was lost, nobody knows.
func Unavailable(w http.ResponseWriter) {
	New(http.StatusServiceUnavailable, "the gateway can't write to its database now: send the same request again").
		RetryAfter(5 * time.Second).Write(w)
}
