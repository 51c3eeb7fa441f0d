package rounds_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// Whoever asks for the documents of an export makes them due, and wakes the activity that waits for their next try.
func TestDocumentsAreFetchedNow(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	e := b.Accept("u-1")
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		return tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: e.Tenant, SourceURL: []byte(b.Partner.URL), CreatedAt: exporttest.Noon})
	}))
	docs, err := b.Store.ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	docs[0].Tries, docs[0].NextAt = 1, exporttest.Noon.Add(time.Minute)
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error { _, err := tx.UpdateDocument(docs[0]); return err }))
	temporal := &exporttest.Engine{Running: map[string][]*workflow.PendingActivityInfo{"export/acme/u-1": {{ActivityId: "fetch-documents",
		State:                   enums.PENDING_ACTIVITY_STATE_SCHEDULED,
		LastAttemptCompleteTime: timestamppb.Now(), NextAttemptScheduleTime: timestamppb.Now()}}}}
	redeliverer := b.Redeliverer()
	redeliverer.Reconciler.Client = exporttest.EngineClient{Service: temporal}
	begun := 0
	for range 2 { // the second finds a workflow that Temporal has lost
		n, err := redeliverer.FetchDocuments(t.Context(), e, exporttest.Noon, func(*store.Tx) error { begun++; return nil })
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		temporal.Running = nil
	}
	require.Equal(t, 2, begun)
	require.Equal(t, []string{"export/acme/u-1 fetch-documents"}, temporal.Hurried)
	progress, err := b.Store.DocumentProgress(t.Context(), []int64{e.ID})
	require.NoError(t, err)
	require.True(t, progress[e.ID].NextAt.Before(exporttest.Noon), "it is due")
}
