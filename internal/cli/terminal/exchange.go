package terminal

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Exchange sends a request. The answer's body ends with the request's context at the latest: the body of a 101 would be
// the bare connection, so it is closed and counts as empty.
func Exchange(client *http.Client, r *http.Request) (*http.Response, error) {
	answer, err := client.Do(r)
	if err == nil && answer.StatusCode == http.StatusSwitchingProtocols {
		answer.Body.Close()
		answer.Body = http.NoBody
	}
	return answer, err
}

// HungUp reports whether the other side closed the connection before it had answered.
func HungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// SpeaksNoHTTP reports whether the answer was not HTTP.
func SpeaksNoHTTP(err error) bool {
	return strings.Contains(err.Error(), "malformed HTTP") // net/http has no type for it
}

// SpeaksNoTLS reports whether the answer to https was plain http.
func SpeaksNoTLS(err error) bool { return errors.Is(err, http.ErrSchemeMismatch) }

// Cause returns the innermost error: outer ones repeat the sentence around them.
func Cause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// Direct is a client for processes of this machine: it uses no proxy of the environment.
var Direct = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// PathSegment escapes a value as one segment of a URL's path. Dots are escaped where they are all of it: the server
// would resolve them.
func PathSegment(s string) string {
	if strings.Trim(s, ".") == "" {
		return strings.Repeat("%2E", len(s))
	}
	return url.PathEscape(s)
}

// StatusText is the status code and its name, such as "404 Not Found".
func StatusText(code int) string {
	if text := http.StatusText(code); text != "" {
		return strconv.Itoa(code) + " " + text
	}
	return strconv.Itoa(code)
}
