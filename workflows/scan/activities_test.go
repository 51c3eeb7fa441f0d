package scan

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	_ "github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// hanging is a scanner that says nothing before it is told to.
type hanging struct{ asked, goOn chan struct{} }

func (h *hanging) Scan(context.Context, io.Reader) (string, error) {
	h.asked <- struct{}{}
	<-h.goOn
	return "", nil
}

// Scans and the fetching of documents share a worker. A scanner that hangs must leave places on it.
func TestAScannerThatHangsTakesFewPlaces(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), storetest.SQLite(t), store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := documents.OpenFiles(t.TempDir())
	require.NoError(t, err)
	blob, err := files.Put(t.Context(), files.NewName(), strings.NewReader("%PDF-1.4"), 100)
	require.NoError(t, err)
	const late = scansAtOnce + 1
	require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
		for key := range int64(late) {
			d := &model.ApplicationDocument{Key: key + 1, Tenant: "initech", Application: "a-1", ID: strconv.FormatInt(key, 10), MediaType: "application/pdf",
				Blob: blob.Name, SHA256: blob.SHA256[:], Size: blob.Size, CreatedAt: time.Now(), Scan: model.ScanPending}
			if _, err := tx.InsertApplicationDocument(d); err != nil {
				return err
			}
		}
		return nil
	}))
	scanner := &hanging{asked: make(chan struct{}, late), goOn: make(chan struct{})}
	force := new(config.InForce)
	force.Push(&config.Config{Scanner: scanner})
	a := &Activities{Store: db, Archive: &documents.Archive{Store: db, Files: files}, InForce: force, Now: time.Now, Log: zap.NewNop()}
	scan := func(key int64) (res Result, err error) {
		env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
		env.RegisterActivityWithOptions(a.Scan, activity.RegisterOptions{Name: ScanName})
		value, err := env.ExecuteActivity(ScanName, Input{Document: key})
		if err != nil {
			return res, err
		}
		return res, value.Get(&res)
	}
	ended := make(chan error, scansAtOnce)
	for key := range int64(scansAtOnce) {
		go func() {
			_, err := scan(key + 1)
			ended <- err
		}()
		<-scanner.asked
	}
	answered := make(chan error, 1)
	go func() {
		_, err := scan(late)
		answered <- err
	}()
	select {
	case err = <-answered:
	case <-scanner.asked:
		close(scanner.goOn)
		t.Fatal("the scanner was asked about all of them")
	}
	again := new(temporal.ApplicationError)
	require.True(t, errors.As(err, &again), "%v", err)
	require.Equal(t, "at_capacity", again.Type())
	close(scanner.goOn)
	for range scansAtOnce {
		require.NoError(t, <-ended)
	}
	res, err := scan(late)
	require.NoError(t, err)
	require.Equal(t, model.Clean, res.Scan)
}
