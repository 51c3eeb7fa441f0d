package secretuse_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/secretuse"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	_ "github.com/hiregate/hiregate/internal/store/storetest/tables"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// What a tenant's requests are signed with is stored by tenant and secret, at most once a minute for each, and those
// that match none are counted, with one line in the log. Two nodes add up.
func TestUsesAreStoredAtABoundedPace(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, err := store.Open(t.Context(), address, store.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		core, logged := observer.New(zapcore.WarnLevel)
		node := func() *secretuse.Notes {
			return secretuse.New(func() *store.DB { return db }, new(config.InForce), zap.New(core))
		}
		one, other := node(), node()
		acme := &model.Tenant{Name: "acme", Secrets: []model.Secret{"old", "new"}}
		globex := &model.Tenant{Name: "globex", Secrets: []model.Secret{"old"}}
		flush := func(n *secretuse.Notes, at time.Time, gap time.Duration) {
			require.NoError(t, n.Flush(t.Context(), at, gap))
		}
		uses := func(of *model.Tenant) []time.Time {
			all, err := db.SecretUses(t.Context(), of.Name)
			require.NoError(t, err)
			every, err := db.ListSecretUses(t.Context())
			require.NoError(t, err)
			require.Equal(t, every.Of(of), all.Of(of))
			return all.Of(of)
		}
		refused := func() (int64, time.Time) {
			n, err := db.RefusedSignatures(t.Context(), "acme")
			require.NoError(t, err)
			return n.Count, n.Last
		}
		at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

		require.Equal(t, []time.Time{{}, {}}, uses(acme))
		for second := range 3 {
			one.Note(acme, 1, at(second))
			one.Note(acme, 0, at(second))
		}
		flush(one, at(2), time.Minute)
		require.Equal(t, []time.Time{at(2), {}}, uses(acme))
		require.Equal(t, []time.Time{{}}, uses(globex), "the same text is another secret elsewhere")
		count, last := refused()
		require.Equal(t, []any{int64(3), at(2)}, []any{count, last})

		one.Note(acme, 1, at(30))
		one.Note(acme, 2, at(30))
		one.Note(acme, 0, at(30))
		flush(one, at(30), time.Minute)
		require.Equal(t, []time.Time{at(2), at(30)}, uses(acme), "only what was not stored within the minute")
		flush(one, at(62), time.Minute)
		require.Equal(t, []time.Time{at(30), at(30)}, uses(acme))
		count, _ = refused()
		require.EqualValues(t, 4, count)

		other.Note(acme, 1, at(20))
		other.Note(acme, 0, at(20))
		flush(other, at(63), 0)
		require.Equal(t, []time.Time{at(30), at(30)}, uses(acme), "an earlier use of another node")
		count, last = refused()
		require.Equal(t, []any{int64(5), at(30)}, []any{count, last})

		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			removed := *acme
			if err := tx.UpsertTenant(&removed, noon); err != nil {
				return err
			}
			return tx.DeleteTenant(&removed)
		}))
		require.Equal(t, []time.Time{{}, {}}, uses(acme), "another tenant of the name would get them")
		count, _ = refused()
		require.Zero(t, count)

		flush(one, at(200), time.Minute)
		lines := logged.All()
		require.Len(t, lines, 3)
		for n, requests := range []int64{3, 1, 1} {
			require.Equal(t, map[string]any{"tenant": "acme", "requests": requests}, lines[n].ContextMap())
		}
	})
}

// What the database does not take is noted still, and nothing twice.
func TestUsesOutliveADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	address := storetest.SQLite(t)
	db, err := store.Open(t.Context(), address, store.Options{})
	require.NoError(t, err)
	n := secretuse.New(func() *store.DB { return db }, new(config.InForce), zap.NewNop())
	acme := &model.Tenant{Name: "acme", Secrets: []model.Secret{"s"}}
	n.Note(acme, 1, noon)
	n.Note(acme, 0, noon)
	require.NoError(t, db.Close())
	require.Error(t, n.Flush(t.Context(), noon, time.Minute))
	db, err = store.Open(t.Context(), address, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for range 2 {
		require.NoError(t, n.Flush(t.Context(), noon, 0))
	}
	uses, err := db.SecretUses(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, []time.Time{noon}, uses.Of(acme))
	refused, err := db.RefusedSignatures(t.Context(), "acme")
	require.NoError(t, err)
	require.EqualValues(t, 1, refused.Count)
}
