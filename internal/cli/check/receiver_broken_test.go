package check

import (
	"bytes"
	"net/http"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/webhook"
)

// having is an answer to exports whose body has a text.
func having(text string, status int) func(*http.Request, []byte) int {
	return func(_ *http.Request, body []byte) int {
		if bytes.Contains(body, []byte(text)) {
			return status
		}
		return 0
	}
}

// ifSignature answers 202 to an export whose signature a fault accepts.
func ifSignature(accepts func(header string) bool) func(*http.Request, []byte) int {
	return func(r *http.Request, _ []byte) int {
		if r.Header.Get("X-Service-Event") == webhook.EventExport && accepts(r.Header.Get("X-Service-Signature")) {
			return 202
		}
		return 0
	}
}

// ifMatched answers 202 to an export whose signature a fault accepts when it compares it with the right one.
func (e *endpoint) ifMatched(accepts func(header, right string) bool) func(*http.Request, []byte) int {
	return func(r *http.Request, body []byte) int {
		return ifSignature(func(header string) bool { return accepts(header, webhook.Sign(e.secrets[0], body)) })(r, body)
	}
}

// ifHeader is an answer to exports by the value of a header.
func ifHeader(name string, matches func(value string) bool, status int) func(*http.Request, []byte) int {
	return func(r *http.Request, _ []byte) int {
		if r.Header.Get("X-Service-Event") == webhook.EventExport && matches(r.Header.Get(name)) {
			return status
		}
		return 0
	}
}

// crowd counts how many are inside at once. Whoever is inside waits a while for others.
type crowd struct {
	mu     sync.Mutex
	inside int
	full   chan struct{}
}

// enter returns false when more than most are inside.
func (c *crowd) enter(most int) bool {
	c.mu.Lock()
	if c.full == nil {
		c.full = make(chan struct{})
	}
	full := c.full
	c.inside++
	n := c.inside
	if n == most+1 {
		close(c.full)
		c.full = nil
	}
	c.mu.Unlock()
	patience := 10 * time.Second
	if n == 1 {
		patience = 30 * time.Millisecond
	}
	ok := n <= most
	if ok {
		select {
		case <-full:
		case <-time.After(patience):
		}
	}
	c.mu.Lock()
	c.inside--
	c.mu.Unlock()
	return ok
}
