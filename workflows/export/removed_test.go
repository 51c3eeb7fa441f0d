package export_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// dispatch notes that Temporal has the workflow of an export's round by now.
func (b *fixture) dispatch(e *model.Export) {
	b.t.Helper()
	require.NoError(b.t, b.Store.Write(b.t.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, e.Round, b.Clock(), "hris") }))
}

// park holds an export's delivery until it is parked.
func (b *fixture) park(e *model.Export) {
	b.t.Helper()
	for class := "held"; class != ""; {
		var wait time.Duration
		_, wait, class = b.deliver(e)
		b.advance(wait)
	}
	require.True(b.t, b.delivery(e).Parked)
}

// An integration of the name of one that was removed may be another partner's: it gets nothing that was on its way to the former.
func TestNewIntegrationGetsNothingOfARemovedOne(t *testing.T) {
	t.Parallel()
	for _, stored := range []int64{0, 1} {
		b := newFixture(t)
		b.integration().Row.Version = stored
		waiting, parked := b.accept("u-1"), b.accept("u-2")
		b.dispatch(waiting) // for its documents: nothing is written of it yet
		b.dispatch(parked)
		b.set(model.Disabled)
		b.park(parked)
		b.set(model.Removed)
		b.advance(time.Minute)
		b.integration().URL = b.partner.URL + "/next"
		b.set(model.Configured)
		require.NoError(t, b.redeliverer().TendHeld(t.Context()))
		released, err := b.Store.Export(t.Context(), parked.ID)
		require.NoError(t, err)
		require.Equal(t, 1, released.Round)
		b.advance(time.Minute)
		b.dispatch(released)
		for _, e := range []*model.Export{waiting, released} {
			res, _, _ := b.deliver(e)
			require.Equal(t, model.ClassPartnerFault, res.Class)
			require.Equal(t, "integration hris was removed", b.delivery(e).Reason)
		}
		require.Zero(t, b.asked.Load())

		var next *model.Export // somebody has it redelivered
		require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) (err error) {
			next, err = tx.BeginRound(waiting.ID, []string{"hris"}, b.Clock(), b.Clock().Add(model.DeliveryWindow))
			return err
		}))
		b.dispatch(next)
		res, _, _ := b.deliver(next)
		require.Equal(t, model.ClassDelivered, res.Class)
	}
}

// What is triggered names its integrations at once. While it waits for Temporal one of them is removed, and another one made under its
// name, which it was not meant for.
func TestNewIntegrationGetsNothingThatWasTriggeredForARemovedOne(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.integration().Row.Version = 1
	e := b.take("u-1", `{}`, func(e *model.Export) {
		e.Origin, e.DeliverTill, e.Integrations = model.Triggered, e.DocumentsTill, []string{"hris"}
	})
	b.advance(time.Minute)
	b.set(model.Removed)
	b.advance(time.Minute)
	b.integration().URL = b.partner.URL + "/next"
	b.set(model.Configured)
	b.advance(time.Minute)
	b.dispatch(e)
	res, _, _ := b.deliver(e)
	require.Equal(t, model.ClassPartnerFault, res.Class)
	require.Equal(t, "integration hris was removed", b.delivery(e).Reason)
	require.Zero(t, b.asked.Load())

	next := b.take("u-2", `{}`, func(e *model.Export) {
		e.Origin, e.DeliverTill, e.Integrations = model.Triggered, e.DocumentsTill, []string{"hris"}
	})
	b.dispatch(next)
	res, _, _ = b.deliver(next)
	require.Equal(t, model.ClassDelivered, res.Class)
}

// A removal may be cut off before it has ended what was on its way. What was parked has no workflow that would.
func TestParkedAtARemovedIntegrationEnds(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.set(model.Disabled)
	exports := []*model.Export{b.accept("u-1"), b.accept("u-2")}
	for _, e := range exports {
		b.park(e)
	}
	redeliverer := b.redeliverer()
	require.NoError(t, redeliverer.TendHeld(t.Context()))
	require.True(t, b.delivery(exports[0]).Parked, "it was not removed")
	former := *b.integration()
	b.config.Tenants["acme"] = &model.Tenant{Name: "acme"}
	require.NoError(t, redeliverer.TendHeld(t.Context()))
	require.True(t, b.delivery(exports[0]).Parked, "another node may know its integration")
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		return tx.UpsertIntegrationStatus(&former, store.IntegrationStatus{State: model.Removed, UpdatedAt: b.Clock()})
	}))
	require.NoError(t, redeliverer.TendHeld(t.Context()))
	for _, e := range exports {
		d := b.delivery(e)
		require.Equal(t, "failed: integration hris was removed", fmt.Sprintf("%s: %s", d.Outcome, d.Reason))
		require.False(t, d.Parked)
	}
}
