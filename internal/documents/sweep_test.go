package documents_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/store"
)

// upload puts a file whose row says that it belongs to nobody yet.
func (b *bench) upload() (name string) {
	b.t.Helper()
	name, err := b.Begin(b.t.Context())
	require.NoError(b.t, err)
	_, err = b.Files.PutAs(b.t.Context(), name, strings.NewReader("hello"), documents.MaxSize)
	require.NoError(b.t, err)
	return name
}

func (b *bench) take(name string) error {
	return b.Store.Write(b.t.Context(), func(tx *store.Tx) error { return documents.Take(tx, name) })
}

// A node whose clock is ahead finds an upload that has come to nothing, and before it gets to it another one has taken its file.
func TestFileThatWasTakenIsNotSweptAway(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	taken, lost := b.upload(), b.upload()
	require.NoError(t, b.take(taken))
	require.NoError(t, b.Forget(t.Context(), []string{taken, lost}))
	file, _, err := b.Files.Open(taken)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.Equal(t, 1, b.kept())
	require.ErrorContains(t, b.take(lost), "swept away")
}

// The sweep ends between giving an upload up and removing its file: nobody takes it any more, and the next sweep removes it.
func TestSweepThatEndedEarlyIsFinished(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	name := b.upload()
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error { _, err := tx.GiveUpUpload(name); return err }))
	require.ErrorContains(t, b.take(name), "swept away")
	require.NoError(t, b.Sweep(t.Context(), b.clock().Add(-time.Hour)))
	require.Zero(t, b.kept())
}
