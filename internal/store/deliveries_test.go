package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/store"
)

// A round that is dispatched keeps whom it delivers to, and what it did not tell of yet is pending, also in the rounds after it.
func TestPendingDeliveries(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		e := export("acme", "u-1", "b")
		require.True(t, insert(t, db, e))
		pending := func() (names []string) {
			kept, err := db.Export(t.Context(), e.ID)
			require.NoError(t, err)
			written, err := db.Deliveries(t.Context(), e.ID)
			require.NoError(t, err)
			for _, d := range append(written, kept.Pending(written)...) {
				if d.Outcome == hiring.Pending {
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
			return tx.PutDelivery(&hiring.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: hiring.Delivered, CreatedAt: noon, UpdatedAt: noon})
		}))
		require.Equal(t, []string{"crm0", "payroll0"}, pending())
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.NextRound(e.ID, []string{"hris", "payroll"}, noon, noon.Add(time.Hour))
			return err
		}))
		require.Equal(t, []string{"crm0"}, pending(), "what is begun anew is not pending in the round before")
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 1, noon, "hris", "payroll") }))
		require.Equal(t, []string{"crm0", "hris1", "payroll1"}, pending())
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 1, noon, "payroll", "payroll") }))
		require.Equal(t, []string{"crm0", "payroll1"}, pending(), "what was named twice is delivered to twice")
	})
}

// A redelivery comes while the workflow of the round is being started: whom it adds is not among those that workflow delivers to.
func TestWhoIsAddedToARoundThatStartsHasTheNext(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		e := export("acme", "u-1", "b")
		require.True(t, insert(t, db, e))
		redeliver := func(to ...string) {
			write(t, db, func(tx *store.Tx) error {
				_, err := tx.NextRound(e.ID, to, noon, noon.Add(time.Hour))
				return err
			})
		}
		started := func(round int, to ...string) *hiring.Export {
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
		require.Equal(t, hiring.Pending, crm.Outcome)
		require.Equal(t, 2, started(1, "crm").Round, "another node started it as well")
		kept = started(2, "late")
		require.Equal(t, []any{2, []string{"late"}, noon}, []any{kept.Round, kept.Integrations, kept.DispatchedAt})
	})
}

// Two integrations of an export are released, one while the workflow of the other's round is being started. What was moved into
// that round goes on in the one that carries it: left behind it would be held there for good, and delivered again with the next release.
func TestWhatWasMovedIntoARoundThatStartsHasTheNext(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		e := export("acme", "u-1", "b")
		require.True(t, insert(t, db, e))
		write(t, db, func(tx *store.Tx) error {
			for _, name := range []string{"crm", "hris"} {
				parked := &hiring.Delivery{ExportID: e.ID, Tenant: "acme", Integration: name, Outcome: hiring.Held, Parked: true, CreatedAt: noon, UpdatedAt: noon}
				if err := tx.PutDelivery(parked); err != nil {
					return err
				}
			}
			return tx.MarkDispatched(e.ID, 0, noon, "crm", "hris")
		})
		release := func(name string) {
			parked, err := db.Delivery(t.Context(), e.ID, name, 0)
			require.NoError(t, err)
			write(t, db, func(tx *store.Tx) error {
				next, err := tx.NextRound(e.ID, []string{name}, noon, noon.Add(time.Hour))
				if err != nil {
					return err
				}
				moved, err := tx.MoveDelivery(parked, next.Round, noon)
				require.True(t, moved)
				return err
			})
		}
		rounds := func() (at []string) {
			all, err := db.Deliveries(t.Context(), e.ID)
			require.NoError(t, err)
			for _, d := range all {
				at = append(at, fmt.Sprint(d.Integration, d.Round))
			}
			return at
		}
		release("crm")
		release("hris")
		write(t, db, func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 1, noon, "crm") })
		require.Equal(t, []string{"crm1", "hris2"}, rounds())

		waiting, err := db.Export(t.Context(), e.ID)
		require.NoError(t, err)
		for range 2 { // its workflow id is taken, and two nodes find that out
			write(t, db, func(tx *store.Tx) error { return tx.SkipRound(waiting) })
		}
		require.Equal(t, []string{"crm1", "hris3"}, rounds())
	})
}

// A delivery is written in the place of the one it was read as. What is delivered stays so, and stands against all else.
func TestDeliveryIsNotOverwrittenUnseen(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		e := export("acme", "u-1", "b")
		require.True(t, insert(t, db, e))
		put := func(d *hiring.Delivery, outcome hiring.Outcome) (standing *hiring.Delivery) {
			changed := *d
			changed.Outcome, changed.UpdatedAt = outcome, d.UpdatedAt.Add(time.Second)
			write(t, db, func(tx *store.Tx) error {
				err := tx.PutDelivery(&changed)
				if errors.Is(err, store.ErrStale) {
					standing, err = tx.StandingDelivery(&changed)
				}
				return err
			})
			return standing
		}
		added := &hiring.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", CreatedAt: noon, UpdatedAt: noon}
		require.Nil(t, put(added, hiring.Retrying))
		require.Equal(t, hiring.Retrying, put(added, hiring.Held).Outcome, "it was added twice")
		read, err := db.Delivery(t.Context(), e.ID, "hris", 0)
		require.NoError(t, err)
		require.Nil(t, put(read, hiring.Failed))
		for _, outcome := range []hiring.Outcome{hiring.Retrying, hiring.Held, hiring.Expired} {
			require.Equal(t, hiring.Failed, put(read, outcome).Outcome)
			require.Equal(t, hiring.Failed, put(added, outcome).Outcome)
		}
		require.Nil(t, put(read, hiring.Delivered))
		for _, outcome := range []hiring.Outcome{hiring.Retrying, hiring.Failed, hiring.Delivered} {
			standing := put(read, outcome)
			require.Equal(t, hiring.Delivered, standing.Outcome)
			require.Equal(t, standing, put(added, outcome))
			require.Equal(t, hiring.Delivered, put(standing, outcome).Outcome, "what is final was written over")
		}
	})
}
