package export_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// What the store can't give says nothing of the partner: neither closes nor opens the gate to it.
func TestBreakerCountsWhatThePartnerWasAskedAlone(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	var gone, others []*model.Export
	for n := range 10 {
		gone = append(gone, b.Accept(fmt.Sprint("u-gone-", n)))
	}
	for n := range 11 {
		others = append(others, b.Accept(fmt.Sprint("u-", n)))
	}
	damage, err := sql.Open("sqlite", "file:"+b.File)
	require.NoError(t, err)
	for _, e := range gone {
		_, err = damage.Exec(`DELETE FROM export_bodies WHERE export_id = $1`, e.ID)
		require.NoError(t, err)
	}
	require.NoError(t, damage.Close())
	b.Status.Store(500)
	for _, e := range others[:9] {
		b.DeliverOnce(e)
	}
	for _, e := range gone {
		res, _, _ := b.DeliverOnce(e)
		require.Equal(t, model.ClassOurFault, res.Class)
	}
	_, _, class := b.DeliverOnce(others[9])
	require.Equal(t, string(model.ClassPartnerFault), class, "it was closed by what never came to the partner")
	_, _, class = b.DeliverOnce(others[10])
	require.Equal(t, "breaker_open", class, "what never came to the partner was a success")
}

// A partner that can't be reached is down as well.
func TestNoAnswerOpensTheBreaker(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Partner.Close()
	for n := range 10 {
		_, _, class := b.DeliverOnce(b.Accept(fmt.Sprint("u-", n)))
		require.Equal(t, string(model.ClassPartnerFault), class)
	}
	_, _, class := b.DeliverOnce(b.Accept("u-late"))
	require.Equal(t, "breaker_open", class)
}

// A partner that refuses what it is sent is up: others of its exports may please it.
func TestRefusalsDoNotOpenTheBreaker(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Status.Store(422)
	for n := range 12 {
		_, _, class := b.DeliverOnce(b.Accept(fmt.Sprint("u-", n)))
		require.Equal(t, string(model.ClassDataFault), class)
	}
}

// Somebody corrects the address of an integration that is down: what waits goes there at once.
func TestNewAddressHasAGateOfItsOwn(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Status.Store(500)
	for n := range 10 {
		b.DeliverOnce(b.Accept(fmt.Sprint("u-", n)))
	}
	e := b.Accept("u-waiting")
	_, _, class := b.DeliverOnce(e)
	require.Equal(t, "breaker_open", class)
	b.Status.Store(200)
	b.Integration().URL = b.Partner.URL + "/corrected"
	b.Set(model.Configured)
	res, _, _ := b.DeliverOnce(e)
	require.Equal(t, model.ClassDelivered, res.Class)
}

// Two tenants may have the same partner, under the same name and address: what one of them is turned away for is not the other's.
func TestTenantsHaveGatesOfTheirOwn(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	theirs := *b.Integration()
	theirs.Tenant = "globex"
	b.Config.Tenants["globex"] = &model.Tenant{Name: "globex", Integrations: []model.Integration{theirs}}
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		return tx.UpsertIntegrationStatus(&theirs, store.IntegrationStatus{State: model.Configured, UpdatedAt: b.Clock()})
	}))
	b.Status.Store(500)
	for n := range 10 {
		b.DeliverOnce(b.Accept(fmt.Sprint("u-", n)))
	}
	_, _, class := b.DeliverOnce(b.Accept("u-waiting"))
	require.Equal(t, "breaker_open", class)
	b.Status.Store(200)
	res, _, _ := b.DeliverOnce(b.TakeFor("globex", "u-1", `{}`, func(*model.Export) {}))
	require.Equal(t, model.ClassDelivered, res.Class)
}

// Whoever asks is told that the breaker is open, and when an attempt is let through again.
func TestGateSaysWhenTheNextProbeIs(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	i, ok := b.InForce.Current().Integration("acme", "hris")
	require.True(t, ok)
	require.Equal(t, delivery.Gate{}, b.Gate(i))
	b.Partner.Close()
	before := time.Now()
	for n := range 10 {
		b.DeliverOnce(b.Accept(fmt.Sprint("u-", n)))
	}
	gate := b.Gate(i)
	require.True(t, gate.BreakerOpen)
	require.WithinRange(t, gate.Probe, before.Add(15*time.Second), time.Now().Add(15*time.Second))
	health, err := b.Store.Health(t.Context(), model.Place{Tenant: "acme", Integration: "hris"})
	require.NoError(t, err)
	require.EqualValues(t, 10, health.Failures, "each attempt counts in its own transaction")
	require.Contains(t, health.Reason, "no connection to")
}

// An attempt that somebody asks for passes the open breaker, alone, and closes it if the partner is back.
func TestAskedAttemptIsAProbe(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Status.Store(500)
	for n := range 10 {
		b.DeliverOnce(b.Accept(fmt.Sprint("u-", n)))
	}
	late, other := b.Dispatched("u-late"), b.Dispatched("u-other")
	ask := func() {
		require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
			return tx.AskDelivery(model.NewDelivery(late, "hris", 0, b.Clock()), b.Clock())
		}))
	}
	_, _, class := b.DeliverOnce(late)
	require.Equal(t, "breaker_open", class)
	for n := range 2 {
		before := b.Asked.Load()
		ask()
		_, _, class = b.DeliverOnce(late)
		require.Equal(t, string(model.ClassPartnerFault), class, "attempt %d, however far off its time is", n)
		require.Equal(t, before+1, b.Asked.Load())
		require.True(t, b.Gate(b.Integration()).BreakerOpen)
		_, _, class = b.DeliverOnce(other)
		require.Equal(t, "breaker_open", class)
		require.Equal(t, before+1, b.Asked.Load(), "the others go on waiting")
	}
	b.Status.Store(200)
	ask()
	res, _, _ := b.DeliverOnce(late)
	require.Equal(t, model.ClassDelivered, res.Class)
	require.False(t, b.Gate(b.Integration()).BreakerOpen)
	res, _, _ = b.DeliverOnce(other)
	require.Equal(t, model.ClassDelivered, res.Class)
	attempts, err := b.Store.ListAttempts(t.Context(), b.Delivery(late).ID)
	require.NoError(t, err)
	require.Len(t, attempts, 3)
}
