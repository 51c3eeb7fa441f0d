package rounds_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/exporttest"
	"github.com/hiregate/hiregate/workflows/rounds"
)

// A release goes through all that is held, a page at a time.
func TestAllThatIsHeldIsReleased(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	all := b.Parked(201)
	require.NoError(t, b.Redeliverer().TendHeld(t.Context()))
	for _, e := range all {
		now, err := b.Store.Export(t.Context(), e.ID)
		require.NoError(t, err)
		require.Equal(t, 1, now.Round, e.Key)
	}
}

// And so does the end of all that was held for an integration that is removed.
func TestAllThatIsHeldForARemovedIntegrationEnds(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Parked(1001)
	b.Set(model.Removed)
	require.NoError(t, b.Redeliverer().End(t.Context(), "acme", "hris"))
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
		meanwhile func(b *exporttest.LossFixture, all []*model.Export)
		hurried   []string
	}{
		"the next is tried": {"", func(b *exporttest.LossFixture, all []*model.Export) { b.DeliverOnce(all[1]) }, []string{first, third}},
		"the next is moved": {"", func(b *exporttest.LossFixture, all []*model.Export) {
			if err := b.Store.Write(b.T.Context(), func(tx *store.Tx) error {
				_, err := tx.BeginRound(all[1].ID, []string{"hris"}, b.Clock(), b.Clock().Add(model.DeliveryWindow), b.Delivery(all[1]))
				return err
			}); err != nil {
				b.T.Errorf("moving a delivery: %v", err)
			}
		}, []string{first, third}},
		"this is tried":  {"u-1", func(b *exporttest.LossFixture, all []*model.Export) { b.DeliverOnce(all[0]) }, []string{second, third}},
		"this is erased": {"u-1", func(b *exporttest.LossFixture, all []*model.Export) { b.Erase(all[0]) }, []string{second, third}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := exporttest.NewLossFixture(t)
			b.Set(model.Disabled)
			all := []*model.Export{b.Held("u-1"), b.Held("u-2"), b.Held("u-3")}
			b.Set(model.Configured)
			b.Status.Store(http.StatusInternalServerError)
			delete(b.Temporal.Running, "export/acme/"+c.lost)
			b.Advance(time.Minute)
			b.Temporal.Asked = sync.OnceFunc(func() { c.meanwhile(b, all) })
			require.Equal(t, c.hurried, b.Tend())
		})
	}
}

// While the process ends there is no configuration, and nobody knows whether an integration was removed.
func TestNothingIsReleasedWithoutAConfiguration(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	e := b.Parked(1)[0]
	b.InForce.Drop(b.Config)
	require.NoError(t, b.Redeliverer().TendHeld(t.Context()))
	require.True(t, b.Delivery(e).Parked)
}

// Whoever gets an export with the next round can download its documents for another 96 hours.
func TestNextRoundExtendsTheDocuments(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*exporttest.LossFixture) error{
		"redelivery": func(b *exporttest.LossFixture) error {
			_, err := b.Watcher.Redeliver(b.T.Context(), "acme", "u-1", nil, func(*store.Tx, rounds.Redelivery) error { return nil })
			return err
		},
		"release": func(b *exporttest.LossFixture) error {
			b.Set(model.Configured)
			return b.Watcher.TendHeld(b.T.Context())
		},
	} {
		b := exporttest.NewLossFixture(t)
		var e *model.Export
		if name == "release" {
			b.Set(model.Disabled)
			e = b.Dispatched("u-1", "hris")
			b.Park(e)
		} else {
			e = b.Delivered("u-1")
		}
		require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
			return tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: "acme", SourceURL: []byte("https://a.example/1"), CreatedAt: exporttest.Noon})
		}))
		documents, err := b.Store.ListDocuments(t.Context(), e.ID)
		require.NoError(t, err)
		hash := [32]byte{1}
		require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
			return tx.InsertLink(hash, documents[0].ID, e.ReceivedAt.Add(model.LinkWindow))
		}))
		b.Advance(200 * time.Hour)
		require.NoError(t, begin(b), name)
		_, till, err := b.Store.DocumentByLink(t.Context(), hash)
		require.NoError(t, err)
		require.Equal(t, b.Clock().Add(model.LinkWindow), till, name)
	}
}
