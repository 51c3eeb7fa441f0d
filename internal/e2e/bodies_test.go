package e2e

import (
	"bytes"
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
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// strangers have an address of their own.
var strangers = &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}

// TestStrangersTakeLittleMemory sends acme 5,000 connections, and 1,200 of HTTP/2 with 50 streams each, that announce a
// body and hardly send any of it, and then connections that send nearly all of it, all from one address: the gateway has
// 512 MiB, and acknowledges the exports of another tenant.
func TestStrangersTakeLittleMemory(t *testing.T) {
	const announced, begun, connections, streams, half, exports = 2500, 2500, 1200, 50, 32 << 20, 200
	s := newReceiver(t, setup{
		// nobody is cut off before the test has ended
		global:  "servers {\nprotocols h1 h2c\ntimeouts {\nread_body_idle 10m\n}\n}",
		options: "body_time 1h\ntenant globex {\nsecret " + inboundSecret + "\n}",
		env:     []string{"GOMEMLIMIT=400MiB"},
	})
	announce := func(sent int) net.Conn {
		conn, err := strangers.Dial("tcp", loopback(s.http))
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
	for range connections {
		s.announceStreams(streams)
	}
	during := s.acknowledged("globex", exports)
	held := func() float64 { return s.metric("hiregate_unverified_body_bytes", "") }
	require.Positive(t, held())
	require.LessOrEqual(t, held(), float64(half), "acme's requests took more than a half")
	first := s.acknowledged("globex", exports)
	require.Eventually(t, func() bool { return s.exportOf("acme", "u-1") < 300 }, patience, 100*time.Millisecond,
		"no request of acme gives way")

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
	t.Logf("%d exports of another tenant acknowledged: p99 %s while streams come, %s then, and %s beside "+
		"large bodies; the gateway took %d MiB at most", exports, percentile(during, 99),
		percentile(first, 99), percentile(second, 99), peak>>20)
}

// TestHalfSentBodiesGiveWay holds up all of acme's share of the memory for bodies, from one address, by bodies that never
// end: acme's exports from another address, and from the same one, are accepted.
func TestHalfSentBodiesGiveWay(t *testing.T) {
	const half, exports = 524_289, 50
	s := newReceiver(t, setup{options: "body_time 1h", global: "servers {\ntimeouts {\nread_body_idle 1h\n}\n}"})
	held := func() float64 { return s.metric("hiregate_unverified_body_bytes", "") }
	for full := false; !full; {
		conn, err := strangers.Dial("tcp", loopback(s.http))
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		before := held()
		_, err = fmt.Fprintf(conn, "POST /hooks/acme HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", loopback(s.http),
			2*half, make([]byte, half))
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			full = s.metric("hiregate_received_total", `result="busy"`) > 0
			return full || held() >= before+half
		}, patience, 10*time.Millisecond)
		require.LessOrEqual(t, held(), before+1.25*half, "the body takes more than has arrived")
	}
	for _, transport := range []*http.Transport{{}, {DialContext: strangers.DialContext}} {
		client := &http.Client{Transport: transport}
		send := func(n int) int {
			id := fmt.Sprintf("u-%p-%d", client, n)
			status, _, err := s.post(client, id, minimal(id), func(r *http.Request) { r.Close = true })
			require.NoError(t, err)
			return status
		}
		require.Eventually(t, func() bool { return send(0) < 300 }, patience, 10*time.Millisecond)
		for n := range exports {
			require.Less(t, send(n+1), 300)
		}
	}
}

// announceStreams begins requests to acme on a connection of HTTP/2, whether the gateway takes so many or not, and sends
// nothing of their bodies.
func (s *system) announceStreams(n int) {
	s.t.Helper()
	conn, err := strangers.Dial("tcp", loopback(s.http))
	require.NoError(s.t, err)
	s.t.Cleanup(func() { conn.Close() })
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	var sent, block bytes.Buffer
	sent.WriteString(http2.ClientPreface)
	framer, encoder := http2.NewFramer(&sent, nil), hpack.NewEncoder(&block)
	require.NoError(s.t, framer.WriteSettings())
	for i := range n {
		block.Reset()
		for _, f := range []hpack.HeaderField{
			{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":authority", Value: loopback(s.http)},
			{Name: ":path", Value: "/hooks/acme"}, {Name: "content-length", Value: strconv.Itoa(5 << 20)},
		} {
			require.NoError(s.t, encoder.WriteField(f))
		}
		require.NoError(s.t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1),
			BlockFragment: block.Bytes(), EndHeaders: true}))
	}
	_, _ = conn.Write(sent.Bytes()) // a connection that asks too much is hung up on
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
