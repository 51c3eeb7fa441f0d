package admin

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

const (
	// AddressVariable is the environment variable that may hold the address instead of --admin.
	AddressVariable = "HIREGATE_ADMIN"
	// DefaultAddress is where Caddy's admin endpoint listens unless it is configured.
	DefaultAddress = "localhost:2019"
	// GatewayVariable and KeyVariable may hold the URL and the API key of a gateway on another machine.
	GatewayVariable = "HIREGATE_URL"
	KeyVariable     = "HIREGATE_API_KEY"
)

// flags adds what all commands that talk to the gateway take.
func (a *Client) flags(cmd *cobra.Command) {
	fl := cmd.PersistentFlags()
	fl.StringVar(&a.Address, "admin", cmp.Or(os.Getenv(AddressVariable), DefaultAddress),
		"admin endpoint of the running gateway, host:port or unix//path (or the environment variable "+AddressVariable+")")
	fl.StringVar(&a.gateway, "gateway", "", "management API of a gateway on another machine, such as "+
		"https://gate.example.com/manage (or "+GatewayVariable+"); its API key is read from "+KeyVariable)
	fl.StringVar(&a.keyFile, "api-key-file", "", "file with the API key for --gateway, instead of "+KeyVariable)
	fl.BoolVar(&a.json, "json", false, "print JSON, one object a line; nothing where there is no answer")
	fl.BoolVar(&a.wide, "wide", false, "print tables at full width, also where the terminal is narrower")
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		cmd.SetOut(terminal.NewScreen(cmd.OutOrStdout(), a.wide))
		cmd.SetErr(terminal.NewScreen(cmd.ErrOrStderr(), a.wide))
		return terminal.Usage(cmp.Or(noValue(cmd), a.choose(cmd)))
	}
}

// clearing are the flags whose empty value removes what is set.
var clearing = []string{"name", "given-name", "family-name", "category", "reason", "rate", "feed"}

// noValue returns the error of a flag that has an empty value, mostly that of a variable that is not set. The command would
// do less than it says, or do it to more than was meant.
func noValue(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && !slices.Contains(clearing, f.Name) {
			err = fmt.Errorf("--%s has an empty value: write one, or leave the flag out", f.Name)
		}
	})
	return err
}

// choose decides between the admin endpoint and a management API: a flag counts more than the environment.
func (a *Client) choose(cmd *cobra.Command) error {
	byFlag, here := cmd.Flags().Changed("gateway"), cmd.Flags().Changed("admin")
	switch {
	case byFlag && here:
		return errors.New("--gateway and --admin name two gateways: leave one out")
	case !byFlag && !here:
		a.gateway = os.Getenv(GatewayVariable)
	}
	if a.keyFile != "" && a.gateway == "" {
		return errors.New("--api-key-file is for a gateway on another machine: name its management API with --gateway")
	}
	return nil
}

// destination has the address that a Client sends requests to, and how it gets there.
type destination struct {
	url       string // the part before /v1
	header    http.Header
	transport *http.Transport
}

// endpoint returns where to send requests.
func (a *Client) endpoint() (*destination, error) {
	if a.gateway != "" {
		return a.remote()
	}
	network, address, host := "tcp", strings.TrimSuffix(strings.TrimPrefix(a.Address, "http://"), "/"), ""
	if path, ok := strings.CutPrefix(a.Address, "unix/"); ok {
		network, address, host = "unix", path, "127.0.0.1" // Caddy asks for a host, and does not look at it
	} else {
		if strings.HasPrefix(address, ":") {
			address = "localhost" + address
		}
		if _, _, err := net.SplitHostPort(address); err != nil {
			return nil, fmt.Errorf("--admin %q is not an address: write host:port, such as %s", a.Address, DefaultAddress)
		}
		host = address
	}
	to := &destination{url: "http://" + host + "/hiregate", header: http.Header{}, transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		}}}
	to.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(osUser()+":")))
	if network == "tcp" {
		to.header.Set("Origin", "http://"+host) // for an endpoint with enforce_origin
	}
	return to, nil
}

// osUser returns the name of the user who runs the command, for the audit of the gateway, which can't check it.
func osUser() string {
	name := "user " + strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	if before := os.Getenv("SUDO_USER"); before != "" && before != name {
		name = before + " as " + name
	}
	return strings.ReplaceAll(name, ":", "_") // which ends the name in this scheme (RFC 7617 section 2)
}

// remote returns the endpoint of a management API.
func (a *Client) remote() (*destination, error) {
	u, err := url.Parse(a.gateway)
	switch {
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, fmt.Errorf("--gateway %q is not the address of a management API: write it like "+
			"https://gate.example.com/manage", terminal.Printable(a.gateway))
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		return nil, fmt.Errorf("--gateway %s would show the API key to the network: write https://", a.gateway)
	}
	key := os.Getenv(KeyVariable)
	if a.keyFile != "" {
		if key, err = terminal.ReadSecret(os.Stdin, a.keyFile); err != nil {
			return nil, err
		}
	}
	if key == "" {
		return nil, fmt.Errorf("the management API at %s wants an API key: put one into the environment variable %s, or "+
			"name a file with --api-key-file; hiregate api-key set makes one on the gateway's machine", a.gateway,
			KeyVariable)
	}
	return &destination{url: strings.TrimSuffix(u.String(), "/"), header: http.Header{"Authorization": {"Bearer " + key}},
		transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}}, nil
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// noRedirect returns the redirect as the answer: an API key must not follow it.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// at returns the address that the person named.
func (a *Client) at() string { return cmp.Or(a.gateway, a.Address) }

// where names the endpoint for a person.
func (a *Client) where() string {
	if a.gateway != "" {
		return "the management API at " + a.gateway
	}
	return "the admin endpoint at " + a.Address
}

// peer returns a line that names the gateway a command talks to: several may run on one machine. A gateway names itself in
// the header Server, as hiregate (https://gate.example, process 4711); for any other server the line is empty.
func (a *Client) peer(server string) string {
	who, ok := strings.CutPrefix(server, "hiregate (")
	who, closed := strings.CutSuffix(who, ")")
	if !ok || !closed {
		return ""
	}
	return fmt.Sprintf("The gateway at %s: %s\n", a.Address, terminal.Printable(who))
}

func (a *Client) unreached(err error) error {
	wrong := new(tls.CertificateVerificationError)
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted before the gateway answered")
	case a.gateway != "" && errors.As(err, &wrong):
		return fmt.Errorf("the certificate of %s is not trusted (%s): check the address, or name a file with its CA "+
			"in the environment variable SSL_CERT_FILE", a.gateway, terminal.Cause(err))
	case a.gateway != "" && terminal.SpeaksNoTLS(err):
		return a.elsewhere("it speaks http, not https")
	case a.gateway != "" && errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens at %s: check the address in --gateway or %s", a.gateway, GatewayVariable)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("no gateway runs at %s: start it with `hiregate run --config Caddyfile`, or "+
			"`hiregate dev` to try it; "+
			"if its admin endpoint is elsewhere, name that with --admin", a.Address)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the gateway at %s did not answer within %s: look at its log", a.at(), patience)
	case terminal.SpeaksNoHTTP(err):
		return a.elsewhere("it speaks no HTTP")
	case terminal.HungUp(err):
		return fmt.Errorf("the gateway at %s closed the connection before it had answered: look at its log, and then "+
			"whether what was asked for is done", a.at())
	}
	return fmt.Errorf("asking the gateway at %s: %w", a.at(), terminal.Cause(err))
}

const strange = "it answered nothing that a gateway of this version says"

// elsewhere is the error of an address where another server listens.
func (a *Client) elsewhere(seen string) error {
	if a.gateway != "" {
		return fmt.Errorf("what answers at %s is not the management API of a gateway (%s): name that with --gateway "+
			"or %s, such as https://gate.example.com/manage", a.gateway, seen, GatewayVariable)
	}
	return fmt.Errorf("what listens at %s is not the admin endpoint of a gateway (%s): name that with --admin", a.Address,
		seen)
}
