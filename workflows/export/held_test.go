package export_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
)

// Its gate may open up to its end, and then it still goes out; and no sooner than then it expires.
func TestHeldTriggeredExportExpiresAtItsEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.set(hiring.Disabled)
	triggered := func(e *hiring.Export) { e.Origin, e.DeliverTill = hiring.Triggered, e.DocumentsTill }
	e, late := b.take("u-1", `{}`, triggered), b.take("u-2", `{}`, triggered)
	b.advance(hiring.DocumentWindow - time.Second)
	_, wait, class := b.deliver(late)
	require.Equal(t, string(hiring.ClassHeld), class)
	require.Equal(t, time.Second, wait)
	b.set(hiring.Configured)
	res, _, _ := b.deliver(late)
	require.Equal(t, hiring.ClassDelivered, res.Class)

	b.set(hiring.Disabled)
	b.advance(time.Second - hiring.DocumentWindow)
	for class := "held"; class != ""; {
		var wait time.Duration
		_, wait, class = b.deliver(e)
		if class != "" {
			require.Equal(t, hiring.Held, b.delivery(e).Outcome)
		}
		b.advance(wait)
	}
	require.Equal(t, e.DocumentsTill, b.Clock())
	d := b.delivery(e)
	require.Equal(t, hiring.Expired, d.Outcome)
	require.Contains(t, d.Reason, "hris is disabled", "it tells why nothing was sent")
}
