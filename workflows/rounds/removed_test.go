package rounds_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// An integration of the name of one that was removed may be another partner's: it gets nothing that was on its way to the former.
func TestNewIntegrationGetsNothingOfARemovedOne(t *testing.T) {
	t.Parallel()
	for _, stored := range []int64{0, 1} {
		b := exporttest.NewFixture(t)
		b.Integration().Row.Version = stored
		waiting, parked := b.Accept("u-1"), b.Accept("u-2")
		b.Dispatch(waiting) // for its documents: nothing is written of it yet
		b.Dispatch(parked)
		b.Set(model.Disabled)
		b.Park(parked)
		b.Set(model.Removed)
		b.Advance(time.Minute)
		b.Integration().URL = b.Partner.URL + "/next"
		b.Set(model.Configured)
		require.NoError(t, b.Redeliverer().TendHeld(t.Context()))
		released, err := b.Store.Export(t.Context(), parked.ID)
		require.NoError(t, err)
		require.Equal(t, 1, released.Round)
		b.Advance(time.Minute)
		b.Dispatch(released)
		for _, e := range []*model.Export{waiting, released} {
			res, _, _ := b.DeliverOnce(e)
			require.Equal(t, model.ClassPartnerFault, res.Class)
			require.Equal(t, "integration hris was removed", b.Delivery(e).Reason)
		}
		require.Zero(t, b.Asked.Load())

		var next *model.Export // somebody has it redelivered
		require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) (err error) {
			next, err = tx.BeginRound(waiting.ID, []string{"hris"}, b.Clock(), b.Clock().Add(model.DeliveryWindow))
			return err
		}))
		b.Dispatch(next)
		res, _, _ := b.DeliverOnce(next)
		require.Equal(t, model.ClassDelivered, res.Class)
	}
}

// What is triggered names its integrations at once. While it waits for Temporal one of them is removed, and another one made under its
// name, which it was not meant for.
func TestNewIntegrationGetsNothingThatWasTriggeredForARemovedOne(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Integration().Row.Version = 1
	e := b.Take("u-1", `{}`, func(e *model.Export) {
		e.Origin, e.DeliverTill, e.Integrations = model.Triggered, e.DocumentsTill, []string{"hris"}
	})
	b.Advance(time.Minute)
	b.Set(model.Removed)
	b.Advance(time.Minute)
	b.Integration().URL = b.Partner.URL + "/next"
	b.Set(model.Configured)
	b.Advance(time.Minute)
	b.Dispatch(e)
	res, _, _ := b.DeliverOnce(e)
	require.Equal(t, model.ClassPartnerFault, res.Class)
	require.Equal(t, "integration hris was removed", b.Delivery(e).Reason)
	require.Zero(t, b.Asked.Load())

	next := b.Take("u-2", `{}`, func(e *model.Export) {
		e.Origin, e.DeliverTill, e.Integrations = model.Triggered, e.DocumentsTill, []string{"hris"}
	})
	b.Dispatch(next)
	res, _, _ = b.DeliverOnce(next)
	require.Equal(t, model.ClassDelivered, res.Class)
}

// A removal may be cut off before it has ended what was on its way. What was parked has no workflow that would.
func TestParkedAtARemovedIntegrationEnds(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Set(model.Disabled)
	exports := []*model.Export{b.Accept("u-1"), b.Accept("u-2")}
	for _, e := range exports {
		b.Park(e)
	}
	redeliverer := b.Redeliverer()
	require.NoError(t, redeliverer.TendHeld(t.Context()))
	require.True(t, b.Delivery(exports[0]).Parked, "it was not removed")
	former := *b.Integration()
	b.Config.Tenants["acme"] = &model.Tenant{Name: "acme"}
	require.NoError(t, redeliverer.TendHeld(t.Context()))
	require.True(t, b.Delivery(exports[0]).Parked, "another node may know its integration")
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		return tx.UpsertIntegrationStatus(&former, store.IntegrationStatus{State: model.Removed, UpdatedAt: b.Clock()})
	}))
	require.NoError(t, redeliverer.TendHeld(t.Context()))
	for _, e := range exports {
		d := b.Delivery(e)
		require.Equal(t, "failed: integration hris was removed", fmt.Sprintf("%s: %s", d.Outcome, d.Reason))
		require.False(t, d.Parked)
	}
}
