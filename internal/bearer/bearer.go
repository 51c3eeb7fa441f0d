// Package bearer reads the answers of token endpoints (RFC 6749 section 5.1) as they come, where golang.org/x/oauth2
// takes only what the RFC allows, or more.
package bearer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/oauth2"
)

// ErrType means that a token is of another type, and can't be sent as a bearer token.
var ErrType = errors.New("the token is no bearer token (token_type)")

// Check refuses a token that is no bearer token. One without a type is one.
func Check(token *oauth2.Token) error {
	if token.TokenType != "" && !strings.EqualFold(token.TokenType, "bearer") {
		return ErrType
	}
	return nil
}

// Client returns a client that asks a token endpoint as another one does. An expires_in that is no whole number of
// seconds, or a negative one, comes as -1: the token is good now, and nobody knows for how long.
func Client(c *http.Client) *http.Client {
	reading := *c
	reading.Transport = lifetimes{cmp.Or(c.Transport, http.DefaultTransport)}
	return &reading
}

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 1 << 20

type lifetimes struct{ http.RoundTripper }

// RoundTrip asks, and changes the lifetime in the answer where it has to.
func (l lifetimes) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	answer.Body.Close()
	if err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(readable(body)))
	return answer, nil
}

func readable(body []byte) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return body
	}
	life, sent := members["expires_in"]
	if !sent || string(life) == "null" {
		return body
	}
	if seconds, err := strconv.ParseInt(strings.Trim(string(life), `"`), 10, 64); err == nil && seconds >= 0 {
		return body
	}
	members["expires_in"] = json.RawMessage("-1")
	changed, err := json.Marshal(members)
	if err != nil {
		return body
	}
	return changed
}
