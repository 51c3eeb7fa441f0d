package export_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// Thousands may be held at once: each looks a second time, for a gate that was just opening, and then when it is parked.
func TestHeldHardlyEverLooks(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Set(model.NotConfigured)
	e := b.Accept("u-1")
	looks := 0
	for class := "held"; class != ""; looks++ {
		var wait time.Duration
		_, wait, class = b.DeliverOnce(e)
		b.Advance(wait)
	}
	require.Equal(t, 3, looks)
	require.True(t, b.Delivery(e).Parked)
	require.Equal(t, exporttest.Noon.Add(time.Hour), b.Clock())
}

// Its gate may open up to its end, and then it still goes out; and no sooner than then it expires.
func TestHeldTriggeredExportExpiresAtItsEnd(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Set(model.Disabled)
	e, late := b.Take("u-1", `{}`, exporttest.Triggered), b.Take("u-2", `{}`, exporttest.Triggered)
	b.Advance(model.DocumentWindow - time.Second)
	_, wait, class := b.DeliverOnce(late)
	require.Equal(t, string(model.ClassHeld), class)
	require.Equal(t, time.Second, wait)
	b.Set(model.Configured)
	res, _, _ := b.DeliverOnce(late)
	require.Equal(t, model.ClassDelivered, res.Class)

	b.Set(model.Disabled)
	b.Advance(time.Second - model.DocumentWindow)
	for class := "held"; class != ""; {
		var wait time.Duration
		_, wait, class = b.DeliverOnce(e)
		if class != "" {
			require.Equal(t, model.Held, b.Delivery(e).Outcome)
		}
		b.Advance(wait)
	}
	require.Equal(t, e.DocumentsTill, b.Clock())
	d := b.Delivery(e)
	require.Equal(t, model.Expired, d.Outcome)
	require.Contains(t, d.Reason, "hris is disabled", "it tells why nothing was sent")
	require.Zero(t, d.HeldSince, "it is counted among what is held")
}

// A gate may open while a run is ending that found it closed, and nobody can hurry that one.
func TestHeldLooksOnceMoreAtOnce(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Set(model.NotConfigured)
	e := b.Accept("u-1")
	_, wait, _ := b.DeliverOnce(e)
	require.LessOrEqual(t, wait, 3600*time.Millisecond)
	b.Set(model.Configured)
	b.Advance(wait)
	res, _, _ := b.DeliverOnce(e)
	require.Equal(t, model.ClassDelivered, res.Class)
}

// Whoever looks reads why it is held now, and not why it once was; and once it was let go and tried, nothing of that.
func TestReasonOfWhatIsHeldIsThatOfNow(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Set(model.NotConfigured)
	e := b.Accept("u-1")
	b.DeliverOnce(e)
	since := b.Delivery(e).HeldSince
	b.Advance(time.Minute)
	b.Set(model.Disabled)
	b.DeliverOnce(e)
	d := b.Delivery(e)
	require.Contains(t, d.Reason, "hris is disabled")
	require.Equal(t, since, d.HeldSince)
	b.Set(model.Configured)
	b.Status.Store(500)
	b.DeliverOnce(e)
	d = b.Delivery(e)
	require.Equal(t, model.Retrying, d.Outcome)
	require.NotContains(t, d.Reason, "disabled")
	require.Zero(t, d.HeldSince)
}

// What is held when its time is about to end is parked before that, and not given up: held does not run out.
func TestHeldAtTheEndIsParked(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Set(model.Disabled)
	e := b.Accept("u-1")
	b.Advance(model.DeliveryWindow - 29*time.Second)
	res, _, class := b.DeliverOnce(e)
	require.Empty(t, class)
	require.Equal(t, model.ClassHeld, res.Class)
	require.True(t, b.Delivery(e).Parked)
}
