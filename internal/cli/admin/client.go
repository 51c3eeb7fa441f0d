// Package admin has the commands that ask a running gateway through its management API.
package admin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

const (
	// AddressVariable is the environment variable that may hold the address instead of --admin.
	AddressVariable = "HIREGATE_ADMIN"
	// DefaultAddress is where Caddy's admin endpoint listens unless it is configured.
	DefaultAddress = "localhost:2019"
	adminPatience  = 30 * time.Second
	// maxRefusal is how much is read of an error answer. The longest has a sentence for each row of a list of 1 MiB.
	maxRefusal = 64 << 20
)

// Client asks the running gateway, which alone has the database open, through Caddy's admin endpoint.
type Client struct {
	Address string // host:port or unix//path
	json    bool
	named   bool // whether the person at the terminal was told whom this talks to
}

// flags adds what all commands that talk to the gateway take.
func (a *Client) flags(cmd *cobra.Command) {
	fl := cmd.PersistentFlags()
	fl.StringVar(&a.Address, "admin", cmp.Or(os.Getenv(AddressVariable), DefaultAddress),
		"admin endpoint of the running gateway, host:port or unix//path (or the environment variable "+AddressVariable+")")
	fl.BoolVar(&a.json, "json", false, "print JSON, one object a line")
}

// ask is Call for a command that shows the answer: with --json it is printed here, as it came, and shown is true; else
// the command says what it means. It is read into into, unless that is nil.
func (a *Client) ask(
	ctx context.Context, cmd *cobra.Command, method, path string, in, into any,
) (shown bool, err error) {
	var raw json.RawMessage
	if err := a.Call(ctx, method, path, in, &raw); err != nil {
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

// Call asks the gateway's management API and decodes its answer. Without an in, nothing is sent. Its errors are
// sentences.
func (a *Client) Call(ctx context.Context, method, path string, in, out any) error {
	_, err := a.Send(ctx, method, path, nil, in, out)
	return err
}

// verbatim is a body that is sent as it is.
type verbatim []byte

// Send is Call with a header, and returns the answer's header; with a nil out it drops the answer's body. When the
// gateway refuses, the error is a *Refusal.
func (a *Client) Send(ctx context.Context, method, path string, header http.Header, in, out any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, adminPatience)
	defer cancel()
	network, address, host, err := a.endpoint()
	if err != nil {
		return nil, err
	}
	var body io.Reader
	switch in := in.(type) {
	case nil:
	case verbatim:
		body = bytes.NewReader(in)
	default:
		raw := new(bytes.Buffer)
		encode := json.NewEncoder(raw)
		encode.SetEscapeHTML(false) // a job that is sent back is not to become larger
		if err := encode.Encode(in); err != nil {
			return nil, err
		}
		body = raw
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+host+"/hiregate"+path, body)
	if err != nil {
		return nil, fmt.Errorf("asking the gateway: %w", terminal.Cause(err))
	}
	if network == "tcp" {
		r.Header.Set("Origin", "http://"+host) // for an endpoint with enforce_origin
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, values := range header {
		r.Header[name] = values
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	defer transport.CloseIdleConnections()
	answer, err := terminal.Exchange(&http.Client{Transport: transport}, r)
	if err != nil {
		return nil, a.unreached(err)
	}
	defer answer.Body.Close()
	if !a.named && terminal.IsTerminal(os.Stderr) {
		a.named = true
		fmt.Fprint(os.Stderr, a.peer(answer.Header.Get("Server")))
	}
	if answer.StatusCode/100 != 2 {
		return nil, &Refusal{answer.StatusCode, a.refused(answer)}
	}
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

// peer tells a person whom a command talks to: several gateways may run on one machine. It is empty for anything but a
// gateway, which names itself in the header Server: hiregate (https://gate.example, process 4711).
func (a *Client) peer(server string) string {
	who, ok := strings.CutPrefix(server, "hiregate (")
	who, closed := strings.CutSuffix(who, ")")
	if !ok || !closed {
		return ""
	}
	return fmt.Sprintf("The gateway at %s: %s\n", a.Address, terminal.Printable(who))
}

// Refusal is the gateway's error answer.
type Refusal struct {
	Status int
	error  // a sentence
}

// endpoint reads the address in Caddy's notation: where to dial, and the host to name.
func (a *Client) endpoint() (network, address, host string, err error) {
	if path, ok := strings.CutPrefix(a.Address, "unix/"); ok {
		return "unix", path, "127.0.0.1", nil // Caddy asks for a host, and does not look at it
	}
	address = strings.TrimSuffix(strings.TrimPrefix(a.Address, "http://"), "/")
	if strings.HasPrefix(address, ":") {
		address = "localhost" + address
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return "", "", "", fmt.Errorf("--admin %q is not an address: write host:port, such as %s", a.Address, DefaultAddress)
	}
	return "tcp", address, address, nil
}

func (a *Client) unreached(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted before the gateway answered")
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("no gateway runs at %s: start it with `hiregate run --config Caddyfile`, or "+
			"`hiregate dev` to try it; "+
			"if its admin endpoint is elsewhere, name that with --admin", a.Address)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the gateway at %s did not answer within %s: look at its log", a.Address, adminPatience)
	case terminal.SpeaksNoHTTP(err):
		return a.elsewhere("it speaks no HTTP")
	case terminal.HungUp(err):
		return fmt.Errorf("the gateway at %s closed the connection before it had answered: look at its log, and then "+
			"whether what was asked for is done", a.Address)
	}
	return fmt.Errorf("asking the gateway at %s: %w", a.Address, terminal.Cause(err))
}

// refused makes a sentence of an error answer: the gateway's own, or that of whatever else listens there.
func (a *Client) refused(answer *http.Response) error {
	var said struct {
		Detail     string   `json:"detail"` // of our problems
		Findings   []string `json:"findings"`
		Transcript struct {
			DurationMs float64 `json:"durationMs"`
			Answer     string  `json:"answer"`
		} `json:"transcript"`
		Error string `json:"error"` // of Caddy itself
	}
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxRefusal))
	if err != nil {
		return a.unreached(err)
	}
	// Something else than a gateway may answer anything.
	_ = json.Unmarshal(raw, &said)
	switch {
	case said.Detail != "":
		var sentence strings.Builder
		sentence.WriteString(terminal.Printable(said.Detail))
		if t := said.Transcript; t.DurationMs > 0 {
			fmt.Fprintf(&sentence, " (after %s)", terminal.FormatDuration(time.Duration(t.DurationMs*float64(time.Millisecond))))
		}
		if t := said.Transcript; t.Answer != "" {
			sentence.WriteString("; the answer began: " + terminal.Printable(t.Answer))
		}
		for _, finding := range said.Findings {
			if !strings.Contains(said.Detail, finding) {
				sentence.WriteString("\n  " + terminal.Printable(finding))
			}
		}
		return errors.New(sentence.String())
	case said.Error != "":
		return fmt.Errorf("the admin endpoint at %s refuses: %s", a.Address, terminal.Printable(said.Error))
	}
	return a.elsewhere("it answered " + terminal.StatusText(answer.StatusCode))
}

const strange = "it answered nothing that a gateway of this version says"

// elsewhere is the error of an address where something else than a gateway listens.
func (a *Client) elsewhere(seen string) error {
	return fmt.Errorf("what listens at %s is not the admin endpoint of a gateway (%s): name that with --admin", a.Address,
		seen)
}
