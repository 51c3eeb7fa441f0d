package listener

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
)

// conn is a connection that a server took. Between two requests it moves on to the server of the configuration that
// replaced this one: when its next request comes or, without one, when the former server is shut down. To that server
// it ends; its client notices nothing. A server that hung up on it instead would lose a request that is on its way.
//
// A connection with TLS or HTTP/2 does not move once it has begun: its state is the server's. The former server tells
// its client to open another one with its next answer (gateway.Gateway.Hold).
type conn struct {
	*net.TCPConn
	listener *listener // that took it

	mu      sync.Mutex
	read    []byte // of the next request, by the server that had the connection before
	ahead   []byte // of the next request, by this server while it answered
	idle    bool   // between two requests, or before the first
	wrote   bool
	movable bool // it is HTTP/1.x, in the clear
	reading bool
	moved   bool
}

// ConnState is what the server tells of the connection: see http.Server.ConnState.
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
		// While net/http answers, it waits for a single byte, to notice when its client goes. A client that has its
		// answer may be that fast.
		if !c.idle && len(p) == 1 {
			c.ahead = slices.Clone(p)
		}
		c.idle = false
	}
	return n, err
}

// begin does what can be done without reading from the network. done says that this is all: n is 0 when the connection
// has moved on.
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

// moveOn moves a connection that waits for a request.
func (c *conn) moveOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle && c.reading && c.SetReadDeadline(past) == nil { // wakes the one that reads, which hands it over
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
