package store

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// fillWaiting stores 20,000 exports with one delivery each, of which three in ten wait: held, retrying, and without a
// row yet. The planner then knows how many there are.
func fillWaiting(t *testing.T, db *DB) {
	t.Helper()
	const all, part = 60_000, 10_000 // all at once outlasts the time of a write on a busy machine
	for first := 1; first < all; first += part {
		n := fmt.Sprintf(`WITH RECURSIVE n (n) AS (SELECT %d UNION ALL SELECT n + 1 FROM n WHERE n < %d) `, first, first+part-1)
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
			return tx.sql.RunAll([]string{
				`INSERT INTO exports (id, tenant, key, keyed, origin, sha256, size, candidate_id, attachments, receipt,
				received_at, documents_till, deliver_till, round, integrations, workflow_id, dispatched_at, dispatch_after,
				fault, unsettled)
			` + n + `SELECT n, 't', 'u-' || n, TRUE, 'received', $1, 0, '', 0, '', n, n, n, 0, 'i', '', n, n, '', n % 30 < 3 FROM n`,
				`INSERT INTO deliveries (export_id, tenant, integration, round, outcome, fault, reason, attempts, parked,
				held_since, created_at, updated_at)
			` + n + `SELECT n, 't', 'i', 0, CASE n % 30 WHEN 0 THEN 'pending' WHEN 1 THEN 'held' WHEN 2 THEN 'retrying' ELSE 'delivered' END,
				'', '', 0, n < 0, CASE n % 30 WHEN 1 THEN n END, n, n FROM n WHERE length($1) = 0`,
			}, []byte{})
		}))
	}
	require.NoError(t, db.Write(t.Context(), func(tx *Tx) error { return tx.sql.Run(`ANALYZE`) }))
}

// wholeTable is a step of a plan that reads all exports, all deliveries, or all that are open.
var wholeTable = regexp.MustCompile(`Seq Scan on (exports|deliveries)|^SCAN [a-z]+$|\(outcome=\?\)$`)

// ofPage is such a step that reads a table of what waits, or what an inner query found: a page.
var ofPage = regexp.MustCompile(`^SCAN (page|e|w|f|waiting|each_tenant)$`)

// plan returns the steps of a statement's plan, with the values of its arguments.
func plan(t *testing.T, db *DB, q string, args ...any) (steps []string) {
	t.Helper()
	explain, step := "EXPLAIN ", rows.Value[string]
	if db.Exclusive() {
		explain, step = "EXPLAIN QUERY PLAN ", func(r row) (detail string, err error) {
			var id, parent, unused int
			return detail, r.Scan(&id, &parent, &unused, &detail)
		}
	}
	require.NoError(t, db.Write(t.Context(), func(tx *Tx) (err error) {
		steps, err = rows.QueryTx(tx.sql, step, explain+q, args...)
		return err
	}))
	return steps
}

// However many exports wait, what is asked about them reads no table.
func TestQuestionsAboutManyWaitingExportsReadNoTable(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, err := Open(t.Context(), address, Options{})
		require.NoError(t, err)
		defer db.Close()
		fillWaiting(t, db)
		var all []asked
		observe(db, func(q string, args []any) { all = append(all, asked{q, args}) }, nil)
		page, err := db.LookUnsettled(t.Context(), 0)
		require.NoError(t, err)
		require.Empty(t, page.Settled)
		for _, ask := range []func() error{
			func() error {
				_, err := db.CountUndeliveredOf(t.Context(), 0, page.Next, time.UnixMicro(0))
				return err
			},
			func() error { _, err := db.CountUndelivered(t.Context(), time.UnixMicro(0)); return err },
			func() error { _, err := db.ListHeldPlaces(t.Context()); return err },
			func() error { _, err := db.OldestWaiting(t.Context()); return err },
		} {
			require.NoError(t, ask())
		}
		ids := make([]int64, MaxPage)
		for n := range ids {
			ids[n] = int64(n)
		}
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
			q, args := tx.settle(ids)
			all = append(all, asked{q, args})
			return nil
		}))
		for _, one := range all {
			for _, step := range plan(t, db, one.q, one.args...) {
				if !ofPage.MatchString(step) {
					require.NotRegexp(t, wholeTable, strings.TrimSpace(step), one.q)
				}
			}
		}
	})
}

// Of more exports than are counted when somebody asks, what was counted before is answered.
func TestWhatManyExportsWaitForIsStored(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, err := Open(t.Context(), address, Options{})
		require.NoError(t, err)
		defer db.Close()
		fillWaiting(t, db)
		gone := model.Place{Tenant: "t", Integration: "gone"}
		before := map[model.Place]Waiting{gone: {Count: 1, Oldest: time.UnixMicro(1).UTC()}}
		update := func(before, now map[model.Place]Waiting) {
			require.NoError(t, db.Write(t.Context(), func(tx *Tx) error { return tx.UpdateWaiting(before, now) }))
			stored, err := db.CountUndelivered(t.Context(), time.UnixMicro(0))
			require.NoError(t, err)
			require.Equal(t, now, stored)
		}
		waiting, more, err := db.CountWaiting(t.Context(), model.Place{Tenant: "t", Integration: "i"}, time.Now())
		require.NoError(t, err)
		require.EqualValues(t, MaxCounted, waiting)
		require.True(t, more)
		update(nil, before)
		counted := map[model.Place]Waiting{}
		for after := int64(0); ; {
			looked, err := db.LookUnsettled(t.Context(), after)
			require.NoError(t, err)
			next := looked.Next
			until := next
			if next == 0 {
				until = math.MaxInt64
			}
			page, err := db.CountUndeliveredOf(t.Context(), after, until, time.UnixMicro(0))
			require.NoError(t, err)
			for at, w := range page {
				counted[at] = counted[at].Add(w)
			}
			if after = next; next == 0 {
				break
			}
		}
		require.Equal(t, map[model.Place]Waiting{{Tenant: "t", Integration: "i"}: {Count: 6000, Held: 2000,
			Oldest: time.UnixMicro(1).UTC(), Ends: time.UnixMicro(2).UTC()}}, counted)
		update(before, counted)
		counted[gone] = before[gone]
		update(nil, counted)
	})
}
