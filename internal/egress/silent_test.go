package egress

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

// lossy is a connection whose other end can vanish without a word: nothing arrives there any more, and nothing comes
// back.
type lossy struct {
	net.Conn
	gone atomic.Bool
}

func (l *lossy) Write(p []byte) (int, error) {
	if l.gone.Load() {
		return len(p), nil
	}
	return l.Conn.Write(p)
}

// pipes is a listener whose connections are made within the test.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.accepted:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// An HTTP/2 connection whose other end vanished fails the attempt that is under way, and not those that come after it.
func TestConnectionWhoseOtherEndVanishedIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	known := httptest.NewUnstartedServer(nil) // for its certificate
	known.StartTLS()
	t.Cleanup(known.Close)
	trusted := known.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	synctest.Test(t, func(t *testing.T) {
		listener := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
		var versions []int
		partner := &http.Server{
			Handler: http.HandlerFunc(
				func(_ http.ResponseWriter, r *http.Request) { versions = append(versions, r.ProtoMajor) }),
			TLSConfig: &tls.Config{Certificates: known.TLS.Certificates},
		}
		go partner.ServeTLS(listener, "", "")
		defer partner.Close()
		g := New(Policy{})
		defer g.Close()
		g.routes.secure.TLSClientConfig = &tls.Config{RootCAs: trusted}
		var made []*lossy
		g.routes.secure.DialContext = func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			made = append(made, &lossy{Conn: near})
			listener.accepted <- far
			return made[len(made)-1], nil
		}
		attempt := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), webhook.AttemptTimeout)
			defer cancel()
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://example.com/inbound", nil)
			require.NoError(t, err)
			answer, err := g.Client().Do(request)
			if err == nil {
				err = answer.Body.Close()
			}
			return err
		}
		require.NoError(t, attempt())
		made[0].gone.Store(true)
		require.Error(t, attempt())
		time.Sleep(model.DefaultSchedule[0])
		require.NoError(t, attempt())
		require.Len(t, made, 2)
		require.Equal(t, []int{2, 2}, versions)
	})
}

// Whoever takes long to answer is waited for, and asked meanwhile whether they are still there.
func TestSilenceIsNoEnd(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, pingAfter+pingTimeout, webhook.AttemptTimeout)
}
