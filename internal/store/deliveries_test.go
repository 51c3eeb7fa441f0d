package store_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// A round that is dispatched keeps whom it delivers to, and what it did not tell of yet is pending, also in the rounds
// after it.
func TestPendingDeliveries(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		e := export("acme", "u-1", "b")
		require.True(t, insert(t, db, e))
		pending := func() (names []string) {
			written, err := db.ListDeliveries(t.Context(), e.ID)
			require.NoError(t, err)
			for _, d := range written {
				if d.Outcome == model.Pending {
					names = append(names, fmt.Sprint(d.Integration, d.Round))
				}
			}
			return names
		}
		require.Empty(t, pending(), "nobody knows to whom it will go")
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			if err := tx.MarkDispatched(e.ID, 0, noon, "hris", "crm", "payroll"); err != nil {
				return err
			}
			return tx.UpsertDelivery(&model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Delivered, CreatedAt: noon, UpdatedAt: noon})
		}))
		require.Equal(t, []string{"crm0", "payroll0"}, pending())
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			moved, err := tx.LockDelivery(&model.Delivery{ExportID: e.ID, Integration: "payroll"})
			if err != nil {
				return err
			}
			_, err = tx.BeginRound(e.ID, []string{"hris", "payroll"}, noon, noon.Add(time.Hour), moved)
			return err
		}))
		require.Equal(t, []string{"crm0", "hris1", "payroll1"}, pending(), "what is begun anew is not pending in the round before")
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 1, noon, "hris", "payroll") }))
		require.Equal(t, []string{"crm0", "hris1", "payroll1"}, pending())
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 1, noon, "hris", "payroll", "payroll") }))
		require.Equal(t, []string{"crm0", "hris1", "payroll1"}, pending(), "what was named twice is delivered to twice")
	})
}

// A redelivery comes while the workflow of the round is being started: whom it adds is not among those that workflow
// delivers to.
func TestWhoIsAddedToARoundThatStartsHasTheNext(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		e := export("acme", "u-1", "b")
		require.True(t, insert(t, db, e))
		redeliver := func(to ...string) {
			write(t, db, func(tx *store.Tx) error {
				_, err := tx.BeginRound(e.ID, to, noon, noon.Add(time.Hour))
				return err
			})
		}
		started := func(round int, to ...string) *model.Export {
			write(t, db, func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, round, noon, to...) })
			kept, err := db.Export(t.Context(), e.ID)
			require.NoError(t, err)
			return kept
		}
		started(0, "hris")
		redeliver("crm")
		redeliver("late", "crm")
		kept := started(1, "crm")
		require.Equal(t, []any{2, []string{"late"}, true, noon.Add(time.Hour)}, []any{kept.Round, kept.Integrations, kept.DispatchedAt.IsZero(), kept.DeliverTill})
		crm, err := db.Delivery(t.Context(), e.ID, "crm", 1)
		require.NoError(t, err)
		require.Equal(t, model.Pending, crm.Outcome)
		require.Equal(t, 2, started(1, "crm").Round, "another node started it as well")
		kept = started(2, "late")
		require.Equal(t, []any{2, []string{"late"}, noon}, []any{kept.Round, kept.Integrations, kept.DispatchedAt})
	})
}

// Two integrations of an export are released, one while the workflow of the other's round is being started. What was
// moved into that round goes on in the one that carries it: left behind it would be held there for good, and delivered
// again with the next release.
func TestWhatWasMovedIntoARoundThatStartsHasTheNext(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		e := export("acme", "u-1", "b")
		require.True(t, insert(t, db, e))
		write(t, db, func(tx *store.Tx) error {
			for _, name := range []string{"crm", "hris"} {
				parked := &model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: name, Outcome: model.Held, Parked: true, CreatedAt: noon, UpdatedAt: noon}
				if err := tx.UpsertDelivery(parked); err != nil {
					return err
				}
			}
			return tx.MarkDispatched(e.ID, 0, noon, "crm", "hris")
		})
		release := func(name string, round int) {
			parked, err := db.Delivery(t.Context(), e.ID, name, round)
			require.NoError(t, err)
			write(t, db, func(tx *store.Tx) error {
				_, err := tx.BeginRound(e.ID, []string{name}, noon, noon.Add(time.Hour), parked)
				return err
			})
		}
		rounds := func() (at []string) {
			all, err := db.ListDeliveries(t.Context(), e.ID)
			require.NoError(t, err)
			for _, d := range all {
				at = append(at, fmt.Sprint(d.Integration, d.Round))
			}
			return at
		}
		release("crm", 0)
		release("hris", 0)
		write(t, db, func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 1, noon, "crm") })
		require.Equal(t, []string{"crm1", "hris2"}, rounds())

		// What was delivered in an earlier round stays there.
		write(t, db, func(tx *store.Tx) error {
			return tx.UpsertDelivery(&model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Delivered, CreatedAt: noon, UpdatedAt: noon})
		})
		release("crm", 1)
		write(t, db, func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 2, noon, "crm") })
		require.Equal(t, []string{"hris0", "crm2", "hris3"}, rounds())

		waiting, err := db.Export(t.Context(), e.ID)
		require.NoError(t, err)
		for range 2 { // its workflow id is taken, and two nodes find that out
			write(t, db, func(tx *store.Tx) error { return tx.SkipRound(waiting) })
		}
		require.Equal(t, []string{"hris0", "crm2", "hris4"}, rounds())
	})
}

// A delivery is written in the place of the one it was read as. What is delivered stays so, and stands against all
// else.
func TestDeliveryIsNotOverwrittenUnseen(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		e := export("acme", "u-1", "b")
		require.True(t, insert(t, db, e))
		put := func(d *model.Delivery, outcome model.Outcome) (standing *model.Delivery) {
			changed := *d
			changed.Outcome, changed.UpdatedAt = outcome, d.UpdatedAt.Add(time.Second)
			write(t, db, func(tx *store.Tx) error {
				err := tx.UpsertDelivery(&changed)
				if errors.Is(err, store.ErrStale) {
					standing, err = tx.LockDelivery(&changed)
				}
				return err
			})
			return standing
		}
		added := &model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", CreatedAt: noon, UpdatedAt: noon}
		require.Nil(t, put(added, model.Retrying))
		require.Equal(t, model.Retrying, put(added, model.Held).Outcome, "it was added twice")
		read, err := db.Delivery(t.Context(), e.ID, "hris", 0)
		require.NoError(t, err)
		require.Nil(t, put(read, model.Failed))
		for _, outcome := range []model.Outcome{model.Retrying, model.Held, model.Expired} {
			require.Equal(t, model.Failed, put(read, outcome).Outcome)
			require.Equal(t, model.Failed, put(added, outcome).Outcome)
		}
		require.Nil(t, put(read, model.Delivered))
		for _, outcome := range []model.Outcome{model.Retrying, model.Failed, model.Delivered} {
			standing := put(read, outcome)
			require.Equal(t, model.Delivered, standing.Outcome)
			require.Equal(t, standing, put(added, outcome))
			require.Equal(t, model.Delivered, put(standing, outcome).Outcome, "what is final was written over")
		}
	})
}

// What the partner took is that and nothing else: not due again, not held, whatever stood there.
func TestWhatIsDeliveredIsDueNoMore(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		e := export("acme", "u-1", "b")
		require.True(t, insert(t, db, e))
		put := func(d model.Delivery) { write(t, db, func(tx *store.Tx) error { return tx.UpsertDelivery(&d) }) }
		put(model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Held, Fault: model.ClassPartnerFault, Reason: "it is disabled", Attempts: 1, Parked: true,
			HeldSince: noon, NextAt: noon.Add(time.Minute), Documents: model.Inline, CreatedAt: noon, UpdatedAt: noon})
		late := model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Delivered, Attempts: 2, Documents: model.Rehost, CreatedAt: noon, UpdatedAt: noon.Add(time.Hour)}
		put(late)
		got, err := db.Delivery(t.Context(), e.ID, "hris", 0)
		require.NoError(t, err)
		late.ID, late.Read = got.ID, late.UpdatedAt
		require.Equal(t, &late, got)
	})
}

// Each of these is somebody else's doing since the delivery was read, and nothing but that: it is neither written nor
// moved.
func TestWhatChangedSinceItWasReadStays(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		move := func(d *model.Delivery, round int) (moved bool) {
			write(t, db, func(tx *store.Tx) (err error) { moved, err = tx.UpdateDeliveryRound(d, round, noon); return err })
			return moved
		}
		for what, meanwhile := range map[string]func(*model.Delivery){
			"written at another time":  func(d *model.Delivery) { d.UpdatedAt = noon.Add(time.Microsecond) },
			"ended at the same moment": func(d *model.Delivery) { d.Outcome = model.Failed },
		} {
			e := export("acme", what, "b")
			require.True(t, insert(t, db, e))
			d := &model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Held, HeldSince: noon, CreatedAt: noon, UpdatedAt: noon}
			write(t, db, func(tx *store.Tx) error { return tx.UpsertDelivery(d) })
			read, err := db.Delivery(t.Context(), e.ID, "hris", 0)
			require.NoError(t, err)
			changed := *read
			meanwhile(&changed)
			write(t, db, func(tx *store.Tx) error { return tx.UpsertDelivery(&changed) })
			late := *read
			late.Outcome = model.Retrying
			require.ErrorIs(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.UpsertDelivery(&late) }), store.ErrStale, what)
			require.False(t, move(read, 1), what)
		}

		// Parked, and then moved, at the very moment at which it was written.
		e := export("acme", "moved", "b")
		require.True(t, insert(t, db, e))
		d := &model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Held, HeldSince: noon, CreatedAt: noon, UpdatedAt: noon}
		write(t, db, func(tx *store.Tx) error { return tx.UpsertDelivery(d) })
		read, err := db.Delivery(t.Context(), e.ID, "hris", 0)
		require.NoError(t, err)
		parked := *read
		parked.Parked = true
		write(t, db, func(tx *store.Tx) error { return tx.UpsertDelivery(&parked) })
		require.False(t, move(read, 1), "it was parked since")
		require.True(t, move(&parked, 1))
		got, err := db.Delivery(t.Context(), e.ID, "hris", 1)
		require.NoError(t, err)
		require.Equal(t, []any{model.Held, false, true}, []any{got.Outcome, got.Parked, got.HeldSince.IsZero()}, "it counts as held in the round that was just begun")
		require.False(t, move(read, 2), "it is in another round by now")
		require.ErrorIs(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.UpsertDelivery(&parked) }), store.ErrStale, "it is in another round by now")
	})
}

func TestDeliveryThatIsThereIsNotBegunAnew(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		e := export("acme", "u-1", "b")
		require.True(t, insert(t, db, e))
		d := &model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Delivered, Attempts: 3, CreatedAt: noon, UpdatedAt: noon}
		write(t, db, func(tx *store.Tx) error {
			if err := tx.UpsertDelivery(d); err != nil {
				return err
			}
			e.Integrations = []string{"hris"}
			return tx.CompleteRound(e)
		})
		got, err := db.Delivery(t.Context(), e.ID, "hris", 0)
		require.NoError(t, err)
		require.Equal(t, []any{model.Delivered, 3, noon}, []any{got.Outcome, got.Attempts, got.UpdatedAt})
	})
}

// An integration's deliveries are held, released and ended for it alone.
func TestDeliveriesOfAnIntegration(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		type at struct {
			tenant, integration string
			outcome             model.Outcome
		}
		outcomes := []model.Outcome{model.Pending, model.Retrying, model.Held, model.Delivered, model.Failed, model.Expired}
		ids := map[at]int64{}
		for _, tenant := range []string{"acme", "globex"} {
			for _, outcome := range outcomes {
				e := export(tenant, string(outcome), "b")
				require.True(t, insert(t, db, e))
				for _, integration := range []string{"crm", "hris"} {
					ids[at{tenant, integration, outcome}] = e.ID
					d := &model.Delivery{ExportID: e.ID, Tenant: tenant, Integration: integration, Outcome: outcome, CreatedAt: noon, UpdatedAt: noon}
					if outcome == model.Held {
						d.Parked, d.HeldSince, d.NextAt = true, noon, noon
					}
					write(t, db, func(tx *store.Tx) error { return tx.UpsertDelivery(d) })
				}
			}
		}
		held := func(after int64) (found []int64) {
			page, err := db.ListHeldDeliveries(t.Context(), "acme", "hris", after, 10)
			require.NoError(t, err)
			for _, d := range page {
				require.Equal(t, []any{"acme", "hris", model.Held}, []any{d.Tenant, d.Integration, d.Outcome})
				found = append(found, d.ExportID)
			}
			return found
		}
		first := ids[at{"acme", "hris", model.Held}]
		second := export("acme", "another", "b")
		require.True(t, insert(t, db, second))
		write(t, db, func(tx *store.Tx) error {
			return tx.UpsertDelivery(&model.Delivery{ExportID: second.ID, Tenant: "acme", Integration: "hris", Outcome: model.Held, CreatedAt: noon, UpdatedAt: noon})
		})
		require.Equal(t, []int64{first, second.ID}, held(0))
		require.Equal(t, []int64{second.ID}, held(first))

		end := func() (ended int64) {
			write(t, db, func(tx *store.Tx) (err error) {
				ended, err = tx.FailDeliveries("acme", "hris", "it was removed", noon.Add(time.Hour))
				return err
			})
			return ended
		}
		require.EqualValues(t, 4, end())
		require.Zero(t, end(), "what is final ended again")
		require.Empty(t, held(0))
		for at, id := range ids {
			d, err := db.Delivery(t.Context(), id, at.integration, 0)
			require.NoError(t, err)
			if at.tenant == "acme" && at.integration == "hris" && !at.outcome.Final() {
				require.Equal(t, []any{model.Failed, model.ClassPartnerFault, "it was removed", false, true, true, noon.Add(time.Hour)},
					[]any{d.Outcome, d.Fault, d.Reason, d.Parked, d.HeldSince.IsZero(), d.NextAt.IsZero(), d.UpdatedAt}, at)
			} else {
				require.Equal(t, []any{at.outcome, noon}, []any{d.Outcome, d.UpdatedAt}, at)
			}
		}
	})
}

func TestLastStatuses(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		attempted := func(key string, statuses ...int) int64 {
			e := export("acme", key, key)
			require.True(t, insert(t, db, e))
			d := &model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Retrying,
				Attempts: len(statuses), CreatedAt: noon, UpdatedAt: noon}
			write(t, db, func(tx *store.Tx) error {
				if err := tx.UpsertDelivery(d); err != nil {
					return err
				}
				for _, status := range statuses {
					a := &model.Attempt{DeliveryID: d.ID, StartedAt: noon, Status: status}
					if err := tx.InsertAttempt(a); err != nil {
						return err
					}
				}
				return nil
			})
			return d.ID
		}
		refused, silent := attempted("u-1", 500, 503), attempted("u-2", 500, 0)
		none, other := attempted("u-3"), attempted("u-4", 422)
		statuses, err := db.LastStatuses(t.Context(), []int64{refused, silent, none})
		require.NoError(t, err)
		require.Equal(t, map[int64]int{refused: 503}, statuses)
		statuses, err = db.LastStatuses(t.Context(), append(slices.Repeat([]int64{refused}, store.MaxPage), other))
		require.NoError(t, err)
		require.Equal(t, map[int64]int{refused: 503, other: 422}, statuses, "more than a page")
		statuses, err = db.LastStatuses(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, statuses)
	})
}
