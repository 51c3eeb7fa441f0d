package retention_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/erasure"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// What a candidate's erasure finds being triggered holds what was stored before: it is erased as well.
func TestExportTriggeredWhileAPersonIsErased(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		b := newFixture(t, address)
		list, err := erasure.Open(filepath.Join(t.TempDir(), "erasures"))
		require.NoError(t, err)
		b.List, b.Archive = list, b.archive
		var e *model.Export
		b.Now = func() time.Time {
			at := b.now
			if e == nil { // between the entry in the list and the transaction that deletes the candidate
				b.now = b.now.Add(time.Second)
				e = inbox.NewExport("acme", "u-1", []byte("{}"), b.now)
				e.Origin, e.CandidateID = model.Triggered, "c-1"
				_, err := inbox.Accept(t.Context(), b.Store, e)
				require.NoError(t, err)
			}
			return at
		}
		p, err := b.ErasePerson(t.Context(), "acme", "c-1")
		require.NoError(t, err)
		require.Len(t, p.Exports, 1)
		require.ErrorIs(t, b.Store.LoadBody(t.Context(), e), store.ErrNotFound)
	})
}
