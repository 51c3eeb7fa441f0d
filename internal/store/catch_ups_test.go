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

// waits inserts an export whose delivery to hris waits for its next attempt; change changes the delivery.
func waits(t *testing.T, db *store.DB, key string, change func(*model.Export, *model.Delivery)) *model.Delivery {
	t.Helper()
	e := export("acme", key, "b")
	d := &model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Retrying, Attempts: 3,
		Fault: model.ClassPartnerFault, NextAt: noon.Add(time.Hour), CreatedAt: noon, UpdatedAt: noon}
	change(e, d)
	require.True(t, insert(t, db, e))
	write(t, db, func(tx *store.Tx) error { return tx.UpsertDelivery(d) })
	return d
}

// A catch-up makes what waits due in pages, by export, and comes to nothing that was attempted since it began. Data
// faults are for those that somebody asked for; nothing else that waits is touched.
func TestCatchUpMakesDueWhatWaits(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		none := func(*model.Export, *model.Delivery) {}
		var all []*model.Delivery
		for n := range 5 {
			all = append(all, waits(t, db, fmt.Sprint("u-", n), none))
		}
		refused := waits(t, db, "u-refused", func(_ *model.Export, d *model.Delivery) { d.Fault = model.ClassDataFault })
		for name, change := range map[string]func(*model.Export, *model.Delivery){
			"held":        func(_ *model.Export, d *model.Delivery) { d.Outcome, d.HeldSince = model.Held, noon },
			"delivered":   func(_ *model.Export, d *model.Delivery) { d.Outcome = model.Delivered },
			"quarantined": func(e *model.Export, _ *model.Delivery) { e.Quarantined, e.Findings = true, []byte(`[]`) },
			"elsewhere":   func(_ *model.Export, d *model.Delivery) { d.Integration = "crm" },
			"attempted":   func(_ *model.Export, d *model.Delivery) { d.UpdatedAt = noon.Add(2 * time.Minute) },
		} {
			waits(t, db, name, change)
		}
		began, now := noon.Add(time.Minute), noon.Add(3*time.Minute)
		left, more, err := db.CountWaiting(t.Context(), hris, began)
		require.NoError(t, err)
		require.False(t, more)
		require.EqualValues(t, 6, left)

		due := func(c *model.CatchUp, limit int) (ids []int64) {
			write(t, db, func(tx *store.Tx) error {
				ids = nil
				page, err := tx.MakeDue(c, limit, now)
				for _, d := range page {
					ids = append(ids, d.ExportID)
				}
				return err
			})
			return ids
		}
		c := &model.CatchUp{Place: hris, BeganAt: began}
		require.Equal(t, []int64{all[0].ExportID, all[1].ExportID, all[2].ExportID}, due(c, 3))
		again, err := db.DeliveriesByID(t.Context(), all[:4])
		require.NoError(t, err)
		for n, d := range again {
			require.Equal(t, n < 3, d.NextAt.Equal(now), d.NextAt)
			require.Zero(t, d.AskedAt)
			require.Equal(t, noon, d.UpdatedAt, "whoever attempts it just now goes on")
		}
		c.After, c.Before = all[2].ExportID, all[4].ExportID
		require.Equal(t, []int64{all[3].ExportID}, due(c, 3), "it was told to come no further")
		c.Before = 0
		require.Equal(t, []int64{all[3].ExportID, all[4].ExportID}, due(c, 3))
		c.Asked = true
		require.Equal(t, []int64{all[3].ExportID, all[4].ExportID, refused.ExportID}, due(c, 10))
		again, err = db.DeliveriesByID(t.Context(), []*model.Delivery{refused})
		require.NoError(t, err)
		require.Equal(t, now, again[0].AskedAt)
		require.Equal(t, noon.Add(time.Hour), again[0].NextAt, "an attempt by hand leaves the planned one")
	})
}

// One node works on a catch-up, another one after it died; and none on one that another one followed.
func TestOneNodeWorksOnACatchUp(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		changed := func(fn func(*store.Tx) (bool, error)) (done bool) {
			write(t, db, func(tx *store.Tx) (err error) { done, err = fn(tx); return err })
			return done
		}
		recovered := func(before time.Time) []model.Place {
			places, err := db.ListRecovered(t.Context(), before)
			require.NoError(t, err)
			return places
		}
		count(t, db, hris, noon, model.ClassPartnerFault, model.ClassPartnerFault, model.ClassPartnerFault)
		require.Empty(t, recovered(noon))
		count(t, db, hris, noon.Add(time.Minute), "")
		require.Equal(t, []model.Place{hris}, recovered(noon))

		now := noon.Add(2 * time.Minute)
		c := &model.CatchUp{Place: hris, BeganAt: now}
		begin := func(tx *store.Tx) (bool, error) { return tx.BeginCatchUp(c, noon, now) }
		require.True(t, changed(begin))
		require.False(t, changed(begin), "another node began it")
		require.Empty(t, recovered(now.Add(time.Hour)), "it is running")
		claim := func(at time.Time) bool {
			return changed(func(tx *store.Tx) (bool, error) { return tx.ClaimCatchUp(c, at, at.Add(30*time.Second)) })
		}
		require.True(t, claim(now.Add(time.Second)))
		require.False(t, claim(now.Add(2*time.Second)))
		unclaimed, err := db.ListUnclaimedCatchUps(t.Context(), now.Add(2*time.Second))
		require.NoError(t, err)
		require.Empty(t, unclaimed)
		c.After, c.Received, c.Failed, c.Reason = 7, 5, 2, "it fails again"
		update := func(c *model.CatchUp) bool {
			return changed(func(tx *store.Tx) (bool, error) { return tx.UpdateCatchUp(c, now.Add(20*time.Second)) })
		}
		require.True(t, update(c))
		unclaimed, err = db.ListUnclaimedCatchUps(t.Context(), now.Add(time.Minute))
		require.NoError(t, err)
		require.Equal(t, []*model.CatchUp{c}, unclaimed)
		require.True(t, claim(now.Add(time.Minute)))

		asked := &model.CatchUp{Place: hris, BeganAt: now.Add(time.Minute), Asked: true}
		require.True(t, changed(func(tx *store.Tx) (bool, error) { return tx.BeginCatchUp(asked, time.Time{}, now) }))
		require.False(t, update(c), "another one began")
		last, err := db.CatchUp(t.Context(), hris)
		require.NoError(t, err)
		require.Equal(t, asked, last)
		askedOnes, err := db.ListAskedCatchUps(t.Context())
		require.NoError(t, err)
		require.Equal(t, map[model.Place]*model.CatchUp{hris: asked}, askedOnes)
		asked.EndedAt = now.Add(2 * time.Minute)
		require.True(t, update(asked))
		require.False(t, update(asked), "it has ended")
		require.Empty(t, recovered(now.Add(time.Hour)), "it began after the recovery")
		count(t, db, hris, now.Add(3*time.Minute), model.ClassPartnerFault, model.ClassPartnerFault, model.ClassPartnerFault)
		count(t, db, hris, now.Add(4*time.Minute), "")
		require.Empty(t, recovered(now), "one began shortly before")
		require.Equal(t, []model.Place{hris}, recovered(now.Add(time.Minute)))
	})
}
