package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// scanned adds a document whose scan is pending.
func scanned(t *testing.T, db *store.DB, key int64, at time.Time) *model.ApplicationDocument {
	t.Helper()
	d := &model.ApplicationDocument{Key: key, Tenant: "initech", Application: "a-1", ID: fmt.Sprint("doc-", key), MediaType: "application/pdf",
		Blob: fmt.Sprint("blob-", key), SHA256: []byte{1}, Size: 7, CreatedAt: at, Scan: model.ScanPending}
	write(t, db, func(tx *store.Tx) error {
		_, err := tx.InsertApplicationDocument(d)
		return err
	})
	return d
}

func endScan(t *testing.T, db *store.DB, d *model.ApplicationDocument, found string) (ended bool) {
	t.Helper()
	write(t, db, func(tx *store.Tx) (err error) {
		ended, err = tx.FinishScan(d, found, noon)
		return err
	})
	return ended
}

func TestScansAreStartedInTurn(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		due := func(at time.Time) []int64 {
			keys, err := db.ListDueScans(t.Context(), at, 2)
			require.NoError(t, err)
			return keys
		}
		for n := range 3 {
			scanned(t, db, int64(3-n), noon.Add(time.Duration(n)*time.Second))
		}
		write(t, db, func(tx *store.Tx) error {
			_, err := tx.InsertApplicationDocument(&model.ApplicationDocument{Key: 9, Tenant: "initech", Application: "a-1", ID: "doc-9", SHA256: []byte{1}, CreatedAt: noon})
			return err
		})
		require.Empty(t, due(noon.Add(-time.Microsecond)))
		require.Equal(t, []int64{3}, due(noon))
		require.Equal(t, []int64{3, 2}, due(noon.Add(time.Hour)))
		write(t, db, func(tx *store.Tx) error { return tx.PostponeScan(3, noon.Add(time.Hour)) })
		require.Equal(t, []int64{2, 1}, due(noon.Add(time.Hour-time.Microsecond)))
		n, err := db.CountPendingScans(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 3, n, "one whose scan is under way is pending, too")
	})
}

func TestAScanEndsOnce(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		clean, bad := scanned(t, db, 1, noon), scanned(t, db, 2, noon)
		for _, d := range []*model.ApplicationDocument{clean, bad} {
			got, err := db.DocumentToScan(t.Context(), d.Key)
			require.NoError(t, err)
			require.Equal(t, d.Blob, got.Blob)
		}
		require.True(t, endScan(t, db, clean, ""))
		require.True(t, endScan(t, db, bad, "Some.Name"))
		require.False(t, endScan(t, db, clean, "Some.Name"), "a scan ended twice")
		for d, want := range map[*model.ApplicationDocument]model.ApplicationDocument{clean: {Scan: model.Clean}, bad: {Scan: model.Refused, Finding: "Some.Name"}} {
			got, err := db.ApplicationDocument(t.Context(), d.Tenant, d.Application, d.ID)
			require.NoError(t, err)
			require.Equal(t, want, model.ApplicationDocument{Scan: got.Scan, Finding: got.Finding})
			got, err = db.DocumentToScan(t.Context(), d.Key)
			require.NoError(t, err)
			require.Nil(t, got)
		}
		uploads, err := db.ListUploads(t.Context(), noon.Add(time.Second), 0, 10)
		require.NoError(t, err)
		require.Equal(t, []string{bad.Blob}, uploads, "the file of what was refused is to be removed")
		got, err := db.DocumentToScan(t.Context(), 77)
		require.NoError(t, err)
		require.Nil(t, got)
	})
}

// An export that is made while its documents are being scanned learns what came of it; one that is made afterwards
// knows.
func TestExportsFollowTheScan(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		clean, bad, deleted, free := scanned(t, db, 1, noon), scanned(t, db, 2, noon), scanned(t, db, 3, noon), scanned(t, db, 4, noon)
		free.Scan = model.Unscanned
		offer := func(key string, all ...*model.ApplicationDocument) *model.Export {
			e := export("initech", key, "b")
			require.True(t, insert(t, db, e))
			write(t, db, func(tx *store.Tx) error {
				for n, d := range all {
					if err := tx.InsertOfferedDocument(d, e, n, [32]byte{byte(e.ID), byte(len(key)), byte(n)}); err != nil {
						return err
					}
				}
				return nil
			})
			return e
		}
		states := func(e *model.Export) (all []string) {
			docs, err := db.ListDocuments(t.Context(), e.ID)
			require.NoError(t, err)
			for _, d := range docs {
				all = append(all, string(d.State)+" "+d.Reason)
			}
			return all
		}
		const refused, gone = "given_up a scanner found something harmful in it", "given_up it was deleted before it was scanned"
		first := offer("u", clean, bad, deleted, free)
		require.Equal(t, []string{"scanning ", "scanning ", "scanning ", "fetched "}, states(first))
		require.True(t, endScan(t, db, clean, ""))
		require.True(t, endScan(t, db, bad, "Some.Name"))
		write(t, db, func(tx *store.Tx) error {
			_, err := tx.DeleteApplicationDocument(deleted.Tenant, deleted.Application, deleted.ID, noon)
			return err
		})
		require.Equal(t, []string{"fetched ", refused, gone, "fetched "}, states(first))
		// What was read before the scan ended is looked at again.
		require.Equal(t, []string{"fetched ", refused, gone}, states(offer("uu", clean, bad, deleted)))
	})
}
