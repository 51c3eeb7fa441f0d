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
)

// What the store can't give says nothing of the partner: neither closes nor opens the gate to it.
func TestBreakerCountsWhatThePartnerWasAskedAlone(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	var gone, others []*model.Export
	for n := range 10 {
		gone = append(gone, b.accept(fmt.Sprint("u-gone-", n)))
	}
	for n := range 11 {
		others = append(others, b.accept(fmt.Sprint("u-", n)))
	}
	damage, err := sql.Open("sqlite", "file:"+b.file)
	require.NoError(t, err)
	for _, e := range gone {
		_, err = damage.Exec(`DELETE FROM export_bodies WHERE export_id = $1`, e.ID)
		require.NoError(t, err)
	}
	require.NoError(t, damage.Close())
	b.status.Store(500)
	for _, e := range others[:9] {
		b.deliver(e)
	}
	for _, e := range gone {
		res, _, _ := b.deliver(e)
		require.Equal(t, model.ClassOurFault, res.Class)
	}
	_, _, class := b.deliver(others[9])
	require.Equal(t, string(model.ClassPartnerFault), class, "it was closed by what never came to the partner")
	_, _, class = b.deliver(others[10])
	require.Equal(t, "breaker_open", class, "what never came to the partner was a success")
}

// A partner that can't be reached is down as well.
func TestNoAnswerOpensTheBreaker(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.partner.Close()
	for n := range 10 {
		_, _, class := b.deliver(b.accept(fmt.Sprint("u-", n)))
		require.Equal(t, string(model.ClassPartnerFault), class)
	}
	_, _, class := b.deliver(b.accept("u-late"))
	require.Equal(t, "breaker_open", class)
}

// A partner that refuses what it is sent is up: others of its exports may please it.
func TestRefusalsDoNotOpenTheBreaker(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.status.Store(422)
	for n := range 12 {
		_, _, class := b.deliver(b.accept(fmt.Sprint("u-", n)))
		require.Equal(t, string(model.ClassDataFault), class)
	}
}

// Somebody corrects the address of an integration that is down: what waits goes there at once.
func TestNewAddressHasAGateOfItsOwn(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.status.Store(500)
	for n := range 10 {
		b.deliver(b.accept(fmt.Sprint("u-", n)))
	}
	e := b.accept("u-waiting")
	_, _, class := b.deliver(e)
	require.Equal(t, "breaker_open", class)
	b.status.Store(200)
	b.integration().URL = b.partner.URL + "/corrected"
	b.set(model.Configured)
	res, _, _ := b.deliver(e)
	require.Equal(t, model.ClassDelivered, res.Class)
}

// Two tenants may have the same partner, under the same name and address: what one of them is turned away for is not the other's.
func TestTenantsHaveGatesOfTheirOwn(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	theirs := *b.integration()
	theirs.Tenant = "globex"
	b.config.Tenants["globex"] = &model.Tenant{Name: "globex", Integrations: []model.Integration{theirs}}
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		return tx.UpsertIntegrationStatus(&theirs, store.IntegrationStatus{State: model.Configured, UpdatedAt: b.Clock()})
	}))
	b.status.Store(500)
	for n := range 10 {
		b.deliver(b.accept(fmt.Sprint("u-", n)))
	}
	_, _, class := b.deliver(b.accept("u-waiting"))
	require.Equal(t, "breaker_open", class)
	b.status.Store(200)
	res, _, _ := b.deliver(b.takeFor("globex", "u-1", `{}`, func(*model.Export) {}))
	require.Equal(t, model.ClassDelivered, res.Class)
}

// Whoever asks is told that the breaker is open, and when an attempt is let through again.
func TestGateSaysWhenTheNextProbeIs(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	i, ok := b.InForce.Current().Integration("acme", "hris")
	require.True(t, ok)
	require.Equal(t, delivery.Gate{}, b.Gate(i))
	b.partner.Close()
	before := time.Now()
	for n := range 10 {
		b.deliver(b.accept(fmt.Sprint("u-", n)))
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
	b := newFixture(t)
	b.status.Store(500)
	for n := range 10 {
		b.deliver(b.accept(fmt.Sprint("u-", n)))
	}
	late, other := b.dispatched("u-late"), b.dispatched("u-other")
	ask := func() {
		require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
			return tx.AskDelivery(model.NewDelivery(late, "hris", 0, b.Clock()), b.Clock())
		}))
	}
	_, _, class := b.deliver(late)
	require.Equal(t, "breaker_open", class)
	for n := range 2 {
		before := b.asked.Load()
		ask()
		_, _, class = b.deliver(late)
		require.Equal(t, string(model.ClassPartnerFault), class, "attempt %d, however far off its time is", n)
		require.Equal(t, before+1, b.asked.Load())
		require.True(t, b.Gate(b.integration()).BreakerOpen)
		_, _, class = b.deliver(other)
		require.Equal(t, "breaker_open", class)
		require.Equal(t, before+1, b.asked.Load(), "the others go on waiting")
	}
	b.status.Store(200)
	ask()
	res, _, _ := b.deliver(late)
	require.Equal(t, model.ClassDelivered, res.Class)
	require.False(t, b.Gate(b.integration()).BreakerOpen)
	res, _, _ = b.deliver(other)
	require.Equal(t, model.ClassDelivered, res.Class)
	attempts, err := b.Store.ListAttempts(t.Context(), b.delivery(late).ID)
	require.NoError(t, err)
	require.Len(t, attempts, 3)
}
