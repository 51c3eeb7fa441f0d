package listener

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serve has a server answer its name, and the body that came, at a listener of a port.
func serve(t *testing.T, port int, name string) *http.Server {
	t.Helper()
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			assert.NoError(t, err)
			if r.URL.Path == "/broken" {
				panic(http.ErrAbortHandler)
			}
			fmt.Fprintf(w, "%s %s", name, body)
		}),
		ConnState: func(c net.Conn, state http.ConnState) { c.(*conn).ConnState(state) },
		Protocols: new(http.Protocols),
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	l := listen(t, port)
	served := make(chan struct{})
	go func() {
		defer close(served)
		assert.ErrorIs(t, server.Serve(l), http.ErrServerClosed)
	}()
	t.Cleanup(func() {
		assert.NoError(t, server.Close())
		<-served
	})
	return server
}

// client is one connection, on which nothing is sent twice.
type client struct {
	net.Conn
	answers *bufio.Reader
}

func dial(t *testing.T, port int) *client {
	t.Helper()
	c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	return &client{c, bufio.NewReader(c)}
}

func (c *client) post(body string) (answer string, err error) {
	if _, err := fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body),
		body); err != nil {
		return "", err
	}
	return c.answer()
}

func (c *client) answer() (string, error) {
	answer, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(answer.Body)
	if answer.Close {
		text = append(text, " and hung up"...)
	}
	return string(text), err
}

func shutDown(t *testing.T, server *http.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, server.Shutdown(ctx))
}

// awaitIdle waits until the servers at a port have answered, and wait for the next request on that many connections.
func awaitIdle(t *testing.T, port, connections int) {
	t.Helper()
	shared, _ := sockets.LoadOrStore(net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), nil)
	defer sockets.Delete(net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	s := shared.(*socket)
	require.Eventually(t, func() bool {
		var all []*conn
		s.mu.Lock()
		for _, l := range s.listeners {
			all = slices.AppendSeq(all, maps.Keys(l.conns))
		}
		s.mu.Unlock()
		idle := 0
		for _, c := range all {
			c.mu.Lock()
			if c.idle && c.reading {
				idle++
			}
			c.mu.Unlock()
		}
		return idle == connections
	}, time.Minute, 100*time.Microsecond, "a request is being answered still")
}

// The next request is the latest server's, be it that the former one is there still or that it was shut down.
func TestKeptConnectionMovesToTheLatestServer(t *testing.T) {
	port := freePort(t)
	first := serve(t, port, "first")
	used, waits, fresh := dial(t, port), dial(t, port), dial(t, port)
	for _, c := range []*client{used, waits} {
		answer, err := c.post("a")
		require.NoError(t, err)
		require.Equal(t, "first a", answer)
	}
	second := serve(t, port, "second")
	answer, err := used.post("b")
	require.NoError(t, err)
	require.Equal(t, "second b", answer, "the former server is there still")
	awaitIdle(t, port, 3)
	shutDown(t, first)
	for _, c := range []*client{waits, fresh, used} {
		answer, err = c.post("c")
		require.NoError(t, err)
		require.Equal(t, "second c", answer)
	}
	awaitIdle(t, port, 3)
	serve(t, port, "third")
	shutDown(t, second)
	for _, c := range []*client{waits, fresh, used} {
		answer, err = c.post("d")
		require.NoError(t, err)
		require.Equal(t, "third d", answer)
	}
}

// A request that began is the former server's, and so is what that server does with its connection.
func TestRequestThatBeganStays(t *testing.T) {
	port := freePort(t)
	serve(t, port, "first")
	began, breaks := dial(t, port), dial(t, port)
	for _, c := range []*client{began, breaks} {
		answer, err := c.post("a")
		require.NoError(t, err)
		require.Equal(t, "first a", answer)
	}
	_, err := began.Write([]byte("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"))
	require.NoError(t, err)
	line, err := began.answers.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "100 Continue")
	_, err = began.answers.Discard(2)
	require.NoError(t, err)
	_, err = breaks.Write([]byte("POST /broken HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"))
	require.NoError(t, err)
	_, err = breaks.answers.ReadString('\n')
	require.NoError(t, err)
	serve(t, port, "second")
	_, err = began.Write([]byte("b"))
	require.NoError(t, err)
	answer, err := began.answer()
	require.NoError(t, err)
	require.Equal(t, "first b", answer)
	answer, err = began.post("c")
	require.NoError(t, err)
	require.Equal(t, "second c", answer)
	_, err = breaks.Write([]byte("b"))
	require.NoError(t, err)
	rest, err := io.ReadAll(breaks.answers)
	require.NoError(t, err)
	require.Equal(t, "\r\n", string(rest), "a request that was broken off has moved")
}

// The last server has nobody to hand a connection to.
func TestConnectionEndsWithTheLastServer(t *testing.T) {
	port := freePort(t)
	only := serve(t, port, "only")
	c := dial(t, port)
	_, err := c.post("a")
	require.NoError(t, err)
	awaitIdle(t, port, 1)
	shutDown(t, only)
	_, err = c.answers.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}

// An HTTP/2 connection is told by its own means that it ends, and is not handed to a server that has not seen its
// beginning.
func TestHTTP2DoesNotMove(t *testing.T) {
	port := freePort(t)
	first := serve(t, port, "first")
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	post := func() string {
		t.Helper()
		answer, err := (&http.Client{Transport: transport}).Post(fmt.Sprint("http://127.0.0.1:", port), "text/plain",
			strings.NewReader("a"))
		require.NoError(t, err)
		defer answer.Body.Close()
		require.Equal(t, 2, answer.ProtoMajor)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return string(text)
	}
	require.Equal(t, "first a", post())
	serve(t, port, "second")
	require.Equal(t, "first a", post(), "the connection is the former server's")
	shutDown(t, first)
	require.Equal(t, "second a", post())
}

// A request that is on its way at the very moment at which its server is shut down is the next server's.
func TestNoRequestIsLostAsAServerIsShutDown(t *testing.T) {
	const servers, connections = 50, 32
	port := freePort(t)
	current := serve(t, port, "0")
	var clients []*client
	for range connections {
		c := dial(t, port)
		_, err := c.post("before")
		require.NoError(t, err)
		clients = append(clients, c)
	}
	for n := range servers {
		name := strconv.Itoa(n + 1)
		awaitIdle(t, port, connections)
		next := serve(t, port, name)
		var all sync.WaitGroup
		for at, c := range clients {
			all.Go(func() {
				time.Sleep(time.Duration(at) * 10 * time.Microsecond) // some come before, some after
				answer, err := c.post("a")
				assert.NoError(t, err)
				assert.Equal(t, name+" a", answer)
			})
		}
		shutDown(t, current)
		all.Wait()
		require.False(t, t.Failed(), "with the server %s", name)
		current = next
	}
}
