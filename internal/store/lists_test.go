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

func TestDeliveriesOfAPage(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		var ids []int64
		for _, key := range []string{"u-1", "u-2", "u-3"} {
			e := export("acme", key, key)
			require.True(t, insert(t, db, e))
			ids = append(ids, e.ID)
		}
		put := func(id int64, integration string, round int) {
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
				return tx.UpsertDelivery(&model.Delivery{ExportID: id, Tenant: "acme", Integration: integration, Round: round,
					Outcome: model.Delivered, CreatedAt: noon, UpdatedAt: noon})
			}))
		}
		put(ids[0], "hris", 1)
		put(ids[0], "hris", 0)
		put(ids[0], "crm", 0)
		put(ids[1], "hris", 0)
		put(ids[2], "hris", 0)

		of, err := db.ListDeliveriesOf(t.Context(), ids[:2])
		require.NoError(t, err)
		require.Len(t, of, 2)
		for _, id := range ids[:2] {
			alone, err := db.ListDeliveries(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, alone, of[id])
		}
		of, err = db.ListDeliveriesOf(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, of)
	})
}

func TestStatusesOfAllIntegrations(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		hris := &model.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/acme", Secret: "s"}
		crm := &model.Integration{Tenant: "acme", Name: "crm", URL: "https://crm.example/acme", Secret: "s"}
		disabled := store.IntegrationStatus{State: model.Disabled, Reason: "it answered 410", Attempts: 3, UpdatedAt: noon}
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.UpsertIntegrationStatus(hris, disabled) }))
		edited := *hris
		edited.URL = "https://hr.example/other"

		all, err := db.ListIntegrationStatuses(t.Context())
		require.NoError(t, err)
		require.Equal(t, disabled.Reason, all.Of(hris).Reason)
		for _, i := range []*model.Integration{hris, crm, &edited} {
			alone, err := db.IntegrationStatus(t.Context(), i)
			require.NoError(t, err)
			require.Equal(t, alone, all.Of(i))
		}
		require.Equal(t, model.NotConfigured, all.Of(&edited).State)
	})
}

func TestListIsPagedAndFiltered(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		for n := range 25 {
			e := export("acme", fmt.Sprint(n), "b")
			e.CandidateID = fmt.Sprint("c-", n%5)
			require.True(t, insert(t, db, e))
			outcome := model.Delivered
			if n%10 == 0 {
				outcome = model.Retrying
			}
			for _, integration := range []string{"hris", "payroll"} {
				require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
					return tx.UpsertDelivery(&model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: integration, Outcome: outcome, CreatedAt: noon, UpdatedAt: noon})
				}))
			}
		}
		require.True(t, insert(t, db, export("globex", "x", "b")))
		list := func(f store.ExportFilter) (keys []string) {
			for {
				page, next, err := db.ListExports(t.Context(), f)
				require.NoError(t, err)
				require.LessOrEqual(t, len(page), f.Limit)
				for _, e := range page {
					keys = append(keys, e.Key)
				}
				if next == 0 {
					return keys
				}
				f.Cursor = next
			}
		}
		require.Len(t, list(store.ExportFilter{Limit: 10}), 26)
		require.Len(t, list(store.ExportFilter{Tenant: "acme", Limit: 7}), 25)
		require.Equal(t, []string{"20", "10", "0"}, list(store.ExportFilter{Tenant: "acme", Outcome: model.Retrying, Limit: 2}))
		require.Equal(t, []string{"20", "10", "0"}, list(store.ExportFilter{Tenant: "acme", Integration: "hris", Outcome: model.Retrying, Limit: 2}))
		require.Equal(t, []string{"20", "10", "0"}, list(store.ExportFilter{Outcome: model.Retrying, Limit: 2}))
		require.Equal(t, []string{"20", "10", "0"}, list(store.ExportFilter{Outcome: model.Retrying, Limit: 1}), "a page is of the latest")
		require.Equal(t, []string{"0", "10", "20"}, list(store.ExportFilter{Outcome: model.Retrying, Limit: 1, Oldest: true}))
		require.Equal(t, "0", list(store.ExportFilter{Tenant: "acme", Limit: 7, Oldest: true})[0])
		counted := func(f store.ExportFilter) int64 {
			n, more, err := db.CountExports(t.Context(), f)
			require.NoError(t, err)
			require.False(t, more)
			return n
		}
		require.EqualValues(t, 26, counted(store.ExportFilter{Limit: 1}))
		require.EqualValues(t, 3, counted(store.ExportFilter{Tenant: "acme", Integration: "hris", Outcome: model.Retrying}))
		redelivered, err := db.ExportByKey(t.Context(), "acme", "10")
		require.NoError(t, err)
		for n, integration := range []string{"hris", "payroll"} {
			require.Len(t, list(store.ExportFilter{Tenant: "acme", Outcome: model.Retrying, Limit: 2}), 3, "%d of its two deliveries are in a later round", n)
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
				return tx.UpsertDelivery(&model.Delivery{ExportID: redelivered.ID, Tenant: "acme", Integration: integration, Round: 1, Outcome: model.Delivered, CreatedAt: noon, UpdatedAt: noon})
			}))
		}
		require.Equal(t, []string{"20", "0"}, list(store.ExportFilter{Tenant: "acme", Outcome: model.Retrying, Limit: 2}), "an earlier round was taken for the present state")
		require.Equal(t, []string{"23", "18", "13", "8", "3"}, list(store.ExportFilter{Tenant: "acme", Candidate: "c-3", Limit: 2}))
		require.Equal(t, []string{"20", "0"}, list(store.ExportFilter{Tenant: "acme", Candidate: "c-0", Outcome: model.Retrying, Limit: 2}))
		require.Empty(t, list(store.ExportFilter{Tenant: "acme", Candidate: "c-3", Outcome: model.Retrying, Limit: 2}))
	})
}

// A list of some hours has what was received in them, the first moment included and the last one not.
func TestListOfSomeHours(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		for n := range 4 {
			e := export("acme", fmt.Sprint(n), "b")
			e.ID = model.FirstID(noon.Add(time.Duration(n) * time.Hour))
			require.True(t, insert(t, db, e))
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
				return tx.UpsertDelivery(&model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Delivered, CreatedAt: noon, UpdatedAt: noon})
			}))
		}
		for _, f := range []store.ExportFilter{{Tenant: "acme"}, {Tenant: "acme", Integration: "hris"}} {
			f.Since, f.Until = noon.Add(time.Hour), noon.Add(3*time.Hour)
			page, next, err := db.ListExports(t.Context(), f)
			require.NoError(t, err)
			require.Zero(t, next)
			var keys []string
			for _, e := range page {
				keys = append(keys, e.Key)
			}
			require.Equal(t, []string{"2", "1"}, keys)
		}
	})
}

// A list of several tenants is the list of all without the others, page by page.
func TestListOfSeveralTenants(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		tenants := []string{"acme", "globex", "initech", "umbrella"}
		for n := range 60 {
			e := export(tenants[n*n%7%len(tenants)], fmt.Sprint(n), "b")
			require.True(t, insert(t, db, e))
			outcome := []model.Outcome{model.Delivered, model.Retrying, model.Failed}[n%3]
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
				return tx.UpsertDelivery(&model.Delivery{ExportID: e.ID, Tenant: e.Tenant, Integration: "hris", Outcome: outcome,
					Fault: model.ClassPartnerFault, Attempts: 1, Status: 503, CreatedAt: noon, UpdatedAt: noon})
			}))
		}
		list := func(f store.ExportFilter) (keys []string) {
			for {
				page, next, err := db.ListExports(t.Context(), f)
				require.NoError(t, err)
				for _, e := range page {
					if f.Tenants != nil || e.Tenant != "acme" && e.Tenant != "umbrella" {
						keys = append(keys, e.Key)
					}
				}
				if next == 0 {
					return keys
				}
				f.Cursor = next
			}
		}
		for _, f := range []store.ExportFilter{{}, {Outcome: model.Retrying}, {Outcome: model.Failed, Class: model.ClassPartnerFault},
			{Undelivered: true}, {Status: "5xx"}, {Oldest: true}, {Oldest: true, Outcome: model.Retrying}} {
			all := list(f)
			require.NotEmpty(t, all, "%+v", f)
			for _, limit := range []int{1, 2, 7, 100} {
				f.Limit, f.Tenants = limit, []string{"globex", "nobody", "a", "b", "c", "initech"}
				require.Equal(t, all, list(f), "%+v", f)
			}
			n, more, err := db.CountExports(t.Context(), f)
			require.NoError(t, err)
			require.False(t, more)
			require.EqualValues(t, len(all), n)
			f.Tenants = []string{}
			require.Empty(t, list(f))
			n, _, err = db.CountExports(t.Context(), f)
			require.NoError(t, err)
			require.Zero(t, n)
		}
	})
}
