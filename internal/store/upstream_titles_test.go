package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// The titles of a feed replace those before, and are of its address alone.
func TestTitlesOfAFeed(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		feed, other := []byte("feed"), []byte("other")
		requireTitle := func(want, job string, of []byte, at time.Time) {
			t.Helper()
			title, read, err := db.UpstreamTitle(t.Context(), "acme", job, of)
			require.NoError(t, err)
			require.Equal(t, want, title)
			require.Equal(t, at, read)
		}
		requireTitle("", "J-1", feed, time.Time{})
		titles := map[string]string{}
		for n := range 250 {
			titles[fmt.Sprint("J-", n)] = fmt.Sprint("Nurse ", n)
		}
		update := func(at time.Time) {
			t.Helper()
			write(t, db, func(tx *store.Tx) error { return tx.UpdateUpstreamTitles("acme", feed, titles, at) })
		}
		update(noon)
		requireTitle("Nurse 249", "J-249", feed, noon)
		requireTitle("", "J-250", feed, noon)
		requireTitle("", "J-249", other, time.Time{})
		delete(titles, "J-249")
		titles["J-1"] = "Night nurse"
		update(noon.Add(time.Hour))
		requireTitle("", "J-249", feed, noon.Add(time.Hour))
		requireTitle("Night nurse", "J-1", feed, noon.Add(time.Hour))
		requireTitle("Nurse 2", "J-2", feed, noon.Add(time.Hour))
		write(t, db, func(tx *store.Tx) error { return tx.DeleteUpstreamTitles(noon.Add(time.Minute)) })
		requireTitle("Nurse 2", "J-2", feed, noon.Add(time.Hour))
		write(t, db, func(tx *store.Tx) error { return tx.DeleteUpstreamTitles(noon.Add(2 * time.Hour)) })
		requireTitle("", "J-2", feed, time.Time{})
	})
}
