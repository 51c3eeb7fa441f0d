package rounds_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/exporttest"
	"github.com/hiregate/hiregate/workflows/rounds"
)

func TestReleaseFromQuarantineHurriesWhatIsHeld(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	e := b.Quarantined("u-1")
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		return tx.UpsertDelivery(&model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "crm", Outcome: model.Failed, CreatedAt: b.Clock(), UpdatedAt: b.Clock()})
	}))
	res, err := b.Watcher.EndQuarantine(t.Context(), "acme", "u-1", exporttest.Alone)
	require.NoError(t, err)
	require.Equal(t, rounds.Released{Released: []string{"hris"}}, res)
	require.Equal(t, []string{"export/acme/u-1 deliver"}, b.Temporal.Hurried)
	delivered, _, _ := b.DeliverOnce(e)
	require.Equal(t, model.ClassDelivered, delivered.Class)
}

// Where Temporal can't be asked, the workflow may run: a second round would deliver what that delivers.
func TestReleaseFromQuarantineWhileTemporalIsAway(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	e := b.Quarantined("u-1")
	b.Watcher.Reconciler.Client = exporttest.EngineClient{Service: new(exporttest.Away)}
	res, err := b.Watcher.EndQuarantine(t.Context(), "acme", "u-1", exporttest.Alone)
	require.NoError(t, err)
	require.Equal(t, rounds.Released{Released: []string{"hris"}}, res)
	delivered, _, _ := b.DeliverOnce(e)
	require.Equal(t, model.ClassDelivered, delivered.Class)
}

// Its workflow parks a delivery and ends, just when somebody releases the export: it goes out once all the same.
func TestReleaseFromQuarantineOfWhatIsBeingParked(t *testing.T) {
	t.Parallel()
	b := exporttest.NewLossFixture(t)
	e := b.Quarantined("u-1")
	b.Advance(time.Hour)
	b.Temporal.Asked = sync.OnceFunc(func() {
		res, _, class := b.DeliverOnce(e)
		if class != "" || res.Class != model.ClassHeld {
			t.Errorf("it was not parked: %+v, %q", res, class)
		}
		b.Temporal.Ended["export/acme/u-1"] = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	})
	_, err := b.Watcher.EndQuarantine(t.Context(), "acme", "u-1", exporttest.Alone)
	refused := new(rounds.RefusedError)
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Reason, "ask again")
	res, err := b.Watcher.EndQuarantine(t.Context(), "acme", "u-1", exporttest.Alone)
	require.NoError(t, err)
	require.Equal(t, rounds.Released{Round: 1, Released: []string{"hris"}}, res)
	now, err := b.Store.Export(t.Context(), e.ID)
	require.NoError(t, err)
	b.Mark(now, "hris")
	delivered, _, _ := b.DeliverOnce(now)
	require.Equal(t, model.ClassDelivered, delivered.Class)
	require.NoError(t, b.Watcher.TendHeld(t.Context()))
	now, err = b.Store.Export(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, 1, now.Round, "it is delivered a second time")
}
