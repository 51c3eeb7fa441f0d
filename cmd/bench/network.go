package main

import (
	"io"
	"net"
	"net/url"
	"time"
)

// network measures a burst on SQLite, on PostgreSQL beside the gateway and one millisecond away, and with three gateways on
// one PostgreSQL; after each of them 100/s; and the processor time that the processes spend on it.
func (b *bench) network() error {
	run := func(name string, postgres bool, roundTrip time.Duration, nodes int) error {
		b.onPostgres, b.roundTrip = postgres, roundTrip
		f, err := b.newFlow(flowOptions{tenants: 10, nodes: nodes})
		if err != nil {
			return err
		}
		defer f.close()
		if err := b.flow(f, name+", burst", flowLoad{exports: b.burstSize, connections: 48, tenants: 10, body: b.body}); err != nil {
			return err
		}
		return b.flow(f, name+", 100/s", flowLoad{exports: 1000, perSecond: 100, connections: 48, tenants: 10, body: b.body})
	}
	return inTurn(
		func() error { return run("SQLite", false, 0, 1) },
		func() error { return run("PostgreSQL", true, 0, 1) },
		func() error { return run("PostgreSQL, 1 ms away", true, time.Millisecond, 1) },
		func() error { return run("three nodes on PostgreSQL", true, 0, 3) },
	)
}

// away returns an address of the same database behind a connection on which each round trip takes longer, by a time.
func away(address string, roundTrip time.Duration) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := u.Host
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				near.Close()
				continue
			}
			go carry(near, far, 0)
			go carry(far, near, roundTrip) // all of it here: a sleep is never shorter than a millisecond
		}
	}()
	u.Host = l.Addr().String()
	return u.String(), nil
}

// carry passes on what comes from one end, each byte a time after it came.
func carry(from, to net.Conn, late time.Duration) {
	type chunk struct {
		bytes []byte
		due   time.Time
	}
	chunks := make(chan chunk, 1024)
	go func() {
		defer to.Close()
		for c := range chunks {
			time.Sleep(time.Until(c.due))
			if _, err := to.Write(c.bytes); err != nil {
				break
			}
		}
		for range chunks { // the other end has gone
		}
	}()
	defer close(chunks)
	for {
		buf := make([]byte, 64<<10)
		n, err := from.Read(buf)
		if n > 0 {
			chunks <- chunk{buf[:n], time.Now().Add(late)}
		}
		if err != nil {
			if err != io.EOF {
				from.Close()
			}
			return
		}
	}
}
