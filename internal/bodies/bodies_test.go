package bodies_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/bodies"
)

var (
	acme   = bodies.Sender{Tenant: "acme", Address: "192.0.2.1"}
	globex = bodies.Sender{Tenant: "globex", Address: "192.0.2.1"}
)

func post(body io.Reader) *http.Request {
	return httptest.NewRequest(http.MethodPost, "/", body)
}

// However a body comes, all of it is there, and no more is held than twice as much, or 4 KiB; from 256 KiB on a quarter
// more.
func TestReadGivesTheBody(t *testing.T) {
	t.Parallel()
	b := bodies.New()
	for _, size := range []int{0, 1, 4095, 4096, 4097, 8192, 256 << 10, 256<<10 + 1, 512<<10 + 1, 1_000_000, 5 << 20} {
		sent := bytes.Repeat([]byte("0123456789abcde"), size/15+1)[:size]
		for name, in := range map[string]io.Reader{
			"at once": bytes.NewReader(sent), "in halves": iotest.HalfReader(bytes.NewReader(sent)),
			"with its end": iotest.DataErrReader(bytes.NewReader(sent)),
		} {
			body, err := b.Read(httptest.NewRecorder(), post(in), acme, 5<<20)
			require.NoError(t, err, name)
			require.True(t, bytes.Equal(sent, body.Bytes()), "%d bytes %s", size, name)
			require.LessOrEqual(t, b.Used(), int64(max(4096, 2*size)))
			if size > 256<<10 {
				require.LessOrEqual(t, b.Used(), int64(size+size/4))
			}
			if size == 0 {
				require.Zero(t, b.Used())
			}
			body.Release()
			require.Zero(t, b.Used())
		}
	}
}

func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	b := bodies.New()
	for _, most := range []int64{1, 10, 4096, 5000, 1 << 20} {
		body, err := b.Read(httptest.NewRecorder(), post(strings.NewReader(strings.Repeat("a", int(most)))), acme, most)
		require.NoError(t, err)
		body.Release()
		_, err = b.Read(httptest.NewRecorder(), post(strings.NewReader(strings.Repeat("a", int(most)+1))), acme, most)
		large := new(http.MaxBytesError)
		require.ErrorAs(t, err, &large)
		require.Zero(t, b.Used())
	}
	broken := errors.New("it broke off")
	_, err := b.Read(httptest.NewRecorder(), post(io.MultiReader(strings.NewReader("some"), iotest.ErrReader(broken))),
		acme, 100)
	require.ErrorIs(t, err, broken)
	require.Zero(t, b.Used())
}

// One body of the largest size fits for a tenant that is alone, even where it takes half of the memory, and leaves
// room for others' of a quarter.
func TestHalfOfTheMemoryIsEnoughForOneBody(t *testing.T) {
	t.Parallel()
	for _, memory := range []int64{1 << 20, 3_000_001, 10 << 20} {
		b := bodies.New()
		b.Configure(memory, time.Minute)
		read := func(from bodies.Sender, size int64) (*bodies.Body, error) {
			return b.Read(httptest.NewRecorder(), post(io.LimitReader(zeros{}, size)), from, memory/2)
		}
		large, err := read(acme, memory/2)
		require.NoError(t, err, memory)
		_, err = read(acme, 1)
		require.ErrorIs(t, err, bodies.ErrBusy)
		other, err := read(globex, memory/8)
		require.NoError(t, err)
		other.Release()
		large.Release()
		require.Zero(t, b.Used())
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// The connections of one tenant never take all of the memory, however many they are, and each takes 32 KiB while it
// waits.
func TestTheMemoryIsSharedByAllConnections(t *testing.T) {
	t.Parallel()
	b := bodies.New()
	b.Configure(1<<20, time.Minute)
	end := make(chan struct{})
	var readers sync.WaitGroup
	defer readers.Wait()
	defer close(end)
	hold := func(from bodies.Sender, sent io.Reader) (refused chan error) {
		refused = make(chan error, 1)
		readers.Go(func() {
			body, err := b.Read(httptest.NewRecorder(), post(io.MultiReader(sent, waiting(end))), from, 100_000)
			if err != nil {
				refused <- err
				return
			}
			body.Release()
		})
		return refused
	}
	for held := int64(32 << 10); held <= 512<<10; held += 32 << 10 {
		hold(acme, strings.NewReader(""))
		require.Eventually(t, func() bool { return b.Used() == held }, time.Minute, time.Millisecond)
	}
	for _, sent := range []string{"", "a"} {
		require.ErrorIs(t, <-hold(acme, strings.NewReader(sent)), bodies.ErrBusy)
	}
	body, err := b.Read(httptest.NewRecorder(), post(io.LimitReader(zeros{}, 100_000)), globex, 100_000)
	require.NoError(t, err, "acme's bodies keep globex's out")
	body.Release()
}

// waiting is a reader whose end comes later.
type waiting chan struct{}

func (w waiting) Read([]byte) (int, error) { <-w; return 0, io.EOF }

// A body that keeps coming, fast enough for any least rate, has an end all the same.
func TestBodyHasATotalTime(t *testing.T) {
	t.Parallel()
	b := bodies.New()
	b.Configure(bodies.DefaultMemory, 200*time.Millisecond)
	results := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := b.Read(w, r, acme, 1<<40)
		results <- err
	}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: gate\r\nContent-Length: %d\r\n\r\n", 1<<40)
	require.NoError(t, err)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := conn.Write(make([]byte, 100)); err != nil {
				return
			}
		}
	}()
	require.ErrorIs(t, <-results, os.ErrDeadlineExceeded)
	require.Zero(t, b.Used())
	conn.Close()
	<-sent
}

// The time is the body's alone: what its handler does afterwards may take longer. What is left of a body that failed
// has no longer.
func TestTimeEndsWithTheBody(t *testing.T) {
	t.Parallel()
	b := bodies.New()
	for sent, deadlines := range map[string]int{"text": 2, "a text": 1} {
		c := &connection{ResponseRecorder: httptest.NewRecorder()}
		before := time.Now()
		if body, err := b.Read(c, post(strings.NewReader(sent)), acme, 4); err == nil {
			body.Release()
		}
		require.Len(t, c.deadlines, deadlines)
		require.WithinRange(t, c.deadlines[0], before.Add(bodies.DefaultTime), time.Now().Add(bodies.DefaultTime))
		if deadlines == 2 {
			require.Zero(t, c.deadlines[1])
		}
	}
}

// connection notes the deadlines that are set.
type connection struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
}

func (c *connection) SetReadDeadline(d time.Time) error {
	c.deadlines = append(c.deadlines, d)
	return nil
}
