package export_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/rounds"
)

// parked puts exports through the door whose delivery to hris is parked.
func (b *fixture) parked(n int) (all []*model.Export) {
	b.t.Helper()
	require.NoError(b.t, b.Store.Write(b.t.Context(), func(tx *store.Tx) error {
		all = nil
		for n := range n {
			e := inbox.NewExport("acme", fmt.Sprint("u-", n), []byte(`{}`), b.Clock())
			if _, err := inbox.Insert(tx, e); err != nil {
				return err
			}
			if err := tx.MarkDispatched(e.ID, 0, b.Clock(), "hris"); err != nil {
				return err
			}
			if err := tx.UpsertDelivery(&model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Held, Parked: true,
				HeldSince: b.Clock(), CreatedAt: b.Clock(), UpdatedAt: b.Clock()}); err != nil {
				return err
			}
			all = append(all, e)
		}
		return nil
	}))
	return all
}

// A release goes through all that is held, a page at a time.
func TestAllThatIsHeldIsReleased(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	all := b.parked(201)
	require.NoError(t, b.redeliverer().TendHeld(t.Context()))
	for _, e := range all {
		now, err := b.Store.Export(t.Context(), e.ID)
		require.NoError(t, err)
		require.Equal(t, 1, now.Round, e.Key)
	}
}

// And so does the end of all that was held for an integration that is removed.
func TestAllThatIsHeldForARemovedIntegrationEnds(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.parked(1001)
	b.set(model.Removed)
	require.NoError(t, b.redeliverer().End(t.Context(), "acme", "hris"))
	held, err := b.Store.ListHeldPlaces(t.Context())
	require.NoError(t, err)
	require.Empty(t, held)
}

// What happens to a delivery while a release is on its way to it, that leaves as it is; the others are released all the same.
func TestReleaseOfWhatGoesOnMeanwhile(t *testing.T) {
	t.Parallel()
	const first, second, third = "export/acme/u-1 deliver", "export/acme/u-2 deliver", "export/acme/u-3 deliver"
	for name, c := range map[string]struct {
		lost      string // the export that has no workflow
		meanwhile func(b *lossFixture, all []*model.Export)
		hurried   []string
	}{
		"the next is tried": {"", func(b *lossFixture, all []*model.Export) { b.deliver(all[1]) }, []string{first, third}},
		"the next is moved": {"", func(b *lossFixture, all []*model.Export) {
			if err := b.Store.Write(b.t.Context(), func(tx *store.Tx) error {
				_, err := tx.BeginRound(all[1].ID, []string{"hris"}, b.Clock(), b.Clock().Add(model.DeliveryWindow), b.delivery(all[1]))
				return err
			}); err != nil {
				b.t.Errorf("moving a delivery: %v", err)
			}
		}, []string{first, third}},
		"this is tried":  {"u-1", func(b *lossFixture, all []*model.Export) { b.deliver(all[0]) }, []string{second, third}},
		"this is erased": {"u-1", func(b *lossFixture, all []*model.Export) { b.erase(all[0]) }, []string{second, third}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLossFixture(t)
			b.set(model.Disabled)
			all := []*model.Export{b.held("u-1"), b.held("u-2"), b.held("u-3")}
			b.set(model.Configured)
			b.status.Store(http.StatusInternalServerError)
			delete(b.temporal.running, "export/acme/"+c.lost)
			b.advance(time.Minute)
			b.temporal.asked = sync.OnceFunc(func() { c.meanwhile(b, all) })
			require.Equal(t, c.hurried, b.tend())
		})
	}
}

// While the process ends there is no configuration, and nobody knows whether an integration was removed.
func TestNothingIsReleasedWithoutAConfiguration(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	e := b.parked(1)[0]
	b.InForce.Drop(b.config)
	require.NoError(t, b.redeliverer().TendHeld(t.Context()))
	require.True(t, b.delivery(e).Parked)
}

// Whoever gets an export with the next round can download its documents for another 96 hours.
func TestNextRoundExtendsTheDocuments(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*lossFixture) error{
		"redelivery": func(b *lossFixture) error {
			_, err := b.watcher.Redeliver(b.t.Context(), "acme", "u-1", nil, func(*store.Tx, rounds.Redelivery) error { return nil })
			return err
		},
		"release": func(b *lossFixture) error {
			b.set(model.Configured)
			return b.watcher.TendHeld(b.t.Context())
		},
	} {
		b := newLossFixture(t)
		var e *model.Export
		if name == "release" {
			b.set(model.Disabled)
			e = b.dispatched("u-1", "hris")
			b.park(e)
		} else {
			e = b.delivered("u-1")
		}
		require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
			return tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: "acme", SourceURL: []byte("https://a.example/1"), CreatedAt: noon})
		}))
		documents, err := b.Store.ListDocuments(t.Context(), e.ID)
		require.NoError(t, err)
		hash := [32]byte{1}
		require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
			return tx.InsertLink(hash, documents[0].ID, e.ReceivedAt.Add(model.LinkWindow))
		}))
		b.advance(200 * time.Hour)
		require.NoError(t, begin(b), name)
		_, till, err := b.Store.DocumentByLink(t.Context(), hash)
		require.NoError(t, err)
		require.Equal(t, b.Clock().Add(model.LinkWindow), till, name)
	}
}
