package export_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hiregate/hiregate/workflows/export"
)

// Temporal's page of a workflow shows the last failure of its activity: it names class and status.
func TestTheLastFailureNamesClassAndStatus(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for status, want := range map[int64]string{503: "partner_fault: status 503", 422: "data_fault: status 422"} {
		b.status.Store(status)
		e := b.accept(fmt.Sprint("u-", status))
		_, err := b.env.ExecuteActivity(export.DeliverName,
			export.Part{Export: e.ID, Integration: "hris", Till: e.DeliverTill})
		retry := new(temporal.ApplicationError)
		require.ErrorAs(t, err, &retry)
		require.Equal(t, want, retry.Message())
	}
}

// A delivered export leaves one line in the log, by which it is found.
func TestADeliveryIsLogged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	core, logged := observer.New(zapcore.InfoLevel)
	b.Log = zap.New(core)
	b.status.Store(503)
	e := b.accept("u-1")
	_, wait, _ := b.deliver(e)
	b.advance(wait)
	b.status.Store(200)
	b.deliver(e)
	lines := logged.FilterMessage("delivered").All()
	require.Len(t, lines, 1)
	fields := lines[0].ContextMap()
	require.Positive(t, fields["took"])
	delete(fields, "took")
	require.Equal(t, map[string]any{"uuid": "u-1", "tenant": "acme", "integration": "hris", "attempt": int64(2),
		"status": int64(200), "since_received": wait}, fields)
}
