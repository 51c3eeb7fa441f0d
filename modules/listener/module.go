// Package listener keeps listening sockets open across reloads.
package listener

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/hiregate/hiregate/modules/gateway"
)

// Network is the word before the slash of an address that is listened at this way: bind shared/0.0.0.0
//
// At a reload, Caddy opens a second socket on the same port (SO_REUSEPORT) and closes the first; connections that wait in the
// queue of the first are reset then. Under load that costs a request at every few reloads. A shared socket stays open while any
// configuration listens at its address, and a connection in its queue is taken by the latest one.
//
// The former one takes no more from the moment the latest is there, while Caddy's global option shutdown_delay lets it finish
// what it took: net/http hangs up on a connection that was taken but whose request was not read when the server is shut down.
//
// A configuration that fails to start must not take connections from the one in force: its gateway is opened before anything is
// listened at, and its sockets are left as soon as it is given up.
const Network = "shared"

// sockets are the open ones, by address.
var sockets = caddy.NewUsagePool()

// socket is one queue of connections, and the listeners that may take them. The last of them does.
type socket struct {
	master *net.TCPListener

	mu        sync.Mutex
	changed   *sync.Cond
	listeners []*listener
}

// Destruct closes the socket once no configuration listens at it.
func (s *socket) Destruct() error { return s.master.Close() }

// Listen implements caddy.ListenerFunc.
func Listen(ctx context.Context, _, host, portRange string, portOffset uint, config net.ListenConfig) (any, error) {
	first, _, _ := strings.Cut(portRange, "-")
	port, err := strconv.ParseUint(first, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%s needs a port to listen at, not %q", Network, portRange)
	}
	address := net.JoinHostPort(host, strconv.FormatUint(port+uint64(portOffset), 10))
	if configuration, ok := ctx.(caddy.Context); ok {
		if err := gateway.Prepare(configuration); err != nil {
			return nil, err
		}
	}
	shared, _, err := sockets.LoadOrNew(address, func() (caddy.Destructor, error) {
		l, err := config.Listen(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		one := &socket{master: l.(*net.TCPListener)}
		one.changed = sync.NewCond(&one.mu)
		return one, nil
	})
	if err != nil {
		return nil, err
	}
	l, err := shared.(*socket).listen(address)
	if err != nil {
		_, gone := sockets.Delete(address)
		return nil, errors.Join(fmt.Errorf("sharing the socket at %s: %w", address, err), gone)
	}
	context.AfterFunc(ctx, func() { l.Close() })
	return l, nil
}

// listen adds a listener, which takes all connections from now on. It is another descriptor of the same socket, so that closing
// it leaves the queue to the others.
func (s *socket) listen(address string) (*listener, error) {
	f, err := s.master.File()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	own, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	l := &listener{TCPListener: own.(*net.TCPListener), socket: s, address: address}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, former := range s.listeners {
		if err := former.SetDeadline(time.Unix(1, 0)); err != nil { // wakes it; it then waits for its turn
			return nil, errors.Join(err, l.TCPListener.Close())
		}
	}
	s.listeners = append(s.listeners, l)
	return l, nil
}

// leave removes a listener; the latest of the others takes the connections then, if it did not yet.
func (s *socket) leave(l *listener) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = slices.DeleteFunc(s.listeners, func(one *listener) bool { return one == l })
	if n := len(s.listeners); n > 0 {
		err = s.listeners[n-1].SetDeadline(time.Time{})
	}
	s.changed.Broadcast()
	return err
}

// turn waits until it is a listener's turn, and reports false when it was closed.
func (s *socket) turn(l *listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for slices.Contains(s.listeners, l) {
		if s.listeners[len(s.listeners)-1] == l {
			return true
		}
		s.changed.Wait()
	}
	return false
}

type listener struct {
	*net.TCPListener
	socket  *socket
	address string
	once    sync.Once
}

// Accept takes the next connection, when it is this listener's turn.
func (l *listener) Accept() (net.Conn, error) {
	for l.socket.turn(l) {
		conn, err := l.TCPListener.Accept()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		return conn, err
	}
	return nil, net.ErrClosed
}

// Close ends this listener; the last one at an address ends the socket.
func (l *listener) Close() (err error) {
	err = net.ErrClosed
	l.once.Do(func() {
		left := l.socket.leave(l)
		closed := l.TCPListener.Close()
		_, gone := sockets.Delete(l.address)
		err = errors.Join(left, closed, gone)
	})
	return err
}

var _ caddy.ListenerFunc = Listen
