package export_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// Temporal's page of a workflow shows the last failure of its activity: it names class and status.
func TestTheLastFailureNamesClassAndStatus(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	for status, want := range map[int64]string{503: "partner_fault: status 503", 422: "data_fault: status 422"} {
		b.Status.Store(status)
		e := b.Accept(fmt.Sprint("u-", status))
		_, err := b.Env.ExecuteActivity(export.DeliverName, exporttest.Part(e))
		retry := new(temporal.ApplicationError)
		require.ErrorAs(t, err, &retry)
		require.Equal(t, want, retry.Message())
	}
}

// A delivered export leaves one line in the log, by which it is found.
func TestADeliveryIsLogged(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	core, logged := observer.New(zapcore.InfoLevel)
	b.Log = zap.New(core)
	b.Status.Store(503)
	e := b.Accept("u-1")
	_, wait, _ := b.DeliverOnce(e)
	b.Advance(wait)
	b.Status.Store(200)
	b.DeliverOnce(e)
	lines := logged.FilterMessage("delivered").All()
	require.Len(t, lines, 1)
	fields := lines[0].ContextMap()
	for _, name := range []string{"took", "first_byte"} {
		require.Regexp(t, `^[0-9.]+(µs|ms|s)$`, fields[name], name)
		delete(fields, name)
	}
	require.Equal(t, map[string]any{"uuid": "u-1", "tenant": "acme", "integration": "hris", "attempt": int64(2),
		"manual": false, "status": int64(200), "address": b.Partner.Listener.Addr().String(),
		"since_received": wait.Round(10 * time.Millisecond).String()}, fields)

	lines = logged.FilterMessage("delivery not received").All()
	require.Len(t, lines, 1)
	fields = lines[0].ContextMap()
	require.Equal(t, "answered 503; only 2xx means received", fields["reason"])
	require.Equal(t, wait.Round(10*time.Millisecond).String(), fields["next_in"])
	require.Regexp(t, `^[0-9.]+(µs|ms|s)$`, fields["connect"], "the second attempt found the connection open")
}
