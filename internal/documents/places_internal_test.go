package documents

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
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
				if _, ok := p.take(t.Context(), tenant, id, time.Second); !ok {
					return n
				}
			}
		}
		require.Equal(t, exportsAtOnce/2, hang("acme"))
		require.Equal(t, exportsAtOnce/4, hang("globex"))
		for n := range 4 {
			require.Positive(t, hang(fmt.Sprint("another-", n)), "the last of so few tenants finds one, however long the first have had theirs")
		}
	})
}

func TestPlacesAreGivenInTheOrderOfWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p places
		var leave []func()
		for n := range exportsAtOnce / 2 {
			one, ok := p.take(t.Context(), "acme", int64(n), 0)
			require.True(t, ok)
			leave = append(leave, one)
		}
		began := time.Now()
		_, ok := p.take(t.Context(), "acme", 100, 2*time.Second)
		require.False(t, ok)
		require.Equal(t, 2*time.Second, time.Since(began))

		entered := make(chan int64, 2)
		for _, export := range []int64{101, 102} {
			go func() {
				if _, ok := p.take(t.Context(), "acme", export, time.Minute); ok {
					entered <- export
				}
			}()
			synctest.Wait()
		}
		for n, export := range []int64{101, 102} {
			leave[n]()
			synctest.Wait()
			require.Len(t, entered, 1)
			require.Equal(t, export, <-entered)
		}
		require.Empty(t, p.waiting, "who went away is no longer waited for")

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, ok = p.take(ctx, "acme", 103, time.Minute)
		require.False(t, ok)
		_, ok = p.take(t.Context(), "globex", 104, 0)
		require.True(t, ok)
	})
}

func TestAnExportHasOnePlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p places
		leave, ok := p.take(t.Context(), "acme", 1, 0)
		require.True(t, ok)
		_, ok = p.take(t.Context(), "acme", 1, time.Second)
		require.False(t, ok)
		time.AfterFunc(time.Second, leave)
		_, ok = p.take(t.Context(), "acme", 1, time.Minute)
		require.True(t, ok, "the other one is through")
	})
}

// Whatever comes and goes: no more places are taken than there are, and who has none gets one while any is free.
func TestPlacesAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var p places
		type held struct {
			tenant string
			leave  func()
		}
		var all []held
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // nobody waits
		for export := range rapid.IntRange(1, 300).Draw(t, "steps") {
			if len(all) > 0 && rapid.IntRange(0, 3).Draw(t, "leaves") == 0 {
				n := rapid.IntRange(0, len(all)-1).Draw(t, "who")
				all[n].leave()
				all = append(all[:n], all[n+1:]...)
				continue
			}
			tenant := fmt.Sprint("tenant-", rapid.IntRange(0, 9).Draw(t, "tenant"))
			has := 0
			for _, one := range all {
				if one.tenant == tenant {
					has++
				}
			}
			leave, ok := p.take(ctx, tenant, int64(export), time.Hour)
			require.Equal(t, has < exportsAtOnce-len(all), ok)
			if ok {
				all = append(all, held{tenant, leave})
			}
			require.LessOrEqual(t, len(all), exportsAtOnce)
		}
		for _, one := range all {
			one.leave()
		}
		require.Empty(t, p.exports)
		require.Empty(t, p.held)
		require.Empty(t, p.waiting)
	})
}
