package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// result is what a load measured.
type result struct {
	Requests, Failed int
	Seconds          float64
	P50, P99         time.Duration
}

func (r result) rate() float64 { return float64(r.Requests-r.Failed) / r.Seconds }

// load sends the same body on a number of connections for a while, each request under an id of its own. The requests are
// written as bytes and the answers read as little as can be: on a machine that client and server share, an expensive client
// would flatter a slow server.
func load(address, path string, headers string, body []byte, connections int, during time.Duration) (result, error) {
	var group sync.WaitGroup
	var failed atomic.Int64
	latencies := make([][]time.Duration, connections)
	errs := make(chan error, connections)
	begin := time.Now()
	end := begin.Add(during)
	for n := range connections {
		group.Go(func() {
			one, bad, err := worker(address, path, headers, body, end)
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
	all := slices.Concat(latencies...)
	slices.Sort(all)
	r := result{Requests: len(all), Failed: int(failed.Load()), Seconds: time.Since(begin).Seconds()}
	if len(all) > 0 {
		r.P50, r.P99 = all[len(all)/2], all[len(all)*99/100]
	}
	return r, nil
}

func worker(address, path, headers string, body []byte, end time.Time) (latencies []time.Duration, failed int, err error) {
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
	for n := 0; time.Now().Before(end); n++ {
		request.Reset()
		fmt.Fprintf(&request, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nX-Service-UUID: %s-%d\r\n%s\r\n", path, address, len(body), id, n, headers)
		request.Write(body)
		began := time.Now()
		if _, err := conn.Write(request.Bytes()); err != nil {
			return latencies, failed, err
		}
		status, err := readAnswer(reader)
		if err != nil {
			return latencies, failed, err
		}
		latencies = append(latencies, time.Since(began))
		if status != http.StatusAccepted {
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
