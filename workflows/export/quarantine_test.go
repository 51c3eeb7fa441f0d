package export_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/rounds"
)

// quarantined accepts an export that breaks the schema, has its workflow run, and its delivery to hris held for it.
func (b *lossFixture) quarantined(key string) *model.Export {
	b.t.Helper()
	e := b.take(key, `{}`, func(e *model.Export) { e.Quarantined, e.Findings = true, []byte("[]") })
	b.mark(e, "hris", "crm")
	_, _, class := b.deliver(e)
	require.Equal(b.t, string(model.ClassHeld), class)
	b.temporal.running["export/acme/"+key] = waiting()
	return e
}

// What waits at the gate goes out at once, in its own round; what ended meanwhile does not.
// alone releases an export without writing anything beside it.
func alone(*store.Tx) error { return nil }

func TestReleaseFromQuarantineHurriesWhatIsHeld(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	e := b.quarantined("u-1")
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		return tx.UpsertDelivery(&model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "crm", Outcome: model.Failed, CreatedAt: b.Clock(), UpdatedAt: b.Clock()})
	}))
	res, err := b.watcher.EndQuarantine(t.Context(), "acme", "u-1", alone)
	require.NoError(t, err)
	require.Equal(t, rounds.Released{Released: []string{"hris"}}, res)
	require.Equal(t, []string{"export/acme/u-1 deliver"}, b.temporal.hurried)
	delivered, _, _ := b.deliver(e)
	require.Equal(t, model.ClassDelivered, delivered.Class)
}

// Where Temporal can't be asked, the workflow may run: a second round would deliver what that delivers.
func TestReleaseFromQuarantineWhileTemporalIsAway(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	e := b.quarantined("u-1")
	b.watcher.Reconciler.Client = engineClient{service: new(away)}
	res, err := b.watcher.EndQuarantine(t.Context(), "acme", "u-1", alone)
	require.NoError(t, err)
	require.Equal(t, rounds.Released{Released: []string{"hris"}}, res)
	delivered, _, _ := b.deliver(e)
	require.Equal(t, model.ClassDelivered, delivered.Class)
}

// Its workflow parks a delivery and ends, just when somebody releases the export: it goes out once all the same.
func TestReleaseFromQuarantineOfWhatIsBeingParked(t *testing.T) {
	t.Parallel()
	b := newLossFixture(t)
	e := b.quarantined("u-1")
	b.advance(time.Hour)
	b.temporal.asked = sync.OnceFunc(func() {
		res, _, class := b.deliver(e)
		if class != "" || res.Class != model.ClassHeld {
			t.Errorf("it was not parked: %+v, %q", res, class)
		}
		b.temporal.ended["export/acme/u-1"] = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	})
	_, err := b.watcher.EndQuarantine(t.Context(), "acme", "u-1", alone)
	refused := new(rounds.RefusedError)
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Reason, "ask again")
	res, err := b.watcher.EndQuarantine(t.Context(), "acme", "u-1", alone)
	require.NoError(t, err)
	require.Equal(t, rounds.Released{Round: 1, Released: []string{"hris"}}, res)
	now, err := b.Store.Export(t.Context(), e.ID)
	require.NoError(t, err)
	b.mark(now, "hris")
	delivered, _, _ := b.deliver(now)
	require.Equal(t, model.ClassDelivered, delivered.Class)
	require.NoError(t, b.watcher.TendHeld(t.Context()))
	now, err = b.Store.Export(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, 1, now.Round, "it is delivered a second time")
}
