package manageapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// onEach runs a test on SQLite and on PostgreSQL.
func onEach(t *testing.T, test func(t *testing.T, b *fixture)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, setup(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.Gateway = onPostgres(t, b)
		b.url = b.serve(func() *gateway.Gateway { return b.Gateway })
		test(t, b)
	})
}

// onPostgres is the gateway of a fixture, on PostgreSQL.
func onPostgres(t *testing.T, b *fixture) *gateway.Gateway {
	t.Helper()
	return onDatabase(t, b, &gateway.Database{Address: storetest.Postgres(t)})
}

// onDatabase is the gateway of a fixture, on another database.
func onDatabase(t *testing.T, b *fixture, database *gateway.Database) *gateway.Gateway {
	t.Helper()
	runtime, err := gateway.NewRuntime(gateway.Settings{
		Database: database.Address, Documents: t.TempDir(), Temporal: gatewaytest.Nowhere, Namespace: "default",
	}, database, b.Log)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, runtime.Destruct())
		require.NoError(t, database.Destruct())
	})
	require.NoError(t, runtime.Start(t.Context()))
	c := *b.Config
	c.Stored = runtime.Directory
	runtime.InForce.Push(&c)
	return &gateway.Gateway{Config: &c, Validator: b.Validator, Runtime: runtime, Now: b.Clock.Now}
}
