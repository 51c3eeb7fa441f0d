package apply

import (
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

	"github.com/hiregate/hiregate/internal/applyclient"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

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
)

// client is a user of an Apply API at the command line.
type client struct {
	*applyclient.Client
	base string
	log  io.Writer
}

func newClient(base, user string, password func() (string, error), log io.Writer) *client {
	c := applyclient.New(base, user, &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: answerTime,
		ExpectContinueTimeout: time.Second}})
	c.Password, c.Tokens = password, tokenFile(cacheFile(base, user))
	return &client{c, base, log}
}

// cacheFile is the file of the token: one for each address and user. Empty: there is no cache folder.
func cacheFile(base, user string) string {
	folder, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(folder, "hiregate", "apply",
		fmt.Sprintf("%x.token", sha256.Sum256([]byte(base+"\x00"+strings.ToLower(user)))))
}

// tokenFile implements applyclient.Tokens with a file. If that can't be written, the next request signs in again.
type tokenFile string

func (name tokenFile) Token(context.Context) (string, error) {
	raw, err := os.ReadFile(string(name))
	if err != nil {
		return "", nil
	}
	return strings.TrimSpace(string(raw)), nil
}

func (name tokenFile) Renew(ctx context.Context, _ string,
	signIn func(context.Context) (string, error)) (string, error) {
	token, err := signIn(ctx)
	if err == nil && name != "" && os.MkdirAll(filepath.Dir(string(name)), 0o700) == nil {
		_ = terminal.WriteFile(string(name), token+"\n")
	}
	return token, err
}

// sentence makes an error of an answer.
func sentence(doing string, a *applyclient.Reply) error {
	text := terminal.StatusText(a.Status)
	if said, _ := a.Problem(); said.Message != nil && *said.Message != "" {
		text = fmt.Sprintf("%d, %s", a.Status, terminal.Printable(*said.Message))
	}
	if wait := a.Header.Get("Retry-After"); wait != "" {
		text += " (Retry-After: " + terminal.Printable(wait) + " s)"
	}
	return fmt.Errorf("%s: the answer was %s", doing, text)
}

// insistently makes a request that may be repeated, again when it broke off or the answer asks for that. later reports
// that an earlier try had no answer that counts.
func (c *client) insistently(ctx context.Context,
	request func() (*applyclient.Reply, error)) (a *applyclient.Reply, later bool, err error) {
	for attempt, gap := 1, firstGap; ; attempt++ {
		a, err := request()
		var file *applyclient.FileError
		var signIn *applyclient.SignInError
		switch {
		case errors.As(err, &file):
			return nil, later, fileError(file)
		case errors.As(err, &signIn):
			return nil, later, c.notSignedIn(ctx, signIn)
		case err == nil && !again(a):
			return a, later, nil
		case ctx.Err() != nil, attempt == attempts:
			return a, later, c.unreached(ctx, err)
		}
		later = later || err != nil || a.Status != http.StatusTooManyRequests
		wait := gap
		if err == nil {
			if n, err := strconv.Atoi(a.Header.Get("Retry-After")); err == nil {
				wait = time.Duration(n) * time.Second
			}
			if wait > maxGap {
				return a, later, nil
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

// fileError says which file can't be sent.
func fileError(of *applyclient.FileError) error {
	return &applyclient.FileError{QuestionID: terminal.Printable(of.QuestionID),
		Err: fmt.Errorf("%w: apply again", terminal.Cause(of.Err))}
}

// notSignedIn says why there is no token. An Apply API has the address of SignIn.
func (c *client) notSignedIn(ctx context.Context, e *applyclient.SignInError) error {
	a := e.Reply
	if a == nil {
		return c.unreached(ctx, e.Err)
	}
	switch a.Status {
	case http.StatusOK, http.StatusNotFound, http.StatusMethodNotAllowed:
		return c.elsewhere()
	}
	return sentence("signing in at "+c.base, a)
}

// again reports whether an answer asks for another try.
func again(a *applyclient.Reply) bool {
	return a.Status == http.StatusTooManyRequests || a.Status == http.StatusServiceUnavailable ||
		a.Status == http.StatusBadGateway ||
		a.Status == http.StatusConflict && a.Header.Get("Retry-After") != ""
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
func (c *client) questions(ctx context.Context, job string) (all []applyclient.Question, err error) {
	doing := "reading what " + terminal.Printable(job) + " asks"
	a, err := c.get(ctx, applyclient.QuestionsPath(job), doing)
	if err != nil {
		return nil, err
	}
	if all, err = a.Questions(); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return all, nil
}

// legalText reads the text of a compliance group.
func (c *client) legalText(ctx context.Context, group string) (*legalText, error) {
	doing := "reading the text of " + terminal.Printable(group)
	a, err := c.get(ctx, applyclient.CompliancePath(group), doing)
	if err != nil {
		return nil, err
	}
	t := new(legalText)
	if err := json.Unmarshal(a.Body, t); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return t, nil
}

func (c *client) get(ctx context.Context, path, doing string) (*applyclient.Reply, error) {
	a, _, err := c.insistently(ctx, func() (*applyclient.Reply, error) {
		return c.Do(ctx, http.MethodGet, path, applyclient.Body{}, nil)
	})
	if err == nil && a.Status != http.StatusOK {
		err = sentence(doing, a)
	}
	return a, err
}

// apply sends an application with an Idempotency-Key. It returns the application's id, or what is not valid.
func (c *client) apply(ctx context.Context, job, source string, answers []givenAnswer,
	key string) (id string, items []model.InvalidAnswer, err error) {
	body, err := applicationBody(job, source, answers)
	if err != nil {
		return "", nil, err
	}
	a, later, err := c.insistently(ctx, func() (*applyclient.Reply, error) { return c.Apply(ctx, body, key) })
	switch {
	case errors.As(err, new(*applyclient.FileError)):
		return "", nil, err
	case err != nil:
		return "", nil, unknown(err, key)
	case a.Verdict() == applyclient.Delivered, a.Verdict() == applyclient.Deviating:
		return a.Header.Get("X-Application-Id"), nil, nil
	}
	if said, ok := a.Problem(); ok && a.Status == http.StatusBadRequest && len(said.Errors) > 0 {
		return "", said.Errors, nil
	}
	err = sentence("applying for "+terminal.Printable(job), a)
	if a.Status >= http.StatusInternalServerError || a.Status == http.StatusConflict ||
		a.Status == http.StatusTooManyRequests && later {
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
