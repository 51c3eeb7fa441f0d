// Package listener keeps listening sockets, and their connections, open across reloads.
package listener

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// Network names the shared network in an address: bind shared/0.0.0.0
//
// At a reload, Caddy opens a second socket on the same port (SO_REUSEPORT) and closes the first; connections in the
// queue of the first are reset. Under load that costs a request every few reloads. A shared socket stays open while any
// configuration listens at its address, and the latest one accepts the connections in its queue.
//
// The old one stops accepting when the latest is there. Its connections move to the latest between two requests (see
// conn), while Caddy's global option shutdown_delay lets it read the requests that had begun: net/http drops a request
// whose header was not read when the server is shut down.
//
// A configuration that fails to start must not accept connections of the one in force: its gateway opens before it
// listens anywhere, and its sockets close as soon as it is given up.
const Network = "shared"

// sockets has the open sockets by address.
var sockets = caddy.NewUsagePool()

// Listen returns the function that listens. prepare is called with each configuration before it may take connections;
// its error keeps the configuration from listening.
func Listen(prepare func(caddy.Context) error) caddy.ListenerFunc {
	return func(ctx context.Context, _, host, portRange string, portOffset uint, config net.ListenConfig) (any, error) {
		return listenAt(ctx, prepare, host, portRange, portOffset, config)
	}
}

func listenAt(
	ctx context.Context, prepare func(caddy.Context) error, host, portRange string, portOffset uint,
	config net.ListenConfig,
) (any, error) {
	first, _, _ := strings.Cut(portRange, "-")
	port, err := strconv.ParseUint(first, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%s needs a port to listen at, not %q", Network, portRange)
	}
	address := net.JoinHostPort(host, strconv.FormatUint(port+uint64(portOffset), 10))
	inForce := func() bool { return true }
	if configuration, ok := ctx.(caddy.Context); ok {
		if err := prepare(configuration); err != nil {
			return nil, err
		}
		inForce = func() bool { return isActive(configuration) }
	}
	shared, _, err := sockets.LoadOrNew(address, func() (caddy.Destructor, error) {
		l, err := config.Listen(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		return newSocket(l.(*net.TCPListener)), nil
	})
	if err != nil {
		return nil, err
	}
	l, err := shared.(*socket).listen(address, inForce)
	if err != nil {
		_, gone := sockets.Delete(address)
		return nil, errors.Join(fmt.Errorf("sharing the socket at %s: %w", address, err), gone)
	}
	context.AfterFunc(ctx, func() { l.Close() })
	return l, nil
}

// isActive reports whether all apps of a configuration have started, and none has replaced it since.
func isActive(configuration caddy.Context) bool {
	own, err := configuration.AppIfConfigured("http")
	if err != nil {
		return false
	}
	active, err := caddy.ActiveContext().AppIfConfigured("http")
	return err == nil && active == own
}
