package commands

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
)

// exchange makes a request. The answer's body ends with the request's context at the latest: that of a 101 would be the bare
// connection, which goes on, so it is closed and taken for empty.
func exchange(client *http.Client, r *http.Request) (*http.Response, error) {
	answer, err := client.Do(r)
	if err == nil && answer.StatusCode == http.StatusSwitchingProtocols {
		answer.Body.Close()
		answer.Body = http.NoBody
	}
	return answer, err
}

// hungUp tells whether the other side closed the connection before it had answered.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// speaksNoHTTP tells whether what came is no answer of HTTP.
func speaksNoHTTP(err error) bool {
	return strings.Contains(err.Error(), "malformed HTTP") // net/http has no type for it
}
