package documents_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/store"
)

// An export is erased while its documents are being fetched: none is kept, and nobody asks for them again.
func TestDocumentsOfAnErasedExportAreNotKept(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	e := b.accept("one", "two", "three", "four", "five", "six")
	var once sync.Once
	b.onAsked = func() {
		once.Do(func() {
			require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
				now, left, err := tx.LockRemainder(e.ID)
				if err != nil {
					return err
				}
				return tx.EraseNow(now, left, b.clock())
			}))
		})
	}
	_, err := b.Fetch(t.Context(), e)
	require.NoError(t, err)
	require.NoError(t, b.Sweep(t.Context(), b.clock().Add(time.Second)))
	require.Zero(t, b.kept())
	asked := b.asked.Load()
	require.Equal(t, documents.Progress{GivenUp: 6}, b.fetch(e))
	require.Equal(t, asked, b.asked.Load())
}
