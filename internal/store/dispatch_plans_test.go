package store

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

const (
	backlogTenants = 50
	backlogEach    = 400
	backlogGroup   = 1000 // the ID of the group that the first 200 are in
)

// fillBacklog stores exports that were dispatched long ago, has the planner count them, and then stores as many that wait
// for their workflow, of which it knows nothing.
func fillBacklog(t *testing.T, db *DB) {
	t.Helper()
	const all = backlogTenants * backlogEach
	fill := fmt.Sprintf(`INSERT INTO exports (id, tenant, key, keyed, origin, sha256, size, candidate_id, attachments, receipt,
			received_at, documents_till, deliver_till, round, integrations, workflow_id, group_id, dispatched_at, dispatch_after, fault)
		SELECT $1 + n, 't-' || (n %% %d), 'u-' || ($1 + n), TRUE, 'received', $2, 0, '', 0, '', n, n, n, 0, 'hris', '',
			CASE WHEN n < 200 AND $1 > 0 THEN %d END, CASE WHEN $1 = 0 THEN n END, n, '' FROM generate_series(0, %d) AS g (n)`,
		backlogTenants, backlogGroup, all-1)
	run := func(q string, args ...any) {
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error { return tx.sql.Run(q, args...) }))
	}
	run(`ALTER TABLE exports SET (autovacuum_enabled = off)`)
	run(fill, int64(0), []byte{})
	run(`ANALYZE exports`)
	run(fill, int64(all), []byte{})
}

// Where the planner was told last of a time without a backlog, it takes an index of what waits for small. Nothing that is
// asked about a few exports reads the whole of it.
func TestPlansDoNotTurnWithABacklog(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), storetest.Postgres(t), Options{})
	require.NoError(t, err)
	defer db.Close()
	fillBacklog(t, db)
	now := time.Now()
	page, err := db.ListUndispatched(t.Context(), "t-7", now, 300)
	require.NoError(t, err)
	require.Len(t, page, 300)
	member := slices.IndexFunc(page, func(e *model.Export) bool { return e.Group == backlogGroup })
	single := slices.IndexFunc(page, func(e *model.Export) bool { return e.Group == 0 })
	read := func(tx *Tx) (n int64, err error) {
		_, err = tx.sql.Scan([]any{&n}, `SELECT CAST(coalesce(sum(seq_tup_read + idx_tup_fetch), 0) AS BIGINT)
			FROM pg_stat_xact_user_tables WHERE relname = 'exports'`)
		return n, err
	}
	var members []*model.Export
	type question struct {
		name string
		ask  func(*Tx) error
	}
	questions := []question{
		{"TakeTurn", func(tx *Tx) error { _, err := tx.TakeTurn(page[single], now, now); return err }},
		{"TakeTurn of a group", func(tx *Tx) (err error) { members, err = tx.TakeTurn(page[member], now, now); return err }},
		{"ReturnTurn", func(tx *Tx) error { return tx.ReturnTurn(page[:8], now) }},
		{"MarkGroupDispatched", func(tx *Tx) error { return tx.MarkGroupDispatched(backlogGroup, now) }},
		{"Group", func(tx *Tx) error { _, err := tx.Group(page[single+100:single+200], now); return err }},
	}
	for name, list := range map[string]func(context.Context) error{
		"UndispatchedTenants": func(ctx context.Context) error { _, err := db.UndispatchedTenants(ctx); return err },
		"ListUndispatched":    func(ctx context.Context) error { _, err := db.ListUndispatched(ctx, "t-7", now, 200); return err },
		"OldestWaiting":       func(ctx context.Context) error { _, err := db.OldestWaiting(ctx); return err },
		"ListUndispatchedUnfetched": func(ctx context.Context) error {
			_, _, err := db.ListUndispatchedUnfetched(ctx, backlogTenants*backlogEach*2-100, now, now, 20)
			return err
		},
	} {
		var asked func(*Tx) error
		observe(db, func(q string, args []any) {
			asked = func(tx *Tx) error {
				_, err := rows.QueryTx(tx.sql, func(row) (struct{}, error) { return struct{}{}, nil }, q, args...)
				return err
			}
		}, nil)
		require.NoError(t, list(t.Context()))
		questions = append(questions, question{name, asked})
	}
	for _, q := range questions {
		var before, after int64
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) (err error) {
			if before, err = read(tx); err != nil {
				return err
			}
			if err := q.ask(tx); err != nil {
				return err
			}
			after, err = read(tx)
			return err
		}), q.name)
		t.Log(q.name, after-before)
		assert.Less(t, after-before, int64(5*backlogEach), q.name)
	}
	require.Len(t, members, 200)
}
