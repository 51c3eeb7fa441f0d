package storetest

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Lossy stands between a client and PostgreSQL. It may lose the answer to a COMMIT, as a network may: then the transaction is
// committed, and whoever sent it can't know.
type Lossy struct {
	Address string // of the database, for store.Open

	server string // host and port
	lose   atomic.Bool
}

// LossyPostgres is an empty database of the shared server behind a Lossy.
func LossyPostgres(t testing.TB) *Lossy {
	t.Helper()
	u, err := url.Parse(Postgres(t))
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	p := &Lossy{server: u.Host}
	u.Host = l.Addr().String()
	p.Address = u.String()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return p
}

// LoseCommit has the next answer to a COMMIT lost, and the connection with it.
func (p *Lossy) LoseCommit() { p.lose.Store(true) }

// Lost tells whether that has happened.
func (p *Lossy) Lost() bool { return !p.lose.Load() }

func (p *Lossy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		defer server.Close()
		_, _ = io.Copy(server, client) // to the end of either
	}()
	answer := make([]byte, 64<<10)
	for {
		n, err := server.Read(answer)
		if bytes.Contains(answer[:n], []byte("COMMIT\x00")) && p.lose.CompareAndSwap(true, false) {
			return
		}
		if _, failed := client.Write(answer[:n]); err != nil || failed != nil {
			return
		}
	}
}
