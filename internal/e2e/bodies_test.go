package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStrangersTakeLittleMemory sends acme 5,000 connections and 1,000 streams of HTTP/2 that announce a body each and
// hardly send any of it, and then connections that send nearly all of it: the gateway has 512 MiB, and acknowledges
// the exports of another tenant.
func TestStrangersTakeLittleMemory(t *testing.T) {
	const announced, begun, streams, half, exports = 2500, 2500, 1000, 32 << 20, 200
	s := newSystemWith(t, setup{
		// nobody is cut off before the test has ended
		global:  "servers {\nprotocols h1 h2c\ntimeouts {\nread_body_idle 10m\n}\n}",
		options: "body_time 1h\ntenant globex {\nsecret " + inboundSecret + "\n}",
		env:     []string{"GOMEMLIMIT=400MiB"},
	})
	announce := func(sent int) net.Conn {
		conn, err := net.Dial("tcp", loopback(s.http))
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		_, err = fmt.Fprintf(conn, "POST /hooks/acme HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", loopback(s.http),
			5<<20, make([]byte, sent))
		require.NoError(t, err)
		return conn
	}
	for range announced {
		announce(0)
	}
	for range begun {
		announce(1)
	}
	s.stream(streams)
	held := func() float64 { return s.metric("hiregate_unverified_body_bytes", "") }
	const small = 4096 * (begun + streams)
	require.Eventually(t, func() bool { return held() == small }, patience, 100*time.Millisecond,
		"what is announced and not sent takes memory")
	first := s.acknowledged("globex", exports)
	require.Equal(t, http.StatusAccepted, s.exportOf("acme", "u-1"), "acme has room left")

	for range 30 { // more than there is room for
		conn := announce(0)
		go func() { _, _ = conn.Write(make([]byte, 4<<20)) }() // those that there is no room for are hung up on
	}
	require.Eventually(t, func() bool { return s.metric("hiregate_received_total", `result="busy"`) > 0 }, patience,
		100*time.Millisecond)
	second := s.acknowledged("globex", exports)
	require.LessOrEqual(t, held(), float64(half+2<<20), "acme's bodies took more than a half")
	require.False(t, s.gateway.hasEnded())
	peak := s.gateway.peakMemory()
	require.Less(t, peak, 512<<20)
	t.Logf("%d exports of another tenant acknowledged: p99 %s, and %s beside large bodies; the "+
		"gateway took %d MiB at most",
		exports, percentile(first, 99), percentile(second, 99), peak>>20)
}

// stream begins requests to acme, over connections of HTTP/2 with 200 streams each, of whose bodies a byte comes.
func (s *system) stream(n int) {
	s.t.Helper()
	ctx, end := context.WithCancel(s.t.Context())
	s.t.Cleanup(end)
	body, held := io.Pipe()
	s.t.Cleanup(func() { held.Close() })
	for n > 0 {
		client := &http.Client{Transport: &http.Transport{Protocols: new(http.Protocols)}}
		client.Transport.(*http.Transport).Protocols.SetUnencryptedHTTP2(true)
		for range min(n, 200) {
			n--
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url("/hooks/acme"),
				io.MultiReader(bytes.NewReader([]byte{0}), body))
			require.NoError(s.t, err)
			r.ContentLength = 5 << 20
			go func() {
				if answer, err := client.Do(r); err == nil {
					answer.Body.Close()
				}
			}()
		}
	}
}

// acknowledged sends exports of a tenant, which must be accepted, and gives how long each waited for that.
func (s *system) acknowledged(tenant string, n int) (times []time.Duration) {
	s.t.Helper()
	for i := range n {
		began := time.Now()
		require.Equal(s.t, http.StatusAccepted, s.exportOf(tenant, fmt.Sprintf("u-%d-%d", i, began.UnixNano())))
		times = append(times, time.Since(began))
	}
	return times
}

// exportOf sends an export of a tenant whose secret is acme's.
func (s *system) exportOf(tenant, id string) (status int) {
	s.t.Helper()
	status, _, err := s.post(http.DefaultClient, id, minimal(id),
		func(r *http.Request) { r.URL.Path = "/hooks/" + tenant })
	require.NoError(s.t, err)
	return status
}

func percentile(times []time.Duration, p int) time.Duration {
	slices.Sort(times)
	return times[(len(times)*p-1)/100].Round(time.Millisecond / 10)
}

// peakMemory is the most memory that a process had in use, in bytes.
func (p *process) peakMemory() int {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	require.NoError(p.t, err)
	found := regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`).FindSubmatch(status)
	require.NotNil(p.t, found)
	kib, err := strconv.Atoi(string(found[1]))
	require.NoError(p.t, err)
	return kib << 10
}
