package export_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// An activity that hangs is found by its heartbeats, one that waits for its turn has longer than an attempt takes, and Temporal gives
// neither up before our own end has come, also where that was over when it was started. Slow downloads take no place of a delivery.
func TestHowLongActivitiesHave(t *testing.T) {
	t.Parallel()
	type limits struct {
		ID, Queue                         string
		Heartbeat, StartToClose, ToTheEnd time.Duration
	}
	for _, late := range []time.Duration{0, time.Hour, 96 * time.Hour} {
		env := exporttest.NewWorkflow()
		env.SetStartTime(exporttest.Noon.Add(late))
		var mu sync.Mutex
		got := map[string]limits{}
		note := func(ctx context.Context) {
			info := activity.GetInfo(ctx)
			mu.Lock()
			defer mu.Unlock()
			got[info.ActivityType.Name] = limits{info.ActivityID, info.TaskQueue, info.HeartbeatTimeout, info.StartToCloseTimeout, info.ScheduleToCloseTimeout}
		}
		env.RegisterActivityWithOptions(func(ctx context.Context, part export.Part) ([]export.DeliverResult, error) {
			note(ctx)
			return []export.DeliverResult{{Export: 7, Integration: part.To[0], Class: model.ClassDelivered}}, nil
		}, activity.RegisterOptions{Name: export.DeliverName})
		env.RegisterActivityWithOptions(func(ctx context.Context, _ export.Part) (export.FetchResult, error) {
			note(ctx)
			return export.FetchResult{Fetched: 2, GivenUp: 1}, nil
		}, activity.RegisterOptions{Name: export.FetchDocumentsName})
		env.ExecuteWorkflow(export.Workflow, export.Input{Exports: []int64{7}, Documents: true, DocumentsTill: exporttest.Noon.Add(model.DocumentWindow),
			DeliverTill: exporttest.Noon.Add(model.DeliveryWindow), To: []string{"hris"}})
		require.NoError(t, env.GetWorkflowError())
		var res export.Result
		require.NoError(t, env.GetWorkflowResult(&res))
		require.Equal(t, export.FetchResult{Fetched: 2, GivenUp: 1}, res.Documents)
		delivering := max(0, model.DeliveryWindow-late) + 5*time.Minute
		fetching := max(0, model.DocumentWindow-late) + 5*time.Minute
		require.Equal(t, map[string]limits{
			"deliver":         {"deliver", "hiregate-deliver", 10 * time.Second, min(10*time.Minute, delivering), delivering},
			"fetch-documents": {"fetch-documents", "hiregate-documents", 10 * time.Second, min(10*time.Minute, fetching), fetching},
		}, got, late)
	}
}

// Whoever looks for what went wrong finds each round by what has to be looked at first; what was delivered is not among it. Where the
// search attributes are not registered, none is written.
func TestOutcomeOfARound(t *testing.T) {
	t.Parallel()
	const gaveUp = model.Class("the activity gave up")
	for _, c := range []struct {
		classes []model.Class
		outcome model.Class // empty: none
	}{
		{[]model.Class{model.ClassDelivered, model.ClassDelivered}, ""},
		{[]model.Class{model.ClassDelivered, model.ClassHeld}, model.ClassHeld},
		{[]model.Class{model.ClassExpired, model.ClassHeld}, model.ClassExpired},
		{[]model.Class{model.ClassExpired, model.ClassPartnerFault}, model.ClassPartnerFault},
		{[]model.Class{model.ClassDataFault, model.ClassPartnerFault}, model.ClassDataFault},
		{[]model.Class{model.ClassDataFault, model.ClassOurFault, model.ClassHeld}, model.ClassOurFault},
		{[]model.Class{model.ClassDelivered, gaveUp}, model.ClassOurFault},
	} {
		for _, attributes := range []bool{true, false} {
			env := exporttest.NewWorkflow()
			env.RegisterActivityWithOptions(func(part export.Part) (res []export.DeliverResult, err error) {
				for n, class := range c.classes {
					if class == gaveUp {
						return nil, temporal.NewNonRetryableApplicationError("gave up", "net", nil)
					}
					res = append(res, export.DeliverResult{Export: 7, Integration: strconv.Itoa(n), Class: class})
				}
				return res, nil
			}, activity.RegisterOptions{Name: export.DeliverName})
			var back []export.Part
			env.RegisterActivityWithOptions(func(part export.Part) error {
				back = append(back, part)
				return nil
			}, activity.RegisterOptions{Name: export.HandBackName})
			written := []temporal.SearchAttributes{}
			env.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil).Run(func(args mock.Arguments) {
				written = append(written, args.Get(0).(temporal.SearchAttributes))
			}).Maybe()
			in := export.Input{Exports: []int64{7}, Attributes: attributes}
			for n := range c.classes {
				in.To = append(in.To, strconv.Itoa(n))
			}
			env.ExecuteWorkflow(export.Workflow, in)
			require.NoError(t, env.GetWorkflowError())
			if slices.Contains(c.classes, gaveUp) {
				require.Len(t, back, 1, "what was given up goes on elsewhere")
				require.Equal(t, in.Exports, back[0].Exports)
			} else {
				require.Empty(t, back)
			}
			if c.outcome == "" || !attributes {
				require.Empty(t, written, c.classes)
				continue
			}
			require.Equal(t, []temporal.SearchAttributes{temporal.NewSearchAttributes(workflows.AttributeOutcome.ValueSet(string(c.outcome)))}, written, c.classes)
		}
	}
}

// What became of the documents is in the store. That Temporal gave up fetching them takes nothing from what was delivered.
func TestRoundWhoseDocumentsWereGivenUp(t *testing.T) {
	t.Parallel()
	env := exporttest.NewWorkflow()
	env.SetStartTime(exporttest.Noon)
	env.RegisterActivityWithOptions(func(part export.Part) ([]export.DeliverResult, error) {
		return []export.DeliverResult{{Export: 7, Integration: part.To[0], Class: model.ClassDelivered, Attempts: 1}}, nil
	}, activity.RegisterOptions{Name: export.DeliverName})
	env.RegisterActivityWithOptions(func(export.Part) (export.FetchResult, error) {
		return export.FetchResult{}, temporal.NewNonRetryableApplicationError("gave up", "net", nil)
	}, activity.RegisterOptions{Name: export.FetchDocumentsName})
	env.ExecuteWorkflow(export.Workflow, export.Input{Exports: []int64{7}, Documents: true, To: []string{"hris"}, Wait: time.Minute})
	require.NoError(t, env.GetWorkflowError())
	var res export.Result
	require.NoError(t, env.GetWorkflowResult(&res))
	require.Equal(t, export.Result{Deliveries: []export.DeliverResult{{Export: 7, Integration: "hris", Class: model.ClassDelivered, Attempts: 1}}}, res)
}
