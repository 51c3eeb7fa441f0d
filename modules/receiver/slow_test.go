package receiver_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/webhook"
)

const hook = `export_receiver {
		tenant_from path 1
	}`

// sendSlowly begins an export of acme with its first bytes, and goes on with one each 100 ms for as long as the
// connection takes them, or until there are as many as slow says; then it sends the rest.
func sendSlowly(t *testing.T, address string, first, slow int) (answers *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = fmt.Fprintf(conn, "POST /hooks/acme HTTP/1.1\r\nHost: %s\r\nX-Service-Event: "+
		"CANDIDATE-EXPORT\r\nX-Service-Signature: %s\r\nContent-Length: %d\r\n\r\n%s",
		address, webhook.Sign("acme-secret", full), len(full), full[:first])
	require.NoError(t, err)
	go func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for n := range slow {
			<-tick.C
			if _, err := conn.Write(full[first+n : first+n+1]); err != nil {
				return
			}
		}
		_, _ = conn.Write(full[first+slow:]) // the answer tells whether it came
	}()
	return bufio.NewReader(conn)
}

// slowly are Caddyfiles whose clients have little time for a body: by the pause that it may make, where nothing is
// said of a least rate, and by all of its time, where the rate would let it go on.
var slowly = map[string]struct{ servers, options string }{
	"less than the least rate": {servers: "servers {\n protocols h1 h2c\n timeouts {\n read_body_idle 500ms\n }\n }"},
	"longer than its time": {servers: "servers {\n protocols h1 h2c\n timeouts {\n read_body_idle 1m\n }\n }",
		options: "body_time 1s"},
	"longer, and no pause": {servers: "servers {\n protocols h1 h2c\n timeouts {\n read_body_idle -1s\n }\n }",
		options: "body_time 1s"},
}

// Who sends a byte now and then never stands still, and is cut off all the same.
func TestBodyThatComesTooSlowly(t *testing.T) {
	for name, with := range slowly {
		t.Run(name, func(t *testing.T) {
			address := serveCaddy(t, with.servers, with.options, hook)
			answers := sendSlowly(t, address, 0, 250)
			requireClosedAfter(t, resetAtLast{answers}, http.StatusRequestTimeout)
		})
	}
}

// resetAtLast reads what comes to one who goes on sending: a server that has closed the connection resets it at the
// next byte.
type resetAtLast struct{ io.Reader }

func (r resetAtLast) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if errors.Is(err, syscall.ECONNRESET) {
		err = io.EOF
	}
	return n, err
}

// Over HTTP/2 a connection is not closed for one request's sake; its stream ends.
func TestBodyThatComesTooSlowlyOverHTTP2(t *testing.T) {
	for name, with := range slowly {
		t.Run(name, func(t *testing.T) {
			address := serveCaddy(t, with.servers, with.options, hook)
			client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{Protocols: new(http.Protocols)}}
			client.Transport.(*http.Transport).Protocols.SetUnencryptedHTTP2(true)
			body, slow := io.Pipe()
			defer body.Close()
			go func() {
				tick := time.NewTicker(100 * time.Millisecond)
				defer tick.Stop()
				for n := range full {
					<-tick.C
					if _, err := slow.Write(full[n : n+1]); err != nil {
						return
					}
				}
			}()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/hooks/acme", body)
			require.NoError(t, err)
			r.ContentLength = int64(len(full))
			r.Header.Set("X-Service-Event", webhook.EventExport)
			r.Header.Set("X-Service-Signature", webhook.Sign("acme-secret", full))
			answer, err := client.Do(r)
			require.NoError(t, err)
			defer answer.Body.Close()
			require.Equal(t, "HTTP/2.0", answer.Proto)
			require.Equal(t, http.StatusRequestTimeout, answer.StatusCode)
		})
	}
}

// The least rate of a Caddyfile holds, also where it is below ours.
func TestLeastRateOfTheServer(t *testing.T) {
	address := serveCaddy(t, "servers {\n timeouts {\n read_body_idle 500ms 1\n }\n }", "", hook)
	answer, err := http.ReadResponse(sendSlowly(t, address, 20, 15), nil)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusAccepted, answer.StatusCode)
}
