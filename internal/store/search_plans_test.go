package store_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// PostgreSQL has no statistics of what was just brought in. A search by two words, each of which many have, is answered
// all the same: it compares no word with all others, which would take longer than a read may.
func TestSearchesNeedNoStatistics(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	db, err := store.Open(t.Context(), address, store.Options{})
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
		return tx.UpsertCandidate(&model.Candidate{Row: model.Row{Tenant: "acme"}, ID: "c-1",
			Name: model.Name{Given: "Ada", Family: "Miller"}}, time.Now())
	}))
	raw, err := sql.Open("pgx", address)
	require.NoError(t, err)
	defer raw.Close()
	for _, fill := range []string{
		`ALTER TABLE search_words SET (autovacuum_enabled = off)`,
		`INSERT INTO candidates SELECT (jsonb_populate_record(c, jsonb_build_object('id', 'd-' || n))).* FROM candidates c,
			generate_series(1, 60000) AS g (n)`,
		`INSERT INTO search_words (tenant, kind, word, id) SELECT 'acme', 'name', CASE WHEN n <= 30000 THEN 'ada' ELSE 'miller' END,
			'd-' || n FROM generate_series(1, 60000) AS g (n)`,
	} {
		_, err := raw.Exec(fill)
		require.NoError(t, err, fill)
	}
	found, _, err := db.ListCandidates(t.Context(), "acme", store.CandidateFilter{Name: "mil ada"}, store.Page{Limit: 50})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "c-1", found[0].ID)
}
