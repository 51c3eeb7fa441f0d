package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store/rows"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// However many rows there are, deleting the old ones goes along indexes.
func TestDeletionsReadNoTable(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, err := Open(t.Context(), without(address, "seqscan"), Options{})
		require.NoError(t, err)
		defer db.Close()
		now := rows.Micros(time.Now())
		all := []asked{{deleteAudit, []any{now}}, {deleteRedeliveries, []any{now}}}
		in, args := oneOf([]int64{1, 2, 3})
		for _, q := range deletions(in) {
			all = append(all, asked{q, args})
		}
		for _, one := range all {
			for _, step := range plan(t, db, one.q, one.args...) {
				require.NotRegexp(t, `Seq Scan|^SCAN [a-z_]+$`, step, one.q)
			}
		}
	})
}
