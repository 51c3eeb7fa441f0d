package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// waiting accepts exports of a tenant, to be delivered to hris.
func waiting(t *testing.T, db *store.DB, tenant string, n int) (all []*model.Export) {
	t.Helper()
	for at := range n {
		e := export(tenant, fmt.Sprint(tenant, "-", at), "b")
		require.True(t, insert(t, db, e))
		e.Integrations = []string{"hris"}
		all = append(all, e)
	}
	return all
}

func group(t *testing.T, db *store.DB, all ...*model.Export) (members []*model.Export) {
	t.Helper()
	write(t, db, func(tx *store.Tx) (err error) {
		members, err = tx.Group(all, noon.Add(time.Minute))
		return err
	})
	return members
}

// takeTurn takes the turn of an export at a time, as a sweep does.
func takeTurn(t *testing.T, db *store.DB, e *model.Export, at time.Time) (taken []*model.Export) {
	t.Helper()
	write(t, db, func(tx *store.Tx) (err error) {
		taken, err = tx.TakeTurn(e, at.Add(-3*time.Second), at)
		return err
	})
	return taken
}

func TestGroupHoldsWhatStillWaits(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		all := waiting(t, db, "acme", 7)
		all[6].Integrations = []string{"crm", "hris"}
		write(t, db, func(tx *store.Tx) error {
			if err := tx.MarkDispatched(all[0].ID, 0, noon, "hris"); err != nil {
				return err
			}
			if err := tx.MarkFault(all[1].ID, "invalid id", noon); err != nil {
				return err
			}
			return tx.SkipRound(all[2])
		})
		members := group(t, db, all...)
		require.Len(t, members, 4, "neither one that was dispatched or refused, nor one of a later round")
		require.Empty(t, group(t, db, all...), "a group takes nobody from another")
		for n, e := range members {
			kept, err := db.Export(t.Context(), all[3+n].ID)
			require.NoError(t, err)
			require.Equal(t, kept, e)
			require.Equal(t, []any{all[3].ID, model.GroupWorkflowID(all[3:]), all[3+n].Integrations, true},
				[]any{e.Group, e.WorkflowID, e.Integrations, e.DispatchedAt.IsZero()})
		}
		require.Equal(t, members, takeTurn(t, db, members[2], noon.Add(2*time.Minute)))

		write(t, db, func(tx *store.Tx) error { return tx.MarkGroupDispatched(all[3].ID, noon.Add(time.Hour)) })
		require.Empty(t, takeTurn(t, db, members[2], noon.Add(2*time.Hour)))
		e, err := db.Export(t.Context(), all[4].ID)
		require.NoError(t, err)
		require.Equal(t, noon.Add(time.Hour), e.DispatchedAt)

		// A redelivery is not the group's.
		var next *model.Export
		write(t, db, func(tx *store.Tx) (err error) {
			next, err = tx.BeginRound(all[4].ID, []string{"hris"}, noon.Add(2*time.Hour), noon.Add(100*time.Hour))
			return err
		})
		require.Equal(t, []any{model.WorkflowID("acme", "acme-4", 1), model.GroupWorkflowID(all[3:])},
			[]any{next.WorkflowID, next.RoundWorkflowID(0)})
		write(t, db, func(tx *store.Tx) error { return tx.MarkGroupDispatched(all[3].ID, noon.Add(3*time.Hour)) })
		e, err = db.Export(t.Context(), all[4].ID)
		require.NoError(t, err)
		require.True(t, e.DispatchedAt.IsZero())
	})
}

// An export whose group can't be started under its ID leaves it.
func TestSkippedRoundLeavesItsGroup(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		members := group(t, db, waiting(t, db, "acme", 2)...)
		write(t, db, func(tx *store.Tx) error { return tx.SkipRound(members[1]) })
		e, err := db.Export(t.Context(), members[1].ID)
		require.NoError(t, err)
		require.Equal(t, []any{int64(0), 1, model.WorkflowID("acme", "acme-1", 1)}, []any{e.Group, e.Round, e.WorkflowID})
	})
}

func TestTenantsThatWait(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		for n, tenant := range []string{"globex", "acme", "umbrella", "initech"} {
			waiting(t, db, tenant, 3-n%2)
		}
		all, err := db.ListUndispatched(t.Context(), "umbrella", noon, 10)
		require.NoError(t, err)
		write(t, db, func(tx *store.Tx) error {
			for _, e := range all {
				if err := tx.PostponeDispatch(e, noon.Add(time.Hour)); err != nil {
					return err
				}
			}
			return nil
		})
		tenants, err := db.UndispatchedTenants(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"acme", "globex", "initech", "umbrella"}, tenants)
		since, err := db.OldestWaiting(t.Context())
		require.NoError(t, err)
		require.Len(t, since, 4)
		require.Equal(t, noon, since["acme"])
	})
}

// A redelivery waits since it was asked for, however old its export is.
func TestSinceWhenARedeliveryWaits(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		e, asked := waiting(t, db, "acme", 1)[0], noon.Add(24*time.Hour)
		write(t, db, func(tx *store.Tx) error {
			if err := tx.MarkDispatched(e.ID, 0, noon); err != nil {
				return err
			}
			if _, err := tx.BeginRound(e.ID, []string{"hris"}, asked, asked.Add(time.Hour)); err != nil {
				return err
			}
			return tx.PostponeDispatch(e, asked.Add(time.Minute))
		})
		since, err := db.OldestWaiting(t.Context())
		require.NoError(t, err)
		require.Equal(t, map[string]time.Time{"acme": asked}, since)
		n, oldest, err := db.Backlog(t.Context())
		require.NoError(t, err)
		require.Equal(t, []any{1, asked}, []any{n, oldest})
	})
}

// A node that is about to start a group that was made, or a redelivery, has the others pass over it for a while.
func TestTurnsToStart(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		now := noon.Add(time.Minute)
		members := group(t, db, waiting(t, db, "acme", 3)...)
		alone := waiting(t, db, "globex", 1)[0]
		takes := func(e *model.Export, after time.Duration) bool { return len(takeTurn(t, db, e, now.Add(after))) > 0 }
		for _, e := range []*model.Export{members[1], alone} {
			require.True(t, takes(e, 3*time.Second))
			require.False(t, takes(e, 5*time.Second))
			require.True(t, takes(e, 6*time.Second))
		}
		require.False(t, takes(members[2], 8*time.Second), "another member of the group was taken")
		write(t, db, func(tx *store.Tx) error { return tx.ReturnTurn(members, now) })
		require.True(t, takes(members[2], 8*time.Second), "it was not returned")
		since, err := db.OldestWaiting(t.Context())
		require.NoError(t, err)
		require.Equal(t, map[string]time.Time{"acme": noon, "globex": noon}, since)
		write(t, db, func(tx *store.Tx) error { return tx.MarkGroupDispatched(members[0].ID, now) })
		require.False(t, takes(members[1], time.Hour), "it was started")
	})
}

// Two nodes that take the same backlog at the same time make groups that have nobody in common, and leave nobody out.
func TestNodesMakeDisjointGroups(t *testing.T) {
	t.Parallel()
	nodes := twoNodes(t)
	all := waiting(t, nodes[0], "acme", 40)
	got := make(chan []*model.Export)
	for _, db := range nodes {
		go func() {
			var mine []*model.Export
			for part := range slices.Chunk(all, 5) {
				_ = db.Write(t.Context(), func(tx *store.Tx) (err error) {
					members, err := tx.Group(part, noon)
					mine = append(mine, members...)
					return err
				})
			}
			got <- mine
		}()
	}
	var ids []int64
	for range nodes {
		for _, e := range <-got {
			ids = append(ids, e.ID)
		}
	}
	slices.Sort(ids)
	require.Len(t, slices.Compact(ids), len(ids))
	require.Len(t, ids, 40)
}

func TestStoredExportsAreListed(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		all := waiting(t, db, "acme", 3)
		found, err := db.ListStored(t.Context(), []int64{all[2].ID, 7, all[0].ID})
		require.NoError(t, err)
		require.Equal(t, []int64{all[0].ID, all[2].ID}, found)
	})
}
