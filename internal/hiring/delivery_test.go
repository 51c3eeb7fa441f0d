package hiring_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
)

var (
	begun = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	later = begun.Add(time.Hour)
)

// Whatever a delivery was before, a transition leaves nothing of it but what it says it leaves.
func TestTransitionsSetAllThatBelongsTogether(t *testing.T) {
	t.Parallel()
	retrying := hiring.Delivery{Outcome: hiring.Retrying, Fault: hiring.ClassDataFault, Reason: "answered 422",
		Attempts: 2, NextAt: later}
	held := hiring.Delivery{Outcome: hiring.Held, Fault: hiring.ClassDataFault, Reason: "disabled", Attempts: 2,
		HeldSince: begun}
	parked := held
	parked.Parked = true
	heldFirst := hiring.Delivery{Outcome: hiring.Held, Reason: "disabled", HeldSince: begun}
	for name, c := range map[string]struct {
		from       []hiring.Delivery
		transition func(*hiring.Delivery)
		to         hiring.Delivery
	}{
		"attempted": {
			[]hiring.Delivery{retrying, held, parked},
			func(d *hiring.Delivery) { d.Attempted(hiring.ClassPartnerFault, "answered 500") },
			hiring.Delivery{Outcome: hiring.Retrying, Fault: hiring.ClassPartnerFault, Reason: "answered 500", Attempts: 3},
		},
		"delivered": {
			[]hiring.Delivery{retrying, held, parked},
			func(d *hiring.Delivery) { d.Deliver() },
			hiring.Delivery{Outcome: hiring.Delivered, Attempts: 2},
		},
		"retried": {
			[]hiring.Delivery{retrying, {Outcome: hiring.Retrying, Fault: hiring.ClassDataFault, Reason: "answered 422",
				Attempts: 2}},
			func(d *hiring.Delivery) { d.Retry(later.Add(time.Hour)) },
			hiring.Delivery{Outcome: hiring.Retrying, Fault: hiring.ClassDataFault, Reason: "answered 422", Attempts: 2,
				NextAt: later.Add(time.Hour)},
		},
		"failed": {
			[]hiring.Delivery{retrying, held, parked},
			func(d *hiring.Delivery) { d.Fail(hiring.ClassOurFault, "erased") },
			hiring.Delivery{Outcome: hiring.Failed, Fault: hiring.ClassOurFault, Reason: "erased", Attempts: 2},
		},
		"expired, received": {
			[]hiring.Delivery{retrying},
			func(d *hiring.Delivery) { d.Expire(hiring.Received, "too late") },
			hiring.Delivery{Outcome: hiring.Failed, Fault: hiring.ClassDataFault, Reason: "answered 422", Attempts: 2},
		},
		"expired, triggered and held": {
			[]hiring.Delivery{heldFirst},
			func(d *hiring.Delivery) { d.Expire(hiring.Triggered, "too late") },
			hiring.Delivery{Outcome: hiring.Expired, Fault: hiring.ClassOurFault, Reason: "disabled"},
		},
		"expired, not attempted": {
			[]hiring.Delivery{{Outcome: hiring.Pending}},
			func(d *hiring.Delivery) { d.Expire(hiring.Triggered, "too late") },
			hiring.Delivery{Outcome: hiring.Expired, Fault: hiring.ClassOurFault, Reason: "too late"},
		},
		"held": {
			[]hiring.Delivery{retrying},
			func(d *hiring.Delivery) { require.True(t, d.Hold("removed here", later)) },
			hiring.Delivery{Outcome: hiring.Held, Fault: hiring.ClassDataFault, Reason: "removed here", Attempts: 2,
				HeldSince: later},
		},
		"held again, for another reason": {
			[]hiring.Delivery{held},
			func(d *hiring.Delivery) { require.True(t, d.Hold("not configured", later)) },
			hiring.Delivery{Outcome: hiring.Held, Fault: hiring.ClassDataFault, Reason: "not configured", Attempts: 2,
				HeldSince: begun},
		},
		"held again, for the same reason": {
			[]hiring.Delivery{held},
			func(d *hiring.Delivery) { require.False(t, d.Hold("disabled", later)) },
			held,
		},
		"parked": {
			[]hiring.Delivery{held},
			func(d *hiring.Delivery) { d.Park() },
			parked,
		},
		"released": {
			[]hiring.Delivery{held, parked},
			func(d *hiring.Delivery) { d.Release(later) },
			hiring.Delivery{Outcome: hiring.Retrying, Fault: hiring.ClassDataFault, Attempts: 2, NextAt: later},
		},
		"released, not attempted": {
			[]hiring.Delivery{heldFirst},
			func(d *hiring.Delivery) { d.Release(later) },
			hiring.Delivery{Outcome: hiring.Pending, NextAt: later},
		},
	} {
		for _, d := range c.from {
			was := d.Outcome
			c.transition(&d)
			require.Equal(t, c.to, d, "%s, from %s", name, was)
		}
	}
}

// What was held before an attempt is held anew when the attempt is answered with 410.
func TestHoldAfterAnAttemptBegins(t *testing.T) {
	t.Parallel()
	d := hiring.Delivery{Outcome: hiring.Held, Reason: "disabled", HeldSince: begun}
	d.Attempted(hiring.ClassPartnerFault, "answered 410")
	require.True(t, d.Hold("disabled", later))
	require.Equal(t, hiring.Delivery{Outcome: hiring.Held, Fault: hiring.ClassPartnerFault, Reason: "disabled",
		Attempts: 1, HeldSince: later}, d)
}

func TestNewDeliveryIsPending(t *testing.T) {
	t.Parallel()
	e := &hiring.Export{ID: 7, Tenant: "acme"}
	require.Equal(t, &hiring.Delivery{ExportID: 7, Tenant: "acme", Integration: "hris", Round: 1, Outcome: hiring.Pending,
		CreatedAt: begun, UpdatedAt: begun},
		hiring.NewDelivery(e, "hris", 1, begun))
}

// Rounds are per integration: a redelivery to one changes nothing for the others.
func TestLatestDeliveriesArePerIntegration(t *testing.T) {
	t.Parallel()
	e := &hiring.Export{ID: 7, Tenant: "acme"}
	in := func(integration string, round int) *hiring.Delivery {
		return hiring.NewDelivery(e, integration, round, begun)
	}
	ats, hris, again := in("ats", 0), in("hris", 0), in("hris", 1)
	require.Equal(t, []*hiring.Delivery{ats, again}, hiring.LatestDeliveries([]*hiring.Delivery{ats, hris, again}))
	require.Same(t, again, hiring.LatestDelivery([]*hiring.Delivery{ats, hris, again}, "hris"))
	require.Nil(t, hiring.LatestDelivery([]*hiring.Delivery{ats, hris, again}, "crm"))
	require.Empty(t, hiring.LatestDeliveries(nil))
}
