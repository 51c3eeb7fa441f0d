package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// A text is found in the last answers alone, in capitals or not, together with all other filters, and page by page.
func TestSearchAnswers(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		names := map[int64]string{}
		put := func(tenant, name string, outcome model.Outcome, status int, answers ...string) {
			e := export(tenant, name, name)
			require.True(t, insert(t, db, e))
			names[e.ID] = name
			d := &model.Delivery{ExportID: e.ID, Tenant: tenant, Integration: "hris", Outcome: outcome, Attempts: len(answers),
				Status: status, CreatedAt: noon, UpdatedAt: noon}
			if outcome != model.Delivered {
				d.Fault = model.ClassPartnerFault
			}
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
				if err := tx.UpsertDelivery(d); err != nil {
					return err
				}
				for _, answer := range answers {
					a := &model.Attempt{DeliveryID: d.ID, StartedAt: noon, Status: status, Error: "refused", Answer: []byte(answer)}
					if err := tx.InsertAttempt(a); err != nil {
						return err
					}
				}
				return nil
			}))
		}
		put("acme", "taken", model.Failed, 422, `{"error":"Employee number is taken"}`)
		put("acme", "also", model.Retrying, 500, "busy", "EMPLOYEE NUMBER is taken")
		put("acme", "former", model.Retrying, 500, "employee number is taken", "busy")
		put("acme", "received", model.Delivered, 200, "employee number is taken")
		put("acme", "silent", model.Retrying, 0, "")
		put("globex", "theirs", model.Failed, 422, "employee number is taken")

		sought := func(text string, f store.ExportFilter) (all []string, looked int) {
			for f.Limit = 1; ; {
				s, err := db.SearchAnswers(t.Context(), f, text)
				require.NoError(t, err)
				for _, e := range s.Exports {
					all = append(all, names[e.ID])
				}
				looked += s.Looked
				if f.Cursor = s.Next; s.Next == 0 {
					return all, looked
				}
			}
		}
		for _, one := range []struct {
			text   string
			filter store.ExportFilter
			want   []string
			looked int
		}{
			{"employee NUMBER", store.ExportFilter{}, []string{"theirs", "also", "taken"}, 5},
			{"employee number", store.ExportFilter{Tenant: "acme", Oldest: true}, []string{"taken", "also"}, 4},
			{"employee number", store.ExportFilter{Tenant: "acme", Status: "422"}, []string{"taken"}, 1},
			{"employee number", store.ExportFilter{Tenant: "acme", Integration: "hris", Attempts: 2}, []string{"also"}, 2},
			{"employee number", store.ExportFilter{Tenant: "acme", Integration: "crm"}, nil, 0},
			{"somebody", store.ExportFilter{}, nil, 5},
		} {
			all, looked := sought(one.text, one.filter)
			require.Equal(t, one.want, all, fmt.Sprint(one))
			require.Equal(t, one.looked, looked, fmt.Sprint(one))
		}
	})
}
