package database

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/store/storetest"
)

// Behind a pooler that gives each transaction another session, settings and locks of a session are another's. The start
// says so, also while the pooler has nothing else to do.
func TestPoolers(t *testing.T) {
	t.Parallel()
	address := storetest.EmptyPostgres(t)
	for _, mode := range []string{"transaction", "statement"} {
		pooled := storetest.Pooler(t, address, mode)
		_, err := Open(t.Context(), pooled, tables, zap.NewNop())
		require.ErrorContains(t, err, "set its pool_mode to session", mode)
		_, err = Try(t.Context(), pooled, tables)
		require.ErrorContains(t, err, "set its pool_mode to session", mode)
	}
	db := open(t, storetest.Pooler(t, address, "session"))
	require.NoError(t, db.Write(t.Context(), "", touch))
}
