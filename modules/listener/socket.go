package listener

import (
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// socket is one queue of connections with its listeners. Only the latest accepts from it.
type socket struct {
	master *net.TCPListener

	mu        sync.Mutex
	changed   *sync.Cond
	listeners []*listener
	moving    []*conn // accepted by an older listener
}

func newSocket(master *net.TCPListener) *socket {
	s := &socket{master: master}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// Destruct closes the socket once no configuration listens at it.
func (s *socket) Destruct() error { return s.master.Close() }

// past is a deadline that wakes blocked calls.
var past = time.Unix(1, 0)

// listen adds a listener, which accepts all connections from now on. It has its own descriptor of the same socket, so
// closing it leaves the queue to the others.
func (s *socket) listen(address string, inForce func() bool) (*listener, error) {
	f, err := s.master.File()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	own, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	l := &listener{TCPListener: own.(*net.TCPListener), socket: s, address: address, inForce: inForce,
		conns: map[*conn]struct{}{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, former := range s.listeners {
		if err := former.SetDeadline(past); err != nil { // wakes it, to wait for its turn
			return nil, errors.Join(err, l.TCPListener.Close())
		}
	}
	s.listeners = append(s.listeners, l)
	return l, nil
}

// latest returns the listener that accepts the connections; nil if there is none. s.mu must be held.
func (s *socket) latest() *listener {
	if len(s.listeners) == 0 {
		return nil
	}
	return s.listeners[len(s.listeners)-1]
}

// next waits for a listener's turn. It returns a connection that moves to it; nil if it shall accept one from the
// queue. ok is false if the listener was closed.
func (s *socket) next(l *listener) (c *conn, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for slices.Contains(s.listeners, l) {
		switch {
		case s.latest() != l:
			s.changed.Wait()
		case len(s.moving) > 0:
			c, s.moving = s.moving[0], s.moving[1:]
			return c, true, nil
		default:
			return nil, true, l.SetDeadline(time.Time{})
		}
	}
	return nil, false, nil
}

// hand gives a connection to the latest listener, with what was read of its next request.
func (s *socket) hand(c *net.TCPConn, read []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.latest()
	if l == nil || c.SetReadDeadline(time.Time{}) != nil || l.SetDeadline(past) != nil {
		c.Close()
		return
	}
	s.moving = append(s.moving, &conn{TCPConn: c, read: read, idle: true})
}

// leave removes a listener; then the latest of the others accepts connections. It returns the listener's own
// connections if another listener can take them.
func (s *socket) leave(l *listener) (left []*conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = slices.DeleteFunc(s.listeners, func(one *listener) bool { return one == l })
	s.changed.Broadcast()
	if s.latest() == nil {
		for _, c := range s.moving {
			c.TCPConn.Close()
		}
		s.moving = nil
		return nil
	}
	for c := range l.conns {
		left = append(left, c)
	}
	return left
}

type listener struct {
	*net.TCPListener
	socket  *socket
	address string
	inForce func() bool // its configuration has started, and was not replaced since
	once    sync.Once

	conns map[*conn]struct{} // its open connections; guarded by socket.mu
}

// Accept returns the next connection when it is this listener's turn.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, ok, err := l.socket.next(l)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return nil, net.ErrClosed
		case c == nil:
			taken, err := l.AcceptTCP()
			if errors.Is(err, os.ErrDeadlineExceeded) {
				continue
			}
			if err != nil {
				return nil, err
			}
			c = &conn{TCPConn: taken, idle: true}
		}
		c.listener = l
		l.socket.mu.Lock()
		l.conns[c] = struct{}{}
		l.socket.mu.Unlock()
		return c, nil
	}
}

// replaced reports whether another configuration that listens here is in force.
func (l *listener) replaced() bool {
	l.socket.mu.Lock()
	latest := l.socket.latest()
	l.socket.mu.Unlock()
	return latest != nil && latest != l && latest.inForce()
}

func (l *listener) forget(c *conn) {
	l.socket.mu.Lock()
	defer l.socket.mu.Unlock()
	delete(l.conns, c)
}

// Close ends this listener; the last one at an address ends the socket.
func (l *listener) Close() (err error) {
	err = net.ErrClosed
	l.once.Do(func() {
		for _, c := range l.socket.leave(l) {
			c.moveOn()
		}
		closed := l.TCPListener.Close()
		_, gone := sockets.Delete(l.address)
		err = errors.Join(closed, gone)
	})
	return err
}
