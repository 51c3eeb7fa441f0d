package listener

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
)

// conn is an accepted connection. Between two requests it moves to the server of the configuration that replaced its
// own: when its next request arrives or, without one, when the old server shuts down. For the old server it ends; its
// client notices nothing. Closing it instead would lose a request under way.
//
// A connection with TLS or HTTP/2 does not move once it was used: its state is in the server. With its next answer the
// old server asks the client to open a new one (gateway.Gateway.Hold).
type conn struct {
	*net.TCPConn
	listener *listener // that took it

	mu      sync.Mutex
	read    []byte // of the next request, by the previous server
	ahead   []byte // of the next request, by this server while it answered
	idle    bool   // between two requests, or before the first
	wrote   bool
	movable bool // it is HTTP/1.x, in the clear
	reading bool
	moved   bool
}

// ConnState receives the state of the connection from the server, see http.Server.ConnState.
func (c *conn) ConnState(state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateIdle:
		c.idle = c.movable
	case http.StateActive, http.StateHijacked:
		c.idle, c.ahead = false, nil
	}
}

// Read reads from the connection; once it has moved on, it ends.
func (c *conn) Read(p []byte) (int, error) {
	if n, done := c.begin(p); done {
		if n == 0 {
			return 0, io.EOF
		}
		return n, nil
	}
	n, err := c.TCPConn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = false
	if c.moved || c.idle && n > 0 && c.listener.replaced() {
		c.move(slices.Concat(c.ahead, p[:n]))
		return 0, io.EOF
	}
	if n > 0 {
		// While net/http answers, it reads a single byte, to notice when its client disconnects. A fast client may
		// have sent its next request.
		if !c.idle && len(p) == 1 {
			c.ahead = slices.Clone(p)
		}
		c.idle = false
	}
	return n, err
}

// begin reads what needs no network. done means that the read is complete: n is 0 if the connection has moved.
func (c *conn) begin(p []byte) (n int, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.moved || len(p) == 0:
		return 0, c.moved
	case c.idle && c.listener.replaced():
		c.move(slices.Concat(c.ahead, c.read))
		return 0, true
	case len(c.read) > 0:
		n = copy(p, c.read)
		c.read, c.idle = c.read[n:], false
		return n, true
	}
	c.reading = true
	return 0, false
}

// moveOn moves a connection that is waiting for a request.
func (c *conn) moveOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle && c.reading && c.SetReadDeadline(past) == nil { // wakes the reader, which hands it over
		c.moved = true
	}
}

// move hands the connection over. c.mu must be held.
func (c *conn) move(read []byte) {
	c.moved = true
	c.listener.forget(c)
	c.listener.socket.hand(c.TCPConn, read)
}

// Write writes to the connection, unless it has moved on.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if !c.wrote {
		c.wrote, c.movable = true, bytes.HasPrefix(p, []byte("HTTP/1."))
	}
	moved := c.moved
	c.mu.Unlock()
	if moved {
		return 0, net.ErrClosed
	}
	return c.TCPConn.Write(p)
}

// Close closes the connection, unless it has moved on.
func (c *conn) Close() error {
	c.mu.Lock()
	moved := c.moved
	c.mu.Unlock()
	if moved {
		return nil
	}
	c.listener.forget(c)
	return c.TCPConn.Close()
}
