package documents_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/metrics/metricstest"
	"github.com/hiregate/hiregate/internal/store"
)

// upload puts a file whose row says that it belongs to nobody yet.
func (b *fixture) upload() (name string) {
	b.t.Helper()
	name, err := b.BeginUpload(b.t.Context())
	require.NoError(b.t, err)
	_, err = b.Files.Put(b.t.Context(), name, strings.NewReader("hello"), documents.MaxSize)
	require.NoError(b.t, err)
	return name
}

func (b *fixture) take(name string) error {
	return b.Store.Write(b.t.Context(), func(tx *store.Tx) error { return documents.ClaimUpload(tx, name) })
}

// A node whose clock is ahead finds an upload that has come to nothing, and before it gets to it another one has taken
// its file.
func TestFileThatWasTakenIsNotSweptAway(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	taken, lost := b.upload(), b.upload()
	require.NoError(t, b.take(taken))
	require.NoError(t, b.DiscardUploads(t.Context(), []string{taken, lost}))
	file, _, err := b.Files.Open(taken)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.Equal(t, 1, b.kept())
	require.ErrorContains(t, b.take(lost), "swept away")
}

// The sweep ends between giving an upload up and removing its file: nobody takes it any more, and the next sweep
// removes it.
func TestSweepThatEndedEarlyIsFinished(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	name := b.upload()
	require.NoError(t, b.Store.Write(t.Context(),
		func(tx *store.Tx) error { _, err := tx.AbandonUpload(name); return err }))
	require.ErrorContains(t, b.take(name), "swept away")
	require.NoError(t, b.Sweep(t.Context(), b.clock().Add(-time.Hour)))
	require.Zero(t, b.kept())
}

// A file that can't be removed, on a volume that went read-only or with rights that somebody changed, keeps no other
// file here, however many there are of its kind. That is told once, and counted.
func TestFileThatCantBeRemovedIsPassedOver(t *testing.T) { // alone: there is one gauge for all
	b := newFixture(t)
	core, log := observer.New(zap.ErrorLevel)
	b.Log = zap.New(core)
	var stuck []string
	for range 130 {
		name := b.Files.NewName()
		require.NoError(t, os.MkdirAll(filepath.Join(b.folder, name[:2], name, "in the way"), 0o700))
		stuck = append(stuck, name)
	}
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		for _, name := range stuck {
			if err := tx.InsertUpload(name, b.clock().Add(-time.Hour)); err != nil {
				return err
			}
		}
		return nil
	}))
	sweep := func() (told int) {
		b.upload()
		require.NoError(t, b.Sweep(t.Context(), b.clock().Add(time.Second)))
		require.Zero(t, b.kept())
		return log.Len()
	}
	require.Equal(t, 1, sweep())
	require.Equal(t, int64(130), log.All()[0].ContextMap()["files"])
	require.Contains(t, log.All()[0].ContextMap()["error"], "directory not empty")
	require.Equal(t, 1, sweep(), "it was told before")
	require.Equal(t, 130.0, metricstest.Gauge(t, "hiregate_files_stuck"))

	require.NoError(t, os.RemoveAll(b.folder))
	require.Equal(t, 1, sweep())
	left, err := b.Store.ListUploads(t.Context(), b.clock().Add(time.Hour), 0, 10)
	require.NoError(t, err)
	require.Empty(t, left)
}
