//go:build unix

package documents_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/fulldisktest"
	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/metrics/metricstest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// A disk that is full is told of long before the first document is lost.
func TestFullDisk(t *testing.T) { fulldisktest.Run(t, fillDisk) }

func fillDisk(t *testing.T, room func(bytes uint64)) {
	b := newFixtureOn(t, storetest.Postgres(t)) // whose files have room still
	core, logged := observer.New(zapcore.InfoLevel)
	b.Log = zap.New(core)
	warned := func() (all []observer.LoggedEntry) {
		for _, entry := range logged.TakeAll() {
			if entry.Message == "a document could not be stored; it is fetched again until its URL ends" {
				all = append(all, entry)
			}
		}
		return all
	}
	require.NoError(t, b.Files.Check())
	acme, globex := b.accept("one"), b.acceptFor("globex", "one")

	room(0)
	require.ErrorIs(t, b.Files.Check(), documents.ErrFull)
	require.Equal(t, 1, b.fetch(acme).Missing)
	told := warned()
	require.Len(t, told, 1)
	require.Equal(t, "acme", told[0].ContextMap()["tenant"])
	require.Contains(t, told[0].ContextMap()["cause"], "there is no room for documents")
	require.NotContains(t, told[0].ContextMap()["cause"], b.service.URL, "a document's URL is a credential")
	require.Equal(t, 1, b.fetch(globex).Missing)
	require.Len(t, warned(), 1, "another tenant")
	for range 2 {
		b.advance(20 * time.Second)
		require.Equal(t, 1, b.fetch(acme).Missing)
	}
	require.Empty(t, warned(), "within a minute")
	b.advance(20 * time.Second)
	require.Equal(t, 1, b.fetch(acme).Missing)
	told = warned()
	require.Len(t, told, 1, "after a minute")
	require.EqualValues(t, 3, told[0].ContextMap()["failures"])

	_, err := b.Storable()
	require.NoError(t, err, "nobody looked")
	b.advance(time.Hour)
	late := b.accept("late")
	require.Equal(t, 1, b.fetch(late).Missing)
	watched, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { new(loop.Set).Run(watched, zap.NewNop(), b.Loops()...) })
	require.Eventually(t, func() bool { return metricstest.Gauge(t, "hiregate_documents_unfetched") == 3 }, time.Minute, time.Millisecond)
	stop()
	watching.Wait()
	_, err = b.Storable()
	require.ErrorIs(t, err, documents.ErrFull)
	require.Equal(t, (model.DocumentWindow - time.Hour - time.Minute).Seconds(),
		metricstest.Gauge(t, "hiregate_documents_unfetched_window_seconds"), "of the first one")
	require.Positive(t, metricstest.Gauge(t, "hiregate_documents_free_bytes"))
	require.Equal(t, 1, logged.FilterMessageSnippet("documents can't be stored").Len())

	room(fulldisktest.Whole)
	require.NoError(t, b.Files.Check())
	require.Zero(t, b.fetch(acme).Missing)
}
