package documents

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNobodyTakesAllPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p places
		var id int64
		// hang takes as many places as a tenant gets.
		hang := func(tenant string) (n int) {
			for ; ; n++ {
				id++
				if _, ok := p.acquire(t.Context(), tenant, id, time.Second); !ok {
					return n
				}
			}
		}
		require.Equal(t, exportsAtOnce/2, hang("acme"))
		require.Equal(t, exportsAtOnce/4, hang("globex"))
		for n := range 4 {
			require.Positive(t, hang(fmt.Sprint("another-", n)),
				"the last of so few tenants finds one, however long the first have had theirs")
		}
	})
}

func TestAnExportHasOnePlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p places
		leave, ok := p.acquire(t.Context(), "acme", 1, 0)
		require.True(t, ok)
		_, ok = p.acquire(t.Context(), "acme", 1, time.Second)
		require.False(t, ok)
		time.AfterFunc(time.Second, leave)
		leave, ok = p.acquire(t.Context(), "acme", 1, time.Minute)
		require.True(t, ok, "the other one is through")
		leave()
		require.Zero(t, p.pool.Used())
	})
}

// Who found no place and went away is none that has one.
func TestAPlaceThatWasNotFoundIsFoundLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p places
		var leave func()
		for n := range exportsAtOnce / 2 {
			var ok bool
			leave, ok = p.acquire(t.Context(), "acme", int64(n), 0)
			require.True(t, ok)
		}
		_, ok := p.acquire(t.Context(), "acme", 100, time.Second)
		require.False(t, ok)
		time.AfterFunc(time.Second, leave)
		_, ok = p.acquire(t.Context(), "acme", 100, time.Minute)
		require.True(t, ok)
	})
}
