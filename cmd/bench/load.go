package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// result has the figures of a load.
type result struct {
	Requests, Failed int
	Seconds          float64
	P50, P99         time.Duration

	took []time.Duration // sorted
}

// together returns the figures of several loads as of one.
func together(all []result) result {
	var took []time.Duration
	failed, seconds := 0, 0.0
	for _, r := range all {
		took = append(took, r.took...)
		failed += r.Failed
		seconds += r.Seconds
	}
	return resultOf(took, failed, seconds)
}

func resultOf(took []time.Duration, failed int, seconds float64) result {
	slices.Sort(took)
	r := result{Requests: len(took), Failed: failed, Seconds: seconds, took: took}
	if len(took) > 0 {
		r.P50, r.P99 = took[len(took)/2], took[len(took)*99/100]
	}
	return r
}

// percentiles returns p50 and p99 as two cells of a table.
func (r result) percentiles() string {
	return fmt.Sprint(r.P50.Round(10*time.Microsecond), "\t", r.P99.Round(10*time.Microsecond))
}

func (r result) rate() float64 { return float64(r.Requests-r.Failed) / r.Seconds }

// ask returns the n-th request of a connection, which is numbered as well.
type ask func(connection, n int) (path string, body []byte)

// sender has connections to one address, which send the same headers. It formats and parses as little as it can, because
// it shares the machine with the server: an expensive client would hide how slow a server is.
type sender struct {
	address, headers string
	connections      []*connection
}

type connection struct {
	net.Conn
	answers *bufio.Reader
	request bytes.Buffer // scratch
	id      string       // begins the UUIDs of its requests
	sent    int
}

const contentType = "Content-Type: application/json\r\n"

// dial opens the connections. Each request has the headers; without a Content-Type among them its body is JSON.
func dial(address, headers string, connections int) (*sender, error) {
	if !strings.Contains(headers, "Content-Type: ") {
		headers += contentType
	}
	s := &sender{address: address, headers: headers}
	for range connections {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			s.close()
			return nil, err
		}
		var prefix [8]byte
		rand.Read(prefix[:])
		s.connections = append(s.connections, &connection{Conn: conn, answers: bufio.NewReaderSize(conn, 16<<10),
			id: hex.EncodeToString(prefix[:])})
	}
	return s, nil
}

func (s *sender) close() {
	for _, conn := range s.connections {
		conn.Close()
	}
}

// load sends the same request again and again for a while.
func (s *sender) load(path string, body []byte, status int, during time.Duration) (result, error) {
	end := time.Now().Add(during)
	return s.loadWhile(func(int, int) (string, []byte) { return path, body }, status,
		func(int) bool { return time.Now().Before(end) })
}

// loadWhile sends requests on all connections, each with an UUID of its own, and counts the answers that have another
// status as failed. A connection ends when more returns false for the number of its next request.
func (s *sender) loadWhile(ask ask, status int, more func(n int) bool) (result, error) {
	var group errgroup.Group
	var failed atomic.Int64
	latencies := make([][]time.Duration, len(s.connections))
	begin := time.Now()
	for n, conn := range s.connections {
		group.Go(func() error {
			var took []time.Duration
			for i := 0; more(i); i++ {
				path, body := ask(n, i)
				one, answered, err := s.send(conn, path, conn.uuid(), body)
				if err != nil {
					return err
				}
				took = append(took, one)
				if answered != status {
					failed.Add(1)
				}
			}
			latencies[n] = took
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return result{}, err
	}
	return resultOf(slices.Concat(latencies...), int(failed.Load()), time.Since(begin).Seconds()), nil
}

// uuid returns another UUID with each call.
func (c *connection) uuid() string {
	c.sent++
	return fmt.Sprintf("%s-%d", c.id, c.sent)
}

func (s *sender) send(conn *connection, path, uuid string, body []byte) (took time.Duration, status int, err error) {
	conn.request.Reset()
	fmt.Fprintf(&conn.request, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\nX-Service-UUID: %s\r\n%s\r\n",
		path, s.address, len(body), uuid, s.headers)
	conn.request.Write(body)
	began := time.Now()
	if _, err := conn.Write(conn.request.Bytes()); err != nil {
		return 0, 0, err
	}
	status, err = readAnswer(conn.answers)
	return time.Since(began), status, err
}

func readAnswer(r *bufio.Reader) (status int, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 {
		return 0, fmt.Errorf("not an HTTP answer: %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, err
	}
	length := int64(0)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if name, value, ok := bytes.Cut(line, []byte(": ")); ok && bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.ParseInt(string(value), 10, 64); err != nil {
				return 0, err
			}
		}
	}
	_, err = io.CopyN(io.Discard, r, length)
	return status, err
}
