// Package egress is the only HTTP client for addresses that others gave us: webhook URLs and document URLs. It decides
// at dial time, on the resolved address, so that neither a host name nor a change of its DNS records leads into our own
// network.
package egress

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"go.uber.org/zap"
	"golang.org/x/time/rate"
)

const (
	// ConnectTimeout bounds resolving a host name and connecting to its addresses.
	ConnectTimeout = 5 * time.Second

	tlsTimeout     = 10 * time.Second
	idleTimeout    = 30 * time.Second
	idlePerHost    = 16
	maxHeaderBytes = 64 << 10

	// A connection of HTTP/2 is used for as long as it looks open, and one whose other end vanished does for a quarter
	// of an hour: everything that went there meanwhile would fail. One that is silent is asked, and closed when it
	// stays so; both together are no less than what an attempt may take, so that none is cut short.
	pingAfter   = 5 * time.Second
	pingTimeout = 15 * time.Second
)

// Guard lets connections be made to public addresses over https, on ports 80 and 443, and to what its policy allows. It
// is safe for concurrent use.
type Guard struct {
	policy Policy
	public *ssrf.Guardian
	routes *routes
	client *http.Client
	told   *rate.Limiter
	judged time.Duration // within which a server judges our certificate after the handshake

	mu   sync.Mutex
	kept *simplelru.LRU[string, keptClient]
}

// keptClient is a client with the setting that it was made for.
type keptClient struct {
	*http.Client
	setting [sha256.Size]byte
}

// clientsKept is how many clients are kept. A client that is not among those used last is made again, and has its tokens
// issued again.
const clientsKept = 16 << 10

// How often the log has a refused address: tenants can cause any number of them.
const (
	toldAtOnce = 10
	toldEvery  = 10 * time.Second
)

// New returns a guard with connections of its own; Close them after use.
func New(p Policy) *Guard {
	g := &Guard{policy: p, public: ssrf.New(), told: rate.NewLimiter(rate.Every(toldEvery), toldAtOnce),
		judged: judgedWithin}
	g.routes = &routes{plain: g.newTransport(g.controlPlain), secure: g.newTransport(g.controlSecure)}
	g.client = clientOf(g.routes)
	g.kept, _ = simplelru.NewLRU[string, keptClient](clientsKept, nil) // fails for a size below 1
	return g
}

func clientOf(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Client returns the guarded client. It follows no redirect, uses no proxy, and asks for no compression. Its requests
// are bounded only by their contexts, except connecting.
func (g *Guard) Client() *http.Client { return g.client }

// ClientWith returns a guarded client with connections of its own, whose https has these certificates. They end by
// themselves when they were idle for half a minute.
func (g *Guard) ClientWith(config *tls.Config) *http.Client {
	secure := g.newTransport(g.controlSecure)
	secure.TLSClientConfig = config
	return clientOf(&routes{plain: g.newTransport(g.controlPlain), secure: secure})
}

// Kept returns the client that was made for an owner with this setting, or builds it in the place of the owner's former one.
func (g *Guard) Kept(owner string, setting [sha256.Size]byte, build func() *http.Client) *http.Client {
	g.mu.Lock()
	defer g.mu.Unlock()
	kept, ok := g.kept.Get(owner)
	if !ok || kept.setting != setting {
		kept = keptClient{build(), setting}
		g.kept.Add(owner, kept)
	}
	return kept.Client
}

// Close ends the connections that are idle, and those in use once they are idle.
func (g *Guard) Close() { g.client.CloseIdleConnections() }

// routes keeps plain http and https apart, down to the connections: which of the two a dial is for decides where it may
// go.
type routes struct{ plain, secure *http.Transport }

func (r *routes) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == "http" {
		return r.plain.RoundTrip(req)
	}
	return r.secure.RoundTrip(req)
}

func (r *routes) CloseIdleConnections() {
	r.plain.CloseIdleConnections()
	r.secure.CloseIdleConnections()
}

type control func(network, address string, conn syscall.RawConn) error

func (g *Guard) newTransport(c control) *http.Transport {
	dialer := &net.Dialer{Timeout: ConnectTimeout, Control: c}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			// The dialer makes an IPv4 address of it before its control sees it.
			if to, err := netip.ParseAddrPort(address); err == nil && to.Addr().Is4In6() {
				return nil, &RefusedError{To: to, Class: ClassMapped}
			}
			conn, err := dialer.DialContext(ctx, network, address)
			g.tell(address, err)
			return conn, err
		},
		TLSHandshakeTimeout:    tlsTimeout,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// tell logs which address a host, with its port, has that was refused.
func (g *Guard) tell(host string, err error) {
	if refused := new(RefusedError); g.policy.Log != nil && errors.As(err, &refused) && g.told.Allow() {
		g.policy.Log.Warn("egress refused an address: "+refused.Detail(), zap.String("host", host))
	}
}

func (g *Guard) controlPlain(_, address string, _ syscall.RawConn) error {
	return g.controlFor("http", address)
}

func (g *Guard) controlSecure(_, address string, _ syscall.RawConn) error {
	return g.controlFor("https", address)
}

func (g *Guard) controlFor(scheme, address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("reading the address to dial: %w", err)
	}
	return g.check(scheme, to)
}

// check decides whether a connection for http or https may be made to a resolved address.
func (g *Guard) check(scheme string, to netip.AddrPort) error {
	// A zone (fe80::1%eth0) would put an address outside every range.
	to = netip.AddrPortFrom(to.Addr().WithZone(""), to.Port())
	if g.policy.covers(to) {
		return nil
	}
	if g.public.SafeAddr(to.Addr()) != nil {
		return &RefusedError{To: to, Class: classOf(to.Addr())}
	}
	if g.public.SafeAddrPort(to) != nil {
		return &RefusedError{To: to, Class: ClassPort}
	}
	if scheme != "https" {
		return &RefusedError{To: to, Class: ClassPlain}
	}
	return nil
}
