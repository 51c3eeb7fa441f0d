package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

var (
	begun = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	later = begun.Add(time.Hour)
)

// Whatever a delivery was before, a transition leaves nothing of it but what it says it leaves.
func TestTransitionsSetAllThatBelongsTogether(t *testing.T) {
	t.Parallel()
	retrying := model.Delivery{Outcome: model.Retrying, Fault: model.ClassDataFault, Reason: "answered 422",
		Attempts: 2, NextAt: later}
	held := model.Delivery{Outcome: model.Held, Fault: model.ClassDataFault, Reason: "disabled", Attempts: 2,
		HeldSince: begun}
	parked := held
	parked.Parked = true
	heldFirst := model.Delivery{Outcome: model.Held, Reason: "disabled", HeldSince: begun}
	for name, c := range map[string]struct {
		from       []model.Delivery
		transition func(*model.Delivery)
		to         model.Delivery
	}{
		"attempted": {
			[]model.Delivery{retrying, held, parked},
			func(d *model.Delivery) { d.Attempted(500, model.ClassPartnerFault, "answered 500") },
			model.Delivery{Outcome: model.Retrying, Fault: model.ClassPartnerFault, Reason: "answered 500", Attempts: 3, Status: 500},
		},
		"delivered": {
			[]model.Delivery{retrying, held, parked},
			func(d *model.Delivery) { d.Deliver() },
			model.Delivery{Outcome: model.Delivered, Attempts: 2},
		},
		"retried": {
			[]model.Delivery{retrying, {Outcome: model.Retrying, Fault: model.ClassDataFault, Reason: "answered 422",
				Attempts: 2}},
			func(d *model.Delivery) { d.Retry(later.Add(time.Hour)) },
			model.Delivery{Outcome: model.Retrying, Fault: model.ClassDataFault, Reason: "answered 422", Attempts: 2,
				NextAt: later.Add(time.Hour)},
		},
		"failed": {
			[]model.Delivery{retrying, held, parked},
			func(d *model.Delivery) { d.Fail(model.ClassOurFault, "erased") },
			model.Delivery{Outcome: model.Failed, Fault: model.ClassOurFault, Reason: "erased", Attempts: 2},
		},
		"expired, received": {
			[]model.Delivery{retrying},
			func(d *model.Delivery) { d.Expire(model.Received, "too late") },
			model.Delivery{Outcome: model.Failed, Fault: model.ClassDataFault, Reason: "answered 422", Attempts: 2},
		},
		"expired, triggered and held": {
			[]model.Delivery{heldFirst},
			func(d *model.Delivery) { d.Expire(model.Triggered, "too late") },
			model.Delivery{Outcome: model.Expired, Fault: model.ClassOurFault, Reason: "disabled"},
		},
		"expired, not attempted": {
			[]model.Delivery{{Outcome: model.Pending}},
			func(d *model.Delivery) { d.Expire(model.Triggered, "too late") },
			model.Delivery{Outcome: model.Expired, Fault: model.ClassOurFault, Reason: "too late"},
		},
		"held": {
			[]model.Delivery{retrying},
			func(d *model.Delivery) { require.True(t, d.Hold("removed here", later)) },
			model.Delivery{Outcome: model.Held, Fault: model.ClassDataFault, Reason: "removed here", Attempts: 2,
				HeldSince: later},
		},
		"held again, for another reason": {
			[]model.Delivery{held},
			func(d *model.Delivery) { require.True(t, d.Hold("not configured", later)) },
			model.Delivery{Outcome: model.Held, Fault: model.ClassDataFault, Reason: "not configured", Attempts: 2,
				HeldSince: begun},
		},
		"held again, for the same reason": {
			[]model.Delivery{held},
			func(d *model.Delivery) { require.False(t, d.Hold("disabled", later)) },
			held,
		},
		"parked": {
			[]model.Delivery{held},
			func(d *model.Delivery) { d.Park() },
			parked,
		},
		"released": {
			[]model.Delivery{held, parked},
			func(d *model.Delivery) { d.Release(later) },
			model.Delivery{Outcome: model.Retrying, Fault: model.ClassDataFault, Attempts: 2, NextAt: later},
		},
		"released, not attempted": {
			[]model.Delivery{heldFirst},
			func(d *model.Delivery) { d.Release(later) },
			model.Delivery{Outcome: model.Pending, NextAt: later},
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
	d := model.Delivery{Outcome: model.Held, Reason: "disabled", HeldSince: begun}
	d.Attempted(410, model.ClassPartnerFault, "answered 410")
	require.True(t, d.Hold("disabled", later))
	require.Equal(t, model.Delivery{Outcome: model.Held, Fault: model.ClassPartnerFault, Reason: "disabled",
		Attempts: 1, Status: 410, HeldSince: later}, d)
}

func TestNewDeliveryIsPending(t *testing.T) {
	t.Parallel()
	e := &model.Export{ID: 7, Tenant: "acme"}
	require.Equal(t, &model.Delivery{ExportID: 7, Tenant: "acme", Integration: "hris", Round: 1, Outcome: model.Pending,
		CreatedAt: begun, UpdatedAt: begun},
		model.NewDelivery(e, "hris", 1, begun))
}

// Rounds are per integration: a redelivery to one changes nothing for the others.
func TestLatestDeliveriesArePerIntegration(t *testing.T) {
	t.Parallel()
	e := &model.Export{ID: 7, Tenant: "acme"}
	in := func(integration string, round int) *model.Delivery {
		return model.NewDelivery(e, integration, round, begun)
	}
	ats, hris, again := in("ats", 0), in("hris", 0), in("hris", 1)
	require.Equal(t, []*model.Delivery{ats, again}, model.LatestDeliveries([]*model.Delivery{ats, hris, again}))
	require.Same(t, again, model.LatestDelivery([]*model.Delivery{ats, hris, again}, "hris"))
	require.Nil(t, model.LatestDelivery([]*model.Delivery{ats, hris, again}, "crm"))
	require.Empty(t, model.LatestDeliveries(nil))
}
