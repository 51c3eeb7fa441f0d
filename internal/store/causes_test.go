package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// The causes count each attempt that was not received, also of what was delivered in the end, by what was answered.
func TestCausesOfFailures(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		attempts := func(e *model.Export, integration string, at time.Time, statuses ...int) {
			require.True(t, insert(t, db, e))
			write(t, db, func(tx *store.Tx) error {
				d := &model.Delivery{ExportID: e.ID, Tenant: e.Tenant, Integration: integration, Outcome: model.Retrying,
					Attempts: len(statuses), CreatedAt: noon, UpdatedAt: at.Add(time.Hour)}
				if statuses[len(statuses)-1] == 200 {
					d.Outcome = model.Delivered
				}
				if err := tx.UpsertDelivery(d); err != nil {
					return err
				}
				for n, status := range statuses {
					a := &model.Attempt{DeliveryID: d.ID, StartedAt: at.Add(time.Duration(n) * time.Minute), Status: status}
					if status != 200 {
						a.Error, a.Answer = fmt.Sprint("answered ", status), []byte(fmt.Sprint(e.Key, " ", n))
					}
					if err := tx.InsertAttempt(a); err != nil {
						return err
					}
				}
				return nil
			})
		}
		attempts(export("acme", "u-1", "b"), "hris", noon, 200)
		attempts(export("acme", "u-2", "b"), "hris", noon.Add(time.Second), 503, 503, 200)
		attempts(export("acme", "u-3", "b"), "hris", noon.Add(-time.Minute), 503, 503, 422, 503)
		attempts(export("acme", "u-4", "b"), "crm", noon, 500)
		attempts(export("acme", "u-5", "b"), "hris", noon.Add(-48*time.Hour), 401)

		causes, more, err := db.ListCauses(t.Context(), hris, noon)
		require.NoError(t, err)
		require.False(t, more)
		require.Len(t, causes, 2)
		require.Equal(t, []any{503, "answered 503", int64(4), int64(2)},
			[]any{causes[0].Status, causes[0].Error, causes[0].Attempts, causes[0].Exports})
		require.Equal(t, []time.Time{noon, noon.Add(2 * time.Minute)}, []time.Time{causes[0].First, causes[0].Last})
		require.Equal(t, "u-3 3", string(causes[0].Sample.Answer))
		require.Equal(t, "u-3", causes[0].SampleKey)
		require.Equal(t, []any{422, int64(1), int64(1), "u-3 2"},
			[]any{causes[1].Status, causes[1].Attempts, causes[1].Exports, string(causes[1].Sample.Answer)})

		// Partners that answer something else each time do not make the list long.
		statuses := make([]int, store.MaxCauses+1)
		for n := range statuses {
			statuses[n] = 500 + n
		}
		attempts(export("acme", "u-6", "b"), "crm", noon.Add(time.Minute), statuses...)
		causes, more, err = db.ListCauses(t.Context(), model.Place{Tenant: "acme", Integration: "crm"}, noon)
		require.NoError(t, err)
		require.True(t, more)
		require.Len(t, causes, store.MaxCauses)
		require.Equal(t, 500+store.MaxCauses, causes[0].Status, "the last one first")
	})
}
