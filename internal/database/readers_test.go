package database

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store/storetest"
)

// SQLite's readers keep queries prepared, as many as there is room for, and run the others as well, beside each other.
func TestQueriesStayPrepared(t *testing.T) {
	t.Parallel()
	for address, kept := range map[string]int{"sqlite://" + t.TempDir() + "/hiregate.db": mostPrepared, storetest.Postgres(t): 0} {
		db := open(t, address)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for n := range mostPrepared + 20 {
					var read int
					err := db.Query(t.Context(), func(r Row) error { return r.Scan(&read) }, fmt.Sprintf(`SELECT %d`, n))
					if err != nil || read != n {
						t.Errorf("%d was read as %d: %v", n, read, err)
					}
				}
			})
		}
		group.Wait()
		require.InDelta(t, kept, len(db.reads.prepared), 8) // several may find the last place free
		require.Error(t, db.Query(t.Context(), func(Row) error { return nil }, `SELECT nothing`))
	}
}
