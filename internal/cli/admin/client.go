// Package admin has the commands that ask a running gateway through its management API.
package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/problem"
)

const (
	patience = 30 * time.Second
	// maxRefusal is how much is read of an error answer. The longest has a sentence for each row of a list of 1 MiB.
	maxRefusal = 64 << 20
)

// Client asks a running gateway, the only process that has the database open: at Caddy's admin endpoint on the same
// machine, or at its management API, with an API key.
type Client struct {
	Address string // of the admin endpoint, host:port or unix//path

	gateway string // the URL of a management API; empty: the admin endpoint
	keyFile string
	json    bool
	wide    bool
	Named   bool // whether the person at the terminal knows which gateway this is
	asked   bool // whether a request was sent: an error before that is one of the command line
}

// ask calls the API for a command that shows the answer: with --json the answer is printed here, as it came, and shown
// is true; else the command prints what it read into into, unless that is nil.
func (a *Client) ask(
	ctx context.Context, cmd *cobra.Command, method, path string, in, into any,
) (shown bool, err error) {
	return a.askWith(ctx, cmd, method, path, nil, in, into)
}

// askWith is ask with a header.
func (a *Client) askWith(
	ctx context.Context, cmd *cobra.Command, method, path string, header http.Header, in, into any,
) (shown bool, err error) {
	var raw json.RawMessage
	if _, err := a.Send(ctx, method, path, header, in, &raw); err != nil {
		return false, err
	}
	if into != nil {
		if err := json.Unmarshal(raw, into); err != nil {
			return false, a.elsewhere(strange)
		}
	}
	if a.json {
		return true, terminal.WriteJSON(cmd.OutOrStdout(), raw)
	}
	return false, nil
}

// do has something done that has no answer, and prints the line that says so; with --json nothing.
func (a *Client) do(ctx context.Context, cmd *cobra.Command, method, path, said string) error {
	if err := a.Call(ctx, method, path, nil, nil); err != nil || a.json {
		return err
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), terminal.Printable(said))
	return err
}

// Call asks the gateway's management API and decodes its answer. Without an in, nothing is sent. Its errors are
// sentences.
func (a *Client) Call(ctx context.Context, method, path string, in, out any) error {
	_, err := a.Send(ctx, method, path, nil, in, out)
	return err
}

// verbatim is a body that is sent as it is.
type verbatim []byte

// streamed is a body that is sent as it is read.
type streamed struct{ io.Reader }

// Send is Call with a header, and returns the answer's header; with a nil out it drops the answer's body. When the
// gateway refuses, the error is a *Refusal.
func (a *Client) Send(ctx context.Context, method, path string, header http.Header, in, out any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := a.open(ctx, method, path, header, in)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if out == nil {
		return answer.Header, nil
	}
	if err := json.NewDecoder(answer.Body).Decode(out); err != nil {
		syntax, kind := new(json.SyntaxError), new(json.UnmarshalTypeError)
		if errors.As(err, &syntax) || errors.As(err, &kind) {
			return nil, a.elsewhere(strange)
		}
		return nil, a.unreached(err)
	}
	return answer.Header, nil
}

// open is Send that returns the answer with its body still to be read. Closing that closes the connection.
func (a *Client) open(ctx context.Context, method, path string, header http.Header, in any) (*http.Response, error) {
	to, err := a.endpoint()
	if err != nil {
		return nil, err
	}
	to.transport.DisableKeepAlives = true
	var body io.Reader
	switch in := in.(type) {
	case nil:
	case verbatim:
		body = bytes.NewReader(in)
	case streamed:
		body = in
	default:
		raw := new(bytes.Buffer)
		encode := json.NewEncoder(raw)
		encode.SetEscapeHTML(false) // a job that is sent back is not to become larger
		if err := encode.Encode(in); err != nil {
			return nil, err
		}
		body = raw
	}
	r, err := http.NewRequestWithContext(ctx, method, to.url+path, body)
	if err != nil {
		return nil, fmt.Errorf("asking the gateway: %w", terminal.Cause(err))
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, values := range to.header {
		r.Header[name] = values
	}
	for name, values := range header {
		r.Header[name] = values
	}
	a.asked = true
	answer, err := terminal.Exchange(&http.Client{Transport: to.transport, CheckRedirect: noRedirect}, r)
	if err != nil {
		return nil, a.unreached(err)
	}
	if !a.Named && terminal.IsTerminal(os.Stderr) {
		a.Named = true
		fmt.Fprint(os.Stderr, a.peer(answer.Header.Get("Server")))
	}
	if answer.StatusCode/100 == 2 {
		return answer, nil
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusPreconditionFailed { // the API's sentence speaks of headers
		return nil, &Refusal{answer.StatusCode, errChanged}
	}
	return nil, &Refusal{answer.StatusCode, a.refused(answer)}
}

var errChanged = errors.New("somebody else changed it at the same moment, and nothing was saved: run the command again")

// Refusal is the gateway's error answer.
type Refusal struct {
	Status int
	error  // a sentence
}

// refused makes a sentence of an error answer, of the gateway or of another server that listens there.
func (a *Client) refused(answer *http.Response) error {
	var findings []string
	var transcript api.Transcript
	said := struct {
		problem.Problem        // of a gateway
		Error           string // of Caddy itself
	}{Problem: problem.Problem{Findings: &findings, Transcript: &transcript}}
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxRefusal))
	if err != nil {
		return a.unreached(err)
	}
	// Another server may answer anything.
	_ = json.Unmarshal(raw, &said)
	switch {
	case said.Detail != "":
		var sentence strings.Builder
		sentence.WriteString(terminal.Printable(said.Detail))
		if transcript.DurationMs > 0 {
			fmt.Fprintf(&sentence, " (after %s)", terminal.FormatDuration(milliseconds(transcript.DurationMs)))
		}
		if transcript.Answer != "" {
			sentence.WriteString("; the answer began: " + terminal.Printable(transcript.Answer))
		}
		for _, finding := range findings {
			if !strings.Contains(said.Detail, finding) {
				sentence.WriteString("\n  " + terminal.Printable(finding))
			}
		}
		return errors.New(sentence.String())
	case said.Error != "":
		return fmt.Errorf("%s refuses: %s", a.where(), terminal.Printable(said.Error))
	}
	return a.elsewhere("it answered " + terminal.StatusText(answer.StatusCode))
}
