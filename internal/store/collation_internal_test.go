package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store/rows"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// Text that an index orders is ordered by its bytes, as on SQLite, whatever the database's locale: cursors depend on
// it.
func TestIndexedTextIsOrderedByItsBytes(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), storetest.Postgres(t), Options{})
	require.NoError(t, err)
	defer db.Close()
	const indexed = `SELECT DISTINCT c.relname || '.' || a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relname NOT LIKE 'goose%' AND a.atttypid = 'text'::regtype`
	all, err := rows.Query(t.Context(), db.reads, rows.Value[string], indexed)
	require.NoError(t, err)
	require.Greater(t, len(all), 20)
	wrong, err := rows.Query(t.Context(), db.reads, rows.Value[string], indexed+` AND a.attcollation <> '"C"'::regcollation`)
	require.NoError(t, err)
	// Fixed words and names of modes: no list is ordered by them.
	known := map[string]bool{"deliveries.outcome": true, "deliveries.fault": true, "outgoing_bodies.documents": true}
	for _, column := range wrong {
		require.True(t, known[column], "%s is indexed and not $KEY", column)
	}
}
