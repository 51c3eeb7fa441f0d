package apply

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// asked is a question as the Apply API shows it (contract, "Question").
type asked struct {
	ID         string       `json:"id"`
	Format     model.Format `json:"format"`
	IsRequired bool         `json:"isRequired"`
	Label      string       `json:"label"`
	Options    []string     `json:"options"`
	MaxLength  *int         `json:"maxLength"`
	Group      *string      `json:"group"`
}

// invalidItem says what is wrong with an answer (contract, "Validation item").
type invalidItem struct {
	QuestionID string   `json:"questionId"`
	Messages   []string `json:"messages"`
}

// legalText is the text of a compliance group.
type legalText struct {
	Title string   `json:"title"`
	Form  string   `json:"form"`
	Text  []string `json:"text"`
}

const (
	answerTime = 2 * time.Minute // until the head of an answer, once all is sent
	attempts   = 5
	firstGap   = time.Second      // before the second attempt; it doubles
	maxGap     = 30 * time.Second // a longer Retry-After is for the person to wait
	maxAnswer  = 16 << 20         // bytes
)

// client is a user of an Apply API.
type client struct {
	base, user string
	password   func() (string, error)
	log        io.Writer
	transport  *http.Transport
	client     *http.Client
	token      string
}

func newClient(base, user string, password func() (string, error), log io.Writer) *client {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: answerTime,
		ExpectContinueTimeout: time.Second}
	c := &client{base: base, user: user, password: password, log: log, transport: transport}
	c.client = &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if raw, err := os.ReadFile(c.cache()); err == nil {
		c.token = strings.TrimSpace(string(raw))
	}
	return c
}

func (c *client) close() { c.transport.CloseIdleConnections() }

// cache is the file of the token: one for each address and user. Empty: there is no cache folder.
func (c *client) cache() string {
	folder, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(folder, "hiregate", "apply",
		fmt.Sprintf("%x.token", sha256.Sum256([]byte(c.base+"\x00"+strings.ToLower(c.user)))))
}

// store writes the token into the cache. If that fails, the next command signs in again.
func (c *client) store() {
	if name := c.cache(); name != "" && os.MkdirAll(filepath.Dir(name), 0o700) == nil {
		_ = terminal.WriteFile(name, c.token+"\n")
	}
}

// authenticate gets a token for the password.
func (c *client) authenticate(ctx context.Context) error {
	password, err := c.password()
	if err != nil {
		return err
	}
	raw, err := json.Marshal(map[string]string{"userName": c.user, "password": password})
	if err != nil {
		return err
	}
	a, err := c.send(ctx, http.MethodPost, "/v2/authentication",
		content{new: func() io.ReadCloser { return io.NopCloser(bytes.NewReader(raw)) }, size: int64(len(raw))}, nil)
	if err != nil {
		return err
	}
	if a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed { // an Apply API has this address
		return c.elsewhere()
	}
	if a.status != http.StatusOK {
		return a.sentence("signing in at " + c.base)
	}
	var got struct{ Token string }
	if err := json.Unmarshal(a.body, &got); err != nil || got.Token == "" {
		return c.elsewhere()
	}
	c.token = got.Token
	c.store()
	return nil
}

// content is a body that can be sent more than once.
type content struct {
	new  func() io.ReadCloser // nil: none
	size int64
}

// reply is an answer of the Apply API.
type reply struct {
	status int
	header http.Header
	body   []byte
	later  bool // an earlier try had no answer that counts
}

// sentence makes an error of an answer.
func (a *reply) sentence(doing string) error {
	var said struct{ Message string }
	_ = json.Unmarshal(a.body, &said) // something else than an Apply API may answer anything
	text := terminal.StatusText(a.status)
	if said.Message != "" {
		text = fmt.Sprintf("%d, %s", a.status, terminal.Printable(said.Message))
	}
	if wait := a.header.Get("Retry-After"); wait != "" {
		text += " (Retry-After: " + terminal.Printable(wait) + " s)"
	}
	return fmt.Errorf("%s: the answer was %s", doing, text)
}

func (c *client) send(ctx context.Context, method, path string, body content, header http.Header) (*reply, error) {
	var in io.Reader
	if body.new != nil {
		stream := body.new()
		defer stream.Close()
		in = stream
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, in)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", c.base, terminal.Cause(err))
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("Accept", "application/json")
	if in != nil {
		r.ContentLength = body.size
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := terminal.Exchange(c.client, r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	return &reply{status: answer.StatusCode, header: answer.Header, body: raw}, err
}

// ask is send with a token, which is renewed when the answer is 401. It repeats requests that broke off, or whose
// answer asks for that: use it only for requests that may be repeated.
func (c *client) ask(ctx context.Context, method, path string, body content, header http.Header) (*reply, error) {
	renewed, later := false, false
	for attempt, gap := 1, firstGap; ; attempt++ {
		if c.token == "" {
			renewed = true
			if err := c.authenticate(ctx); err != nil {
				return nil, c.unreached(ctx, err)
			}
		}
		h := http.Header{"Authorization": {"Bearer " + c.token}}
		for name, values := range header {
			h[name] = values
		}
		a, err := c.send(ctx, method, path, body, h)
		if err == nil {
			a.later = later
		}
		var bad *answerFileError
		switch {
		case errors.As(err, &bad):
			return nil, bad
		case err == nil && a.status == http.StatusUnauthorized && !renewed:
			c.token = ""
			continue
		case err == nil && !again(a):
			return a, nil
		case ctx.Err() != nil, attempt == attempts:
			return a, c.unreached(ctx, err)
		}
		later = later || err != nil || a.status != http.StatusTooManyRequests
		wait := gap
		if err == nil {
			if n, err := strconv.Atoi(a.header.Get("Retry-After")); err == nil {
				wait = time.Duration(n) * time.Second
			}
			if wait > maxGap {
				return a, nil
			}
		}
		fmt.Fprintf(c.log, "no answer that counts: sent again in %s\n", terminal.FormatDuration(wait))
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		gap *= 2
	}
}

// again reports whether an answer asks for another try.
func again(a *reply) bool {
	return a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable ||
		a.status == http.StatusBadGateway ||
		a.status == http.StatusConflict && a.header.Get("Retry-After") != ""
}

func (c *client) unreached(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errors.New("interrupted before the Apply API answered")
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens at %s: start the gateway, or check the port in --url", c.base)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%s speaks plain HTTP: write http:// instead of https:// in --url", c.base)
	case terminal.HungUp(err):
		return fmt.Errorf("%s closed the connection before it had answered: look at its log", c.base)
	case errors.As(err, new(*url.Error)) && terminal.SpeaksNoHTTP(err):
		return c.elsewhere()
	case errors.As(err, new(*url.Error)):
		return fmt.Errorf("no answer came from %s: %w", c.base, terminal.Cause(err))
	}
	return err
}

func (c *client) elsewhere() error {
	return fmt.Errorf("what listens at %s is not an Apply API: name its address with --url", c.base)
}

// questions reads what a job asks.
func (c *client) questions(ctx context.Context, job string) (all []asked, err error) {
	err = c.get(ctx, "/v2/job/"+terminal.PathSegment(job)+"/question", "reading what "+terminal.Printable(job)+" asks",
		&all)
	return all, err
}

// legalText reads the text of a compliance group, which is public.
func (c *client) legalText(ctx context.Context, group string) (*legalText, error) {
	t := new(legalText)
	return t, c.get(ctx, "/compliance/"+terminal.PathSegment(group), "reading the text of "+terminal.Printable(group), t)
}

func (c *client) get(ctx context.Context, path, doing string, into any) error {
	a, err := c.ask(ctx, http.MethodGet, path, content{}, nil)
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return a.sentence(doing)
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// apply sends an application with an Idempotency-Key. It returns the application's id, or what is not valid.
func (c *client) apply(ctx context.Context, job, source string, answers []givenAnswer,
	key string) (id string, items []invalidItem, err error) {
	body, err := applicationBody(job, source, answers)
	if err != nil {
		return "", nil, err
	}
	header := http.Header{"Idempotency-Key": {key}}
	if body.size > 1<<20 {
		header.Set("Expect", "100-continue") // a refusal then comes before the files are sent
	}
	a, err := c.ask(ctx, http.MethodPost, "/v2/application", body, header)
	var bad *answerFileError
	switch {
	case errors.As(err, &bad):
		return "", nil, bad
	case err != nil:
		return "", nil, unknown(err, key)
	case a.status == http.StatusNoContent:
		return a.header.Get("X-Application-Id"), nil, nil
	}
	var said struct{ Errors []invalidItem }
	if a.status == http.StatusBadRequest && json.Unmarshal(a.body, &said) == nil && len(said.Errors) > 0 {
		return "", said.Errors, nil
	}
	err = a.sentence("applying for " + terminal.Printable(job))
	if a.status >= http.StatusInternalServerError || a.status == http.StatusConflict ||
		a.status == http.StatusTooManyRequests && a.later {
		err = unknown(err, key)
	}
	return "", nil, err
}

// unknown is the error of an application that may or may not have been accepted: also after a 503, because the
// database's answer may have been lost.
func unknown(err error, key string) error {
	return fmt.Errorf("%w; whether the application was taken is not known: with --idempotency-key %s and the same "+
		"answers it can be sent again, and is taken once", err, key)
}
