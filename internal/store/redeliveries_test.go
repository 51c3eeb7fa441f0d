package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// selectable puts an export into the store that was received minutes after noon, and changes it.
func selectable(t *testing.T, db *store.DB, key string, minutes int, change func(tx *store.Tx, e *model.Export) error) {
	t.Helper()
	e := inbox.NewExport("acme", key, []byte("{}"), noon.Add(time.Duration(minutes)*time.Minute))
	e.ID = model.FirstID(e.ReceivedAt) // those of a process rise, whichever test they are of
	require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
		if _, err := inbox.Insert(tx, e); err != nil {
			return err
		}
		return change(tx, e)
	}))
}

// ended dispatches an export to integrations, and ends its delivery to hris in rounds with these outcomes.
func ended(fault model.Class, status int, outcomes ...model.Outcome) func(*store.Tx, *model.Export) error {
	return func(tx *store.Tx, e *model.Export) error {
		if err := tx.MarkDispatched(e.ID, 0, e.ReceivedAt, "hris", "crm"); err != nil {
			return err
		}
		for round, outcome := range outcomes {
			d := model.NewDelivery(e, "hris", round, e.ReceivedAt)
			d.Outcome, d.Fault, d.Attempts = outcome, fault, 2
			if err := tx.UpsertDelivery(d); err != nil {
				return err
			}
			for _, s := range []int{503, status} {
				a := &model.Attempt{DeliveryID: d.ID, StartedAt: e.ReceivedAt, Status: s}
				if err := tx.InsertAttempt(a); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// A selection finds what it says, and nothing that is on its way.
func TestSelections(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		to := func(names ...string) func(*store.Tx, *model.Export) error {
			return func(tx *store.Tx, e *model.Export) error { return tx.MarkDispatched(e.ID, 0, e.ReceivedAt, names...) }
		}
		const ok, failed, expired = model.Delivered, model.Failed, model.Expired
		for n, one := range []struct {
			key    string
			change func(*store.Tx, *model.Export) error
		}{
			{"failed", ended(model.ClassPartnerFault, 500, failed)},
			{"data", ended(model.ClassDataFault, 422, failed)},
			{"expired", ended(model.ClassPartnerFault, 0, expired)},
			{"delivered", ended("", 200, ok)},
			{"redelivered", ended("", 200, failed, ok)},
			{"again", ended(model.ClassPartnerFault, 502, ok, failed)},
			{"retrying", ended(model.ClassPartnerFault, 500, failed, model.Retrying)},
			{"held", ended("", 410, model.Held)},
			{"pending", to("crm", "hris")},
			{"missing", to("crm")},
			{"similar", to("crm", "hris-2", "my-hris")},
			{"nobody", to()},
			{"waiting", func(*store.Tx, *model.Export) error { return nil }},
			{"refused", func(tx *store.Tx, e *model.Export) error { return tx.MarkFault(e.ID, "Temporal refuses it", noon) }},
			{"erased", func(tx *store.Tx, e *model.Export) error {
				if err := to()(tx, e); err != nil {
					return err
				}
				return tx.EraseNow(e, store.Remainder{}, noon)
			}},
			{"elsewhere", ended("", 200, ok)},
		} {
			selectable(t, db, one.key, n, one.change)
		}
		keys := func(s model.Selection) (keys []string) {
			s.Tenant, s.Integration = "acme", "hris"
			if s.Since.IsZero() {
				s.Since = noon
			}
			if s.Until.IsZero() {
				s.Until = noon.Add(15 * time.Minute) // without the last one
			}
			preview, err := db.PreviewRedelivery(t.Context(), &s, model.Rehost, noon)
			require.NoError(t, err)
			for after := int64(0); ; {
				page, err := db.ListSelected(t.Context(), &s, after, 2)
				require.NoError(t, err)
				if len(page) == 0 {
					require.EqualValues(t, len(keys), preview.Count)
					return keys
				}
				if len(keys) == 0 {
					require.Equal(t, page[0].ReceivedAt, preview.Oldest)
				}
				for _, e := range page {
					keys, after = append(keys, e.Key), e.ID
					require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
						_, still, err := tx.LockSelected(&s, e.ID)
						require.True(t, still)
						return err
					}))
				}
			}
		}
		mode := func(m model.RedeliveryMode) model.Selection { return model.Selection{Mode: m} }
		with := func(m model.RedeliveryMode, change func(*model.Selection)) model.Selection {
			s := mode(m)
			change(&s)
			return s
		}
		for want, s := range map[string]model.Selection{
			"[failed data expired again]":      mode(model.RedeliverFailed),
			"[missing similar nobody refused]": mode(model.RedeliverMissing),
			"[failed data expired delivered redelivered again missing similar nobody refused]": mode(model.RedeliverAll),
			"[expired]":               with(model.RedeliverFailed, func(s *model.Selection) { s.Outcome = expired }),
			"[expired] ":              with(model.RedeliverFailed, func(s *model.Selection) { s.Status = model.NoStatus }),
			"[delivered redelivered]": with(model.RedeliverAll, func(s *model.Selection) { s.Outcome = ok }),
			"[data]": with(model.RedeliverFailed, func(s *model.Selection) {
				s.Class = model.ClassDataFault
			}),
			"[again]":        with(model.RedeliverFailed, func(s *model.Selection) { s.Status = "502" }),
			"[failed again]": with(model.RedeliverFailed, func(s *model.Selection) { s.Status, s.Attempts = "5xx", 2 }),
			"[]":             with(model.RedeliverFailed, func(s *model.Selection) { s.Attempts = 3 }),
			"[data expired]": with(model.RedeliverFailed, func(s *model.Selection) {
				s.Since, s.Until = noon.Add(time.Minute), noon.Add(5*time.Minute)
			}),
		} {
			require.Equal(t, strings.TrimSpace(want), fmt.Sprint(keys(s)))
		}
		left := []model.LeftOut{{Why: model.LeftUnderWay, Count: 2}, {Why: model.LeftHeld, Count: 1},
			{Why: model.LeftWaiting, Count: 1}, {Why: model.LeftErased, Count: 1}}
		for m, want := range map[model.RedeliveryMode]model.RedeliveryPreview{
			model.RedeliverFailed: {Count: 4, Received: 1, LeftOut: append(left[:4:4],
				model.LeftOut{Why: model.LeftReceived, Count: 2}, model.LeftOut{Why: model.LeftMissing, Count: 4})},
			model.RedeliverAll: {Count: 10, Received: 3, LeftOut: left},
			model.RedeliverMissing: {Count: 4, LeftOut: append(left[:4:4],
				model.LeftOut{Why: model.LeftReceived, Count: 2}, model.LeftOut{Why: model.LeftFailed, Count: 4})},
		} {
			s := model.Selection{Tenant: "acme", Integration: "hris", Since: noon, Until: noon.Add(15 * time.Minute), Mode: m}
			got, err := db.PreviewRedelivery(t.Context(), &s, model.Rehost, noon)
			require.NoError(t, err)
			got.Oldest, got.Newest = time.Time{}, time.Time{}
			require.Equal(t, want, got, m)
		}
		s := model.Selection{Tenant: "acme", Integration: "hris", Since: noon, Until: noon.Add(time.Hour),
			Mode: model.RedeliverFailed}
		e, err := db.ExportByKey(t.Context(), "acme", "delivered")
		require.NoError(t, err)
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			_, chosen, err := tx.LockSelected(&s, e.ID)
			require.False(t, chosen)
			return err
		}))
	})
}

// A redelivery that is not running begins nothing, and none comes to an export twice.
func TestRedeliveryAdvances(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		j := &model.Redelivery{ID: "j-1", Rate: 8, State: model.RedeliveryRunning, Total: 3, CreatedAt: noon,
			UpdatedAt: noon, Selection: model.Selection{Tenant: "acme", Integration: "hris", Since: noon,
				Until: noon.Add(time.Hour), Mode: model.RedeliverFailed, Class: model.ClassDataFault, Status: "4xx", Attempts: 3}}
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertRedelivery(j) }))
		read, err := db.Redelivery(t.Context(), "j-1")
		require.NoError(t, err)
		require.Equal(t, j, read)
		advance := func(export int64, skipped bool) (done bool) {
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) (err error) {
				done, err = tx.AdvanceRedelivery("j-1", export, skipped, noon)
				return err
			}))
			return done
		}
		change := func(to model.RedeliveryState, from ...model.RedeliveryState) (done bool) {
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) (err error) {
				done, err = tx.UpdateRedeliveryState("j-1", to, "", noon, from...)
				return err
			}))
			return done
		}
		require.True(t, advance(7, true))
		require.False(t, advance(7, false), "it came to the export twice")
		require.True(t, change(model.RedeliveryPaused, model.RedeliveryRunning))
		require.False(t, advance(8, false), "it is paused")
		running, err := db.ListRunningRedeliveries(t.Context())
		require.NoError(t, err)
		require.Empty(t, running)
		require.True(t, change(model.RedeliveryRunning, model.RedeliveryPaused))
		require.True(t, advance(8, false))
		require.True(t, change(model.RedeliveryCancelled, model.RedeliveryRunning, model.RedeliveryPaused))
		require.False(t, change(model.RedeliveryRunning, model.RedeliveryPaused))

		selectable(t, db, "u-1", 0, ended("", 200, model.Delivered, model.Failed, model.Held))
		e, err := db.ExportByKey(t.Context(), "acme", "u-1")
		require.NoError(t, err)
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			for round := range 3 {
				if err := tx.MarkRedelivery("j-1", e.ID, "hris", round); err != nil {
					return err
				}
			}
			return nil
		}))
		all, next, err := db.ListRedeliveries(t.Context(), []string{"acme"}, store.Page{})
		require.NoError(t, err)
		require.Empty(t, next)
		require.Len(t, all, 1)
		j.State, j.EndedAt, j.After, j.Skipped = model.RedeliveryCancelled, noon, 8, 1
		j.Delivered, j.Failed, j.Waiting = 1, 1, 1
		require.Equal(t, j, all[0])
		all, _, err = db.ListRedeliveries(t.Context(), nil, store.Page{After: "j-1"})
		require.NoError(t, err)
		require.Empty(t, all)
	})
}
