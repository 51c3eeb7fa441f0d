package storetest

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Wire is a connection to a PostgreSQL server that a test may let break, fall silent as a server does that vanished, or
// lose the answer to a COMMIT, as a network may: then the transaction is committed, and whoever sent it can't know.
type Wire struct {
	Address string // of the database, for store.Open

	listener net.Listener
	server   string
	mu       sync.Mutex
	passing  *sync.Cond
	silent   bool
	held     int  // reads whose bytes a silent wire keeps back
	lose     bool // the next answer to a COMMIT
	severed  bool
	ends     []net.Conn
}

// NewWire makes a wire to the database at an address.
func NewWire(t testing.TB, address string) *Wire {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	w := &Wire{server: u.Host}
	w.passing = sync.NewCond(&w.mu)
	w.listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	u.Host = w.listener.Addr().String()
	w.Address = u.String()
	var carrying sync.WaitGroup
	carrying.Go(func() { w.accept(&carrying) })
	t.Cleanup(func() {
		w.listener.Close()
		w.Cut()
		w.Silence(false)
		carrying.Wait()
	})
	return w
}

func (w *Wire) accept(carrying *sync.WaitGroup) {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", w.server)
		if err != nil {
			near.Close()
			continue
		}
		w.mu.Lock()
		if w.severed {
			w.mu.Unlock()
			near.Close()
			far.Close()
			continue
		}
		w.ends = append(w.ends, near, far)
		w.mu.Unlock()
		carrying.Go(func() { w.carry(near, far, nil) })
		carrying.Go(func() { w.carry(far, near, []byte("COMMIT\x00")) })
	}
}

// carry passes on what comes from one end. What has the bytes of committed in it may be lost, and the connection with
// it.
func (w *Wire) carry(from, to net.Conn, committed []byte) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		w.mu.Lock()
		for w.silent {
			w.held++
			w.passing.Wait()
			w.held--
		}
		lost := w.lose && committed != nil && bytes.Contains(buf[:n], committed)
		w.lose = w.lose && !lost
		w.mu.Unlock()
		if lost {
			return
		}
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			return
		}
	}
}

// Silence has nothing pass any more, also not the end of a connection, or all again.
func (w *Wire) Silence(silent bool) {
	w.mu.Lock()
	w.silent = silent
	w.mu.Unlock()
	w.passing.Broadcast()
}

// Holding reports whether a silent wire keeps something back, so that someone waits.
func (w *Wire) Holding() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held > 0
}

// LoseCommit has the next answer to a COMMIT lost, and the connection with it.
func (w *Wire) LoseCommit() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lose = true
}

// Lost reports whether that has happened.
func (w *Wire) Lost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.lose
}

// Sever breaks all connections, and lets no new one stay until it is called with false.
func (w *Wire) Sever(severed bool) {
	w.mu.Lock()
	w.severed = severed
	w.mu.Unlock()
	if severed {
		w.Cut()
	}
}

// Cut breaks all connections. New ones are made.
func (w *Wire) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.ends {
		one.Close()
	}
	w.ends = nil
}
