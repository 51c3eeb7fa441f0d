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
	"sync"
	"sync/atomic"
	"time"
)

// result is what a load measured.
type result struct {
	Requests, Failed int
	Seconds          float64
	P50, P99         time.Duration

	took []time.Duration // sorted
}

// with is both loads together.
func (r result) with(other result) result {
	return resultOf(append(r.took, other.took...), r.Failed+other.Failed, r.Seconds+other.Seconds)
}

func resultOf(took []time.Duration, failed int, seconds float64) result {
	slices.Sort(took)
	r := result{Requests: len(took), Failed: failed, Seconds: seconds, took: took}
	if len(took) > 0 {
		r.P50, r.P99 = took[len(took)/2], took[len(took)*99/100]
	}
	return r
}

func (r result) rate() float64 { return float64(r.Requests-r.Failed) / r.Seconds }

// ask is what a load sends: for the n-th request of a connection its path and its body. Connections are numbered as well.
type ask func(connection, n int) (path string, body []byte)

// same sends one body to one path.
func same(path string, body []byte) ask { return func(int, int) (string, []byte) { return path, body } }

// load sends requests on a number of connections for a while, each under an id of its own, and counts those that are answered with
// the status. headers are of each of them; unless Content-Type is among them, the body is JSON. The requests are written as bytes and the answers read as little as can be: on a machine that client and server
// share, an expensive client would flatter a slow server.
func load(address, headers string, ask ask, status, connections int, during time.Duration) (result, error) {
	end := time.Now().Add(during)
	return loadWhile(address, headers, ask, status, connections, func(int) bool { return time.Now().Before(end) })
}

// loadWhile is load for as long as more says of each connection's n-th request that it is to be sent.
func loadWhile(address, headers string, ask ask, status, connections int, more func(n int) bool) (result, error) {
	if !strings.Contains(headers, "Content-Type: ") {
		headers += "Content-Type: application/json\r\n"
	}
	var group sync.WaitGroup
	var failed atomic.Int64
	latencies := make([][]time.Duration, connections)
	errs := make(chan error, connections)
	begin := time.Now()
	for n := range connections {
		group.Go(func() {
			one, bad, err := worker(address, headers, func(i int) (string, []byte) { return ask(n, i) }, status, more)
			latencies[n] = one
			failed.Add(int64(bad))
			if err != nil {
				errs <- err
			}
		})
	}
	group.Wait()
	select {
	case err := <-errs:
		return result{}, err
	default:
	}
	return resultOf(slices.Concat(latencies...), int(failed.Load()), time.Since(begin).Seconds()), nil
}

func worker(address, headers string, ask func(n int) (string, []byte), status int, more func(n int) bool) (latencies []time.Duration, failed int, err error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close()
	var prefix [8]byte
	rand.Read(prefix[:])
	id := hex.EncodeToString(prefix[:])
	reader := bufio.NewReaderSize(conn, 16<<10)
	var request bytes.Buffer
	for n := 0; more(n); n++ {
		request.Reset()
		path, body := ask(n)
		fmt.Fprintf(&request, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\nX-Service-UUID: %s-%d\r\n%s\r\n", path, address, len(body), id, n, headers)
		request.Write(body)
		began := time.Now()
		if _, err := conn.Write(request.Bytes()); err != nil {
			return latencies, failed, err
		}
		answered, err := readAnswer(reader)
		if err != nil {
			return latencies, failed, err
		}
		latencies = append(latencies, time.Since(began))
		if answered != status {
			failed++
		}
	}
	return latencies, failed, nil
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
