package inbox_test

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"

	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	_ "github.com/hiregate/hiregate/internal/store/storetest/tables"
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
	res, err := inbox.Accept(t.Context(), db, inbox.NewExport("acme", key, []byte(body), at))
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
		require.Equal(t, inbox.Result{Verdict: inbox.Conflicting, ReceivedAt: noon},
			accept(t, db, "u-1", "other", noon.Add(time.Hour)))
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
				results[n], err = inbox.Accept(t.Context(), db, inbox.NewExport("acme", "u-1", []byte("body"), noon))
				assert.NoError(t, err)
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
		again := accept(t, db, "", "body", noon.Add(model.UnkeyedWindow-time.Second))
		require.Equal(t, inbox.Repeated, again.Verdict)
		require.Equal(t, first.Receipt, again.Receipt)
		require.Equal(t, inbox.Accepted, accept(t, db, "", "body", noon.Add(model.UnkeyedWindow)).Verdict)
	})
}

// Two tenants may send the same body, each without a key, and each more than once.
func TestBodyStandsInForItsKeyOfItsTenant(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		receipts := map[string]string{}
		for _, tenant := range []string{"globex", "acme", "initech", "globex", "acme", "initech"} {
			res, err := inbox.Accept(t.Context(), db, inbox.NewExport(tenant, "", []byte("body"),
				noon.Add(time.Duration(len(receipts))*time.Second)))
			require.NoError(t, err)
			if receipts[tenant] == "" {
				require.Equal(t, inbox.Accepted, res.Verdict, tenant)
				receipts[tenant] = res.Receipt
			}
			require.Equal(t, receipts[tenant], res.Receipt, tenant)
		}
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

// An id is any text, and PostgreSQL takes neither all of it nor any length of it into an index.
func TestAnyCandidateIDIsTaken(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		e := inbox.NewExport("acme", "u-1", []byte("body"), noon)
		for e.CandidateID = "c\x00"; len(e.CandidateID) < 10_000; {
			e.CandidateID += rand.Text() // nothing that could be packed
		}
		id := e.CandidateID
		_, err := inbox.Accept(t.Context(), db, e)
		require.NoError(t, err)
		found, _, err := db.ListExports(t.Context(), store.ExportFilter{Tenant: "acme", Candidate: model.CandidateKey(id)})
		require.NoError(t, err)
		require.Len(t, found, 1)
	})
}

// A clock has nanoseconds and a zone; the database does not. What the first is told is what a repeat is told.
func TestReceptionIsToldAlike(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		at := noon.Add(1234 * time.Nanosecond).In(time.FixedZone("", 3600))
		first, again := accept(t, db, "u-1", "body", at), accept(t, db, "u-1", "body", at.Add(time.Minute))
		require.Equal(t, noon.Add(time.Microsecond), first.ReceivedAt)
		require.Equal(t, first.ReceivedAt, again.ReceivedAt)
	})
}

// Two nodes may draw the same id for two exports. The second is not acknowledged, for it is not kept; under another id
// it is.
func TestExportWhoseIDIsTaken(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		first, second := inbox.NewExport("acme", "u-1", []byte("body"), noon),
			inbox.NewExport("acme", "u-2", []byte("body"), noon)
		id := second.ID
		second.ID = first.ID
		_, err := inbox.Accept(t.Context(), db, first)
		require.NoError(t, err)
		_, err = inbox.Accept(t.Context(), db, second)
		require.ErrorIs(t, err, store.ErrUnavailable)
		_, err = db.ExportByKey(t.Context(), "acme", "u-2")
		require.ErrorIs(t, err, store.ErrNotFound)
		second.ID = id
		res, err := inbox.Accept(t.Context(), db, second)
		require.NoError(t, err)
		require.Equal(t, inbox.Accepted, res.Verdict)
	})
}

func TestSixtyFourThousandBodiesAreRemembered(t *testing.T) {
	t.Parallel()
	b := inbox.NewRecentBodies()
	again := func(n uint32) bool {
		e := &model.Export{Tenant: "acme"}
		binary.BigEndian.PutUint32(e.SHA256[:], n)
		return b.Remember(e)
	}
	for n := range uint32(1 << 16) {
		require.False(t, again(n))
	}
	require.True(t, again(0))
	require.False(t, again(1<<16))
	require.False(t, again(0), "there is a bound")
}

func TestBodiesAreRememberedByTenant(t *testing.T) {
	t.Parallel()
	b := inbox.NewRecentBodies()
	one := inbox.NewExport("acme", "u-1", []byte("body"), noon)
	require.False(t, b.Remember(one))
	require.True(t, b.Remember(inbox.NewExport("acme", "u-2", []byte("body"), noon)))
	require.False(t, b.Remember(inbox.NewExport("acme", "u-3", []byte("other"), noon)))
	require.False(t, b.Remember(inbox.NewExport("globex", "u-4", []byte("body"), noon)))
}

// Its documents' addresses end two and a half hours after it arrived, and trying does after 72.
func TestEndsOfWhatArrives(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		accept(t, db, "u-1", "body", noon)
		e, err := db.ExportByKey(t.Context(), "acme", "u-1")
		require.NoError(t, err)
		require.Equal(t, []any{model.Received, noon.Add(2*time.Hour + 30*time.Minute), noon.Add(72 * time.Hour), int64(4)},
			[]any{e.Origin, e.DocumentsTill, e.DeliverTill, e.Size})
	})
}

// An export has its deliveries from its acceptance on, one for each integration; a repeat adds none.
func TestAnExportHasItsDeliveriesAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		accept := func(n int) *model.Export {
			e := inbox.NewExport("acme", fmt.Sprint("u-", n), []byte("body"), noon)
			e.Integrations = []string{"crm", "hris"}
			_, err := inbox.Accept(t.Context(), db, e)
			require.NoError(t, err)
			return e
		}
		var group sync.WaitGroup
		all := make([]*model.Export, 200) // more than one statement inserts
		for n := range all {
			group.Go(func() { all[n] = accept(n) })
		}
		group.Wait()
		accept(0)
		for _, e := range all {
			deliveries, err := db.ListDeliveries(t.Context(), e.ID)
			require.NoError(t, err)
			require.Len(t, deliveries, 2)
			require.Equal(t, []string{"crm", "hris"}, []string{deliveries[0].Integration, deliveries[1].Integration})
			require.Equal(t, model.Pending, deliveries[0].Outcome)
			require.WithinDuration(t, noon, deliveries[0].CreatedAt, 0)
		}
		overdue, err := db.ListOverdue(t.Context(), model.Pending, noon.Add(time.Hour), time.Hour, 0, 10)
		require.NoError(t, err)
		require.Empty(t, overdue, "they wait for Temporal")
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			return tx.MarkDispatched(all[0].ID, 0, noon.Add(50*time.Minute), "crm", "hris")
		}))
		for before, want := range map[time.Duration][]int64{49 * time.Minute: nil, time.Hour: {all[0].ID}} {
			overdue, err := db.ListOverdue(t.Context(), model.Pending, noon.Add(before), time.Hour, 0, 10)
			require.NoError(t, err)
			require.Equal(t, want, overdue)
		}
	})
}
