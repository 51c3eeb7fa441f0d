package inbox_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// each runs a test on each kind of database.
func each(t *testing.T, test func(t *testing.T, db *store.DB)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, address string) {
		db, err := store.Open(t.Context(), address, store.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		test(t, db)
	})
}

func accept(t *testing.T, db *store.DB, key, body string, at time.Time) inbox.Result {
	t.Helper()
	res, err := inbox.Accept(t.Context(), db, inbox.Arrive("acme", key, []byte(body), at))
	require.NoError(t, err)
	return res
}

func TestAcceptedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		first := accept(t, db, "u-1", "body", noon)
		require.Equal(t, inbox.Accepted, first.Verdict)
		again := accept(t, db, "u-1", "body", noon.Add(time.Hour))
		require.Equal(t, inbox.Result{Verdict: inbox.Repeated, Receipt: first.Receipt, ReceivedAt: noon}, again)
		require.Equal(t, inbox.Conflicting, accept(t, db, "u-1", "other", noon).Verdict)
		renamed := accept(t, db, "u-2", "body", noon)
		require.Equal(t, inbox.Accepted, renamed.Verdict)
		require.NotEqual(t, first.Receipt, renamed.Receipt)
	})
}

func TestManyAtOnceAreOne(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		results := make([]inbox.Result, 32)
		var group sync.WaitGroup
		for n := range results {
			group.Go(func() {
				var err error
				results[n], err = inbox.Accept(t.Context(), db, inbox.Arrive("acme", "u-1", []byte("body"), noon))
				require.NoError(t, err)
			})
		}
		group.Wait()
		accepted := 0
		for _, r := range results {
			if r.Verdict == inbox.Accepted {
				accepted++
			} else {
				require.Equal(t, inbox.Repeated, r.Verdict)
			}
			require.Equal(t, results[0].Receipt, r.Receipt)
		}
		require.Equal(t, 1, accepted)
	})
}

func TestBodyStandsInForItsKeyForTenMinutes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		first := accept(t, db, "", "body", noon)
		require.Equal(t, inbox.Accepted, first.Verdict)
		require.Equal(t, inbox.Accepted, accept(t, db, "", "other", noon).Verdict)
		again := accept(t, db, "", "body", noon.Add(hiring.UnkeyedWindow-time.Second))
		require.Equal(t, inbox.Repeated, again.Verdict)
		require.Equal(t, first.Receipt, again.Receipt)
		require.Equal(t, inbox.Accepted, accept(t, db, "", "body", noon.Add(hiring.UnkeyedWindow)).Verdict)
	})
}

func TestWorkflowIDIsWrittenWithTheExport(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		accept(t, db, "a/b c", "body", noon)
		e, err := db.ExportByKey(t.Context(), "acme", "a/b c")
		require.NoError(t, err)
		require.Equal(t, "export/acme/a%2Fb%20c", e.WorkflowID)
	})
}

func TestBodiesAreRememberedByTenant(t *testing.T) {
	t.Parallel()
	b := inbox.NewBodies()
	one := inbox.Arrive("acme", "u-1", []byte("body"), noon)
	require.False(t, b.Again(one))
	require.True(t, b.Again(inbox.Arrive("acme", "u-2", []byte("body"), noon)))
	require.False(t, b.Again(inbox.Arrive("acme", "u-3", []byte("other"), noon)))
	require.False(t, b.Again(inbox.Arrive("globex", "u-4", []byte("body"), noon)))
}
