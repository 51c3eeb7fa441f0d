package dispatch_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/dispatch"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
	"github.com/hiregate/hiregate/workflows/rounds"
)

// The ends stand in the input, so that a late start extends none; documents are fetched where there are some to fetch.
func TestWhatAWorkflowIsStartedWith(t *testing.T) {
	t.Parallel()
	body := `{"candidate":{"profiles":[{"attachments":[{"url":"http://127.0.0.1:1/a"}]}]}}`
	attached := func(e *model.Export) { e.Attachments = 1 }
	for name, c := range map[string]struct {
		change     func(*model.Export)
		documents  bool
		wait, till time.Duration
		priority   int
	}{
		"received":  {attached, true, time.Minute, model.DeliveryWindow, 3},
		"nothing":   {func(*model.Export) {}, false, time.Minute, model.DeliveryWindow, 3},
		"triggered": {func(e *model.Export) { attached(e); exporttest.Triggered(e) }, false, 0, model.DocumentWindow, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := exporttest.NewFixture(t)
			e := b.Take("u-1", body, c.change)
			s := b.StartOf(true)
			require.Equal(t, export.Input{Version: export.InputVersion, Exports: []int64{e.ID}, Documents: c.documents, DocumentsTill: exporttest.Noon.Add(model.DocumentWindow),
				DeliverTill: exporttest.Noon.Add(c.till), To: []string{"hris"}, Wait: c.wait, Attributes: true, Local: name == "nothing"}, s.Input)
			require.Equal(t, client.StartWorkflowOptions{ID: "export/acme/u-1", TaskQueue: "hiregate-deliver",
				WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE, WorkflowExecutionErrorWhenAlreadyStarted: true,
				EnableEagerStart: true, StaticSummary: "CANDIDATE-EXPORT of acme → hris",
				StaticDetails: "[The export in the console](" + b.InForce.Current().PublicURL + "/console/exports/acme/u-1)",
				Priority:      temporal.Priority{PriorityKey: c.priority, FairnessKey: "acme"},
				TypedSearchAttributes: temporal.NewSearchAttributes(workflows.AttributeTenant.ValueSet([]string{"acme"}),
					workflows.AttributeExport.ValueSet([]string{"u-1"}), workflows.AttributeEvent.ValueSet("CANDIDATE-EXPORT"), workflows.AttributeIntegration.ValueSet("hris")),
			}, s.Options)
		})
	}
}

// A later round has an id of its own, and one for several integrations is found under none of them.
func TestWhatALaterRoundIsStartedWith(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	e := b.Delivered("u-1")
	b.Advance(time.Hour)
	_, err := b.Watcher.Redeliver(t.Context(), "acme", "u-1", nil, func(*store.Tx, rounds.Redelivery) error { return nil })
	require.NoError(t, err)
	till := b.Clock().Add(model.DeliveryWindow)
	s := b.StartOf(true)
	require.Equal(t, "export/acme/u-1/redelivery/1", s.Options.ID)
	require.Equal(t, []any{1, till}, []any{s.Input.Round, s.Input.DeliverTill})
	require.Equal(t, 3, s.Options.TypedSearchAttributes.Size())
	now := b.Becomes(e, exporttest.Started)
	require.Equal(t, []any{1, []string{"crm", "hris"}}, []any{now.Round, now.Integrations})
}

// Until the search attributes are registered the workflow neither has them nor writes one.
func TestWorkflowBeforeTheAttributesAreRegistered(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Accept("u-1")
	s := b.StartOf(false)
	require.False(t, s.Input.Attributes)
	require.Zero(t, s.Options.TypedSearchAttributes.Size())
}

// Temporal has the workflow, and can't tell for whom. To take it for somebody else's would deliver the export twice.
func TestWhatIsStartedAlreadyIsReadUntilItIsKnown(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	e := b.Accept("u-1")
	first, err := converter.GetDefaultDataConverter().ToPayloads(export.Input{Exports: []int64{e.ID}, To: []string{"hris"}})
	require.NoError(t, err)
	var asked atomic.Int64
	b.Advance(time.Minute)
	b.Run(exporttest.Starter{First: first,
		Start: func(client.StartWorkflowOptions) error {
			return serviceerror.NewWorkflowExecutionAlreadyStarted("it is there", "", "")
		},
		Read: func() error {
			if asked.Add(1) == 1 {
				return serviceerror.NewUnavailable("it went away")
			}
			return nil
		},
	}, false)
	e = b.Becomes(e, exporttest.Started)
	require.Zero(t, e.Round)
	require.Equal(t, int64(2), asked.Load())
}

// hurried is a Temporal whose callers have to say how long they wait.
type hurried struct {
	exporttest.Starter
	unbounded atomic.Int64
}

func (h *hurried) note(ctx context.Context) {
	if _, ok := ctx.Deadline(); !ok {
		h.unbounded.Add(1)
	}
}

func (h *hurried) ExecuteWorkflow(ctx context.Context, o client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error) {
	h.note(ctx)
	return h.Starter.ExecuteWorkflow(ctx, o, workflow, args...)
}

func (h *hurried) GetWorkflowHistory(ctx context.Context, id, run string, poll bool, filter enums.HistoryEventFilterType) client.HistoryEventIterator {
	h.note(ctx)
	return h.Starter.GetWorkflowHistory(ctx, id, run, poll, filter)
}

// A Temporal that takes a question and never answers must not keep a starter for good.
func TestTemporalIsNotWaitedForWithoutEnd(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	e := b.Accept("u-1")
	first, err := converter.GetDefaultDataConverter().ToPayloads(export.Input{Exports: []int64{e.ID}, To: []string{"hris"}})
	require.NoError(t, err)
	b.Advance(time.Minute)
	h := &hurried{Starter: exporttest.Starter{First: first, Start: func(client.StartWorkflowOptions) error {
		return serviceerror.NewWorkflowExecutionAlreadyStarted("it is there", "", "")
	}}}
	b.Run(h, false)
	b.Becomes(e, exporttest.Started)
	require.Zero(t, h.unbounded.Load())
}

// Whoever has an export on disk answers at once, however many wait for a starter.
func TestOfferWaitsForNobody(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	d := &dispatch.Dispatcher{Store: b.Store, InForce: b.InForce, Now: b.Clock, Log: zap.NewNop(), Attributes: new(atomic.Bool)}
	offered := make(chan struct{})
	go func() {
		defer close(offered)
		for n := range 5000 {
			d.Offer(&model.Export{Tenant: "acme", Key: fmt.Sprint(n)})
		}
	}()
	select {
	case <-offered:
	case <-time.After(30 * time.Second):
		t.Error("it waits for a starter")
	}
}
