package bodies

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// site reads the bodies that come to it for one tenant. The path is the address of their sender.
type site struct {
	*Bodies
	t      *testing.T
	server *httptest.Server

	mu    sync.Mutex
	ended map[string]int // bodies that ended for others, by address
}

func newSite(t *testing.T, memory int64) *site {
	s := &site{Bodies: New(), t: t, ended: map[string]int{}}
	s.Configure(memory, time.Hour)
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		address := strings.TrimPrefix(r.URL.Path, "/")
		body, err := s.Read(w, r, Sender{"acme", address}, memory/2)
		if err != nil {
			s.mu.Lock()
			s.ended[address]++
			s.mu.Unlock()
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		body.Release()
	}))
	t.Cleanup(s.server.Close)
	return s
}

// hold announces a body, and sends a byte of it.
func (s *site) hold(address string) {
	s.t.Helper()
	before := s.Used()
	conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
	require.NoError(s.t, err)
	s.t.Cleanup(func() { conn.Close() })
	_, err = fmt.Fprintf(conn, "POST /%s HTTP/1.1\r\nHost: gate\r\nContent-Length: 2\r\n\r\na", address)
	require.NoError(s.t, err)
	require.Eventually(s.t, func() bool { return s.Used() == before+requestWeight }, time.Minute, time.Millisecond)
}

// sends reports whether a whole body is read.
func (s *site) sends(address string, size int64) bool {
	s.t.Helper()
	answer, err := http.Post(s.server.URL+"/"+address, "text/plain", io.LimitReader(letters{}, size))
	require.NoError(s.t, err)
	require.NoError(s.t, answer.Body.Close())
	return answer.StatusCode == http.StatusOK
}

type letters struct{}

func (letters) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// At the address that holds most of a full share, the body that has waited longest gives way.
func TestBodiesThatWaitGiveWay(t *testing.T) {
	t.Parallel()
	const full = 16 // requests: half of the memory
	s := newSite(t, 2*full*requestWeight)
	for range full - 4 {
		s.hold("192.0.2.1")
	}
	for range 2 {
		s.hold("192.0.2.2")
		s.hold("2001:db8::1")
	}
	eventually := func(address string, size int64) {
		t.Helper()
		require.Eventually(t, func() bool { return s.sends(address, size) }, time.Minute, 10*time.Millisecond)
	}
	eventually("192.0.2.3", 1)
	s.mu.Lock()
	refused := s.ended["192.0.2.3"]
	require.Equal(t, map[string]int{"192.0.2.1": 1, "192.0.2.3": refused}, s.ended)
	s.mu.Unlock()

	// One that holds most itself ends its own.
	s.hold("192.0.2.1")
	eventually("192.0.2.1", 1)
	// A large one takes the place of several.
	eventually("2001:db8::ffff", 4*requestWeight)
	s.mu.Lock()
	require.Zero(t, s.ended["192.0.2.2"])
	require.Zero(t, s.ended["2001:db8::1"])
	require.GreaterOrEqual(t, s.ended["192.0.2.1"], 4)
	s.mu.Unlock()
}

// A body that has just begun is not ended for another.
func TestBodiesThatBeganAreSafe(t *testing.T) {
	t.Parallel()
	b := New()
	sender := Sender{"acme", "192.0.2.1"}
	first := &Body{from: b, sender: sender, began: time.Now(),
		connection: http.NewResponseController(httptest.NewRecorder())}
	b.note(first, 10)
	young := &Body{from: b, sender: sender, began: time.Now()}
	b.note(young, 1)
	require.False(t, b.makeRoom(young, 1))
	first.began = time.Now().Add(-graceTime)
	require.False(t, b.makeRoom(young, 11), "it would end in vain")
	require.True(t, b.makeRoom(young, 10))
	require.False(t, b.makeRoom(young, 1), "it has ended")
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2:3::4": "2001:db8:1:2::/64",
		"fe80::1%eth0": "fe80::/64", "no address": "no address", "": "",
	} {
		require.Equal(t, want, network(address), address)
	}
}
