// Package applyclient is the client of an Apply API, part C of the contract: `hiregate apply`, `hiregate check apply` and
// the relay use it.
package applyclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
)

// The addresses below that of an Apply API.
const (
	SignInPath      = "/v2/authentication"
	ApplicationPath = "/v2/application"
)

// QuestionsPath is the address of what a job asks.
func QuestionsPath(job string) string { return "/v2/job/" + segment(job) + "/question" }

// CompliancePath is the address of a compliance group's text, which is public.
func CompliancePath(group string) string { return "/compliance/" + segment(group) }

// segment escapes a value as one segment of a URL's path. Dots are escaped where they are all of it: the server would
// resolve them.
func segment(s string) string {
	if strings.Trim(s, ".") == "" {
		return strings.Repeat("%2E", len(s))
	}
	return url.PathEscape(s)
}

// Most bytes of an answer that are read: what a job asks may be large.
const (
	maxQuestions = 16 << 20
	maxAnswer    = 1 << 20
)

// Client is a user of an Apply API. Make it with New. It is safe for concurrent use where its Tokens are.
type Client struct {
	base, user string
	client     *http.Client
	// Password returns the user's password. It is called when a token is needed.
	Password func() (string, error)
	// Tokens keeps the user's token.
	Tokens Tokens
	// Word is shared by the clients of one API.
	Word *Word
	// Header is sent with each request. Nil: nothing more is.
	Header http.Header
}

// Tokens keeps the token of a user.
type Tokens interface {
	// Token returns the token; empty: there is none.
	Token(ctx context.Context) (string, error)
	// Renew returns a token in the place of one that the API refused; empty: of none. It calls signIn unless the token
	// was renewed meanwhile.
	Renew(ctx context.Context, refused string, signIn func(context.Context) (string, error)) (string, error)
}

// Word remembers the word after which an API took a token. The contract shows Bearer as well as Token.
type Word struct{ atomic.Pointer[string] }

// New returns the client of a user. Requests go through a copy of client that follows no redirect: nobody chose to send
// the password and the applicants anywhere else.
func New(base, user string, client *http.Client) *Client {
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{base: strings.TrimRight(base, "/"), user: user, client: &own, Word: new(Word)}
}

// Close ends the connections that are idle.
func (c *Client) Close() { c.client.CloseIdleConnections() }

// Send sends one request, and reads the answer. authorization is the whole header; empty: without one. An error after
// the head of the answer comes with what was read.
func (c *Client) Send(ctx context.Context, method, path, authorization string, body Body,
	header http.Header) (*Reply, error) {
	var in io.Reader
	if body.Open != nil {
		stream := body.Open()
		defer stream.Close()
		in = stream
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, in)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	if in != nil {
		r.ContentLength = body.Size
		r.Header.Set("Content-Type", "application/json")
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	maps.Copy(r.Header, c.Header)
	maps.Copy(r.Header, header)
	answer, err := c.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	a := &Reply{Status: answer.StatusCode, Header: answer.Header}
	if a.Status == http.StatusSwitchingProtocols { // its body is the bare connection, which no context ends
		return a, nil
	}
	most := int64(maxAnswer)
	if method == http.MethodGet {
		most = maxQuestions
	}
	a.Body, err = io.ReadAll(io.LimitReader(answer.Body, most))
	return a, err
}

// SignInError says why there is no token: what was to be sent with it was not.
type SignInError struct {
	Reply *Reply // has no token; nil: there was none
	Err   error  // instead of a reply
}

func (e *SignInError) Error() string {
	if e.Reply == nil {
		return e.Err.Error()
	}
	return fmt.Sprintf("no token came for the user name and the password: the answer was %d", e.Reply.Status)
}

func (e *SignInError) Unwrap() error { return e.Err }

// SignIn gets a token for the password. Errors: *SignInError, those of the password and of the connection.
func (c *Client) SignIn(ctx context.Context) (token string, err error) {
	password, err := c.Password()
	if err != nil {
		return "", err
	}
	a, err := c.Send(ctx, http.MethodPost, SignInPath, "", Credentials(c.user, password), nil)
	if err != nil {
		return "", err
	}
	if token = a.Token(); token == "" {
		return "", &SignInError{Reply: a}
	}
	return token, nil
}

// Do is Send with the user's token. After a 401 the token is renewed, once, and tried after the other word: that comes first
// where the API took none yet. Where there is no token, the error is *SignInError.
func (c *Client) Do(ctx context.Context, method, path string, body Body, header http.Header) (*Reply, error) {
	token, err := c.Tokens.Token(ctx)
	if err != nil {
		return nil, &SignInError{Err: err}
	}
	word, other, known := "Bearer ", "Token ", c.Word.Load()
	if known != nil && *known == other {
		word, other = other, word
	}
	renewed, both := false, false
	for {
		if token == "" {
			renewed = true
			if token, err = c.renew(ctx, ""); err != nil {
				return nil, err
			}
		}
		a, err := c.Send(ctx, method, path, word+token, body, header)
		switch {
		case err != nil:
			return a, err
		case a.Status != http.StatusUnauthorized:
			c.Word.Store(&word)
			return a, nil
		case !both && (renewed || known == nil):
			both, word, other = true, other, word
		case !renewed:
			if token, err = c.renew(ctx, token); err != nil {
				return nil, err
			}
			if renewed = true; both {
				both, word, other = false, other, word
			}
		default:
			return a, nil
		}
	}
}

func (c *Client) renew(ctx context.Context, refused string) (string, error) {
	token, err := c.Tokens.Renew(ctx, refused, c.SignIn)
	if err != nil && !errors.As(err, new(*SignInError)) {
		err = &SignInError{Err: err}
	}
	return token, err
}

// Apply sends an application. Under a key it may be sent again: it is accepted once. Without one it must not be.
func (c *Client) Apply(ctx context.Context, body Body, key string) (*Reply, error) {
	header := http.Header{"Idempotency-Key": {key}}
	if key == "" {
		header = http.Header{}
	}
	if body.Size > 1<<20 {
		header.Set("Expect", "100-continue") // a refusal then comes before the files are sent
	}
	return c.Do(ctx, http.MethodPost, ApplicationPath, body, header)
}

// ErrNoQuestions means that an answer has no list of questions.
var ErrNoQuestions = errors.New("the answer has no list of questions")

// Questions reads the questions of an answer with status 200.
func (r *Reply) Questions() (all []Question, err error) {
	if err := json.Unmarshal(r.Body, &all); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoQuestions, err)
	}
	if all == nil {
		return nil, ErrNoQuestions
	}
	return all, nil
}
