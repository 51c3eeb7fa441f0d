package gateway_test

import (
	"context"
	"net"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/workflows/temporaltest"
)

// freePort is a port of 127.0.0.1 that nobody listens on.
func freePort(t *testing.T) *net.TCPAddr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().(*net.TCPAddr)
}

// requireFault waits until the gateway's Temporal is said to be unusable for a reason.
func requireFault(t *testing.T, s gateway.Settings, reason string) {
	t.Helper()
	folder := t.TempDir()
	database := &gateway.Database{Address: storetest.SQLite(t)}
	s.Database, s.Documents = database.Address, filepath.Join(folder, "documents")
	r, err := gateway.NewRuntime(s, database, zap.NewNop())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, r.Destruct())
		require.NoError(t, database.Destruct())
	})
	require.NoError(t, r.Start(t.Context()))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		fault := new(gateway.TemporalFault)
		require.ErrorAs(c, r.TemporalReady(ctx), &fault)
		assert.Contains(c, fault.Reason, reason)
		assert.NotContains(c, fault.Reason, s.Temporal, "the reason is public")
	}, 60*time.Second, 50*time.Millisecond)
}

func TestANamespaceThatDoesNotExist(t *testing.T) {
	t.Parallel()
	address := freePort(t)
	temporaltest.Start(t, t.TempDir(), address.Port)
	requireFault(t, gateway.Settings{Temporal: address.String(), Namespace: "prod"},
		"namespace prod does not exist in Temporal")
}

func TestATemporalThatIsAway(t *testing.T) {
	t.Parallel()
	requireFault(t, gateway.Settings{Temporal: freePort(t).String(), Namespace: "prod"}, "Temporal does not answer")
}

func TestATemporalThatRefuses(t *testing.T) {
	t.Parallel()
	for code, reason := range map[codes.Code]string{
		codes.PermissionDenied: "denies the gateway the use of namespace prod",
		codes.Unauthenticated:  "does not know the gateway",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		// such as a proxy before a cluster
		server := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
			return status.Error(code, "not you")
		}))
		go server.Serve(l)
		t.Cleanup(server.Stop)
		requireFault(t, gateway.Settings{Temporal: l.Addr().String(), Namespace: "prod"}, reason)
	}
}

func TestTLSWithTemporalFails(t *testing.T) {
	t.Parallel()
	encrypted := httptest.NewUnstartedServer(nil)
	encrypted.EnableHTTP2 = true
	encrypted.StartTLS()
	t.Cleanup(encrypted.Close)
	plain := httptest.NewServer(nil)
	t.Cleanup(plain.Close)
	for name, s := range map[string]gateway.Settings{
		"a certificate of an unknown authority": {Temporal: strings.TrimPrefix(encrypted.URL, "https://"),
			Security: gateway.Security{Encrypted: true}},
		"no TLS there": {Temporal: strings.TrimPrefix(plain.URL, "http://"), Security: gateway.Security{Encrypted: true}},
	} {
		t.Run(name, func(t *testing.T) { requireFault(t, s, "TLS handshake with Temporal fails") })
	}
	t.Run("TLS there alone", func(t *testing.T) {
		requireFault(t, gateway.Settings{Temporal: strings.TrimPrefix(encrypted.URL, "https://")}, "if it wants TLS")
	})
}
