package dispatch_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// An emptied Temporal gets all that it lost in groups again, once, and what it still has stays there.
func TestWhatTemporalLostComesBackInGroups(t *testing.T) {
	t.Parallel()
	b := newOrphanFixture(t)
	const lost, groupOf = 2000, 200
	kept := []*model.Export{b.Accept("kept-1"), b.Accept("kept-2")}
	b.group(nil, kept...)
	var all []int64
	var of []*model.Export
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		all, of = nil, nil
		for n := range lost {
			e := inbox.NewExport("acme", fmt.Sprint("u-", n), []byte(`{}`), b.Clock())
			if _, err := inbox.Insert(tx, e); err != nil {
				return err
			}
			e.Integrations = []string{"hris"}
			all, of = append(all, e.ID), append(of, e)
		}
		for group := range slices.Chunk(of, groupOf) {
			if _, err := tx.Group(group, b.Clock()); err != nil {
				return err
			}
			if err := tx.MarkGroupDispatched(group[0].ID, b.Clock()); err != nil {
				return err
			}
		}
		return nil
	}))
	b.Advance(20 * time.Minute)
	began := time.Now()
	require.NoError(t, b.watcher.FindLost(t.Context()))
	t.Logf("%d exports found in %s", lost, time.Since(began))
	waiting, err := b.Store.ListUndispatched(t.Context(), "acme", b.Clock(), 2*lost)
	require.NoError(t, err)
	require.Len(t, waiting, lost)
	for _, e := range waiting {
		require.Zero(t, e.Round)
		require.Zero(t, e.Group)
		require.Equal(t, model.WorkflowID("acme", e.Key, 0), e.WorkflowID)
	}

	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { exporttest.RunUntil(ctx, b.watcher.Reconciler.Dispatcher) })
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		n, _, err := b.Store.Backlog(t.Context())
		require.NoError(c, err)
		require.Zero(c, n)
	}, time.Minute, 10*time.Millisecond)
	t.Logf("and started in %s", time.Since(began))
	groups := map[int64]int{}
	for page := range slices.Chunk(all, store.MaxPage) {
		exports, err := b.Store.ExportsByID(t.Context(), page)
		require.NoError(t, err)
		for _, e := range exports {
			groups[e.Group]++
		}
	}
	require.Equal(t, lost/groupOf, groups[0], "the first of each goes alone")
	require.Len(t, groups, 1+lost/groupOf)
}

// Members of a lost group are found one after the other, as they are overdue. Those that go on in another group don't make
// it pass for the workflow of those that are still to be found.
func TestNoGroupPassesForALostOne(t *testing.T) {
	t.Parallel()
	b := newOrphanFixture(t)
	var all, again []*model.Export
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		all = nil
		for n := range 4 {
			e := inbox.NewExport("acme", fmt.Sprint("u-", n), []byte(`{}`), b.Clock())
			if _, err := inbox.Insert(tx, e); err != nil {
				return err
			}
			e.Integrations = []string{"hris"}
			all = append(all, e)
		}
		var err error
		if all, err = tx.Group(all, b.Clock()); err != nil {
			return err
		}
		return tx.MarkGroupDispatched(all[0].Group, b.Clock())
	}))
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) (err error) {
		if _, err = tx.Redispatch(all[:3], b.Clock().Add(time.Minute)); err != nil {
			return err
		}
		again, err = tx.Group(all[:3], b.Clock())
		return err
	}))
	require.Len(t, again, 2)
	left, err := b.Store.Export(t.Context(), all[3].ID)
	require.NoError(t, err)
	require.NotEqual(t, left.RoundWorkflowID(0), again[0].RoundWorkflowID(0))
}
