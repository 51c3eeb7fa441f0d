package store_test

import (
	"crypto/rand"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// A file goes with the last document that has it.
func TestErasureKeepsFilesOfOthers(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		one, two := finished(t, db, "u-1", "shared", "shared", "uploaded"), finished(t, db, "u-2", "shared")
		write(t, db, func(tx *store.Tx) error {
			_, err := tx.InsertApplicationDocument(&model.ApplicationDocument{Key: 7, Tenant: "acme", Application: "a", ID: "d", Blob: "uploaded", SHA256: []byte{1}, CreatedAt: noon})
			return err
		})
		left := func() []string {
			files, err := db.ListUploads(t.Context(), erasing.Add(time.Second), 0, 10)
			require.NoError(t, err)
			return files
		}
		require.True(t, erase(t, db, one.ID))
		require.Empty(t, left())
		require.True(t, erase(t, db, two.ID))
		require.Equal(t, []string{"shared"}, left())
	})
}

// released are the files that nothing refers to any more.
func released(t *testing.T, db *store.DB) []string {
	t.Helper()
	files, err := db.ListUploads(t.Context(), erasing.Add(time.Second), 0, 1000)
	require.NoError(t, err)
	return files
}

func deleteDocument(t *testing.T, db *store.DB, d *model.ApplicationDocument) {
	t.Helper()
	write(t, db, func(tx *store.Tx) error {
		deleted, err := tx.DeleteApplicationDocument(d.Tenant, d.Application, d.ID, noon)
		require.True(t, deleted)
		return err
	})
}

// The file of a document that is deleted goes, unless an export offers it: then it goes with that.
func TestDeletedDocumentsLeaveNoFile(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		documents := map[string]*model.ApplicationDocument{}
		for n, name := range []string{"alone", "offeredState", "unscanned", "harmful"} {
			d := &model.ApplicationDocument{Key: int64(n + 1), Tenant: "acme", Application: "a-1", ID: name, Blob: name, SHA256: []byte{1}, CreatedAt: noon}
			if n > 1 {
				d.Scan = model.ScanPending
			}
			write(t, db, func(tx *store.Tx) error {
				_, err := tx.InsertApplicationDocument(d)
				return err
			})
			documents[name] = d
		}
		e := export("acme", "u-1", "b")
		e.Attachments = 2
		require.True(t, insert(t, db, e))
		write(t, db, func(tx *store.Tx) error {
			if err := tx.MarkDispatched(e.ID, 0, noon); err != nil {
				return err
			}
			if err := tx.InsertOfferedDocument(documents["unscanned"], e, 1, [32]byte{2}); err != nil {
				return err
			}
			return tx.InsertOfferedDocument(documents["offeredState"], e, 0, [32]byte{1})
		})
		require.True(t, endScan(t, db, documents["harmful"], "Some.Name"))
		require.Equal(t, []string{"harmful"}, released(t, db))
		for _, d := range documents {
			deleteDocument(t, db, d)
		}
		require.ElementsMatch(t, []string{"harmful", "alone", "unscanned"}, released(t, db))
		require.True(t, erase(t, db, e.ID))
		require.ElementsMatch(t, []string{"harmful", "alone", "unscanned", "offeredState"}, released(t, db))
	})
}

// Two nodes that take a file from the last two that have it: one of them sees that nobody has it any more.
func TestFileOfTwoThatAreErasedAtOnce(t *testing.T) {
	t.Parallel()
	nodes := twoNodes(t)
	for n := range 40 {
		blob := fmt.Sprint("shared-", n)
		one, other := finished(t, nodes[0], fmt.Sprint("one-", n), blob), finished(t, nodes[0], fmt.Sprint("other-", n), blob)
		var both sync.WaitGroup
		for n, e := range []*model.Export{one, other} {
			both.Go(func() {
				err := nodes[n].Write(t.Context(), func(tx *store.Tx) error {
					_, err := tx.Erase([]int64{e.ID}, before, erasing)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		require.Contains(t, released(t, nodes[0]), blob)
	}
}

// However many files an export has, its erasure takes few locks: a server has room for some thousands, of all
// transactions together.
func TestErasureOfManyFilesTakesFewLocks(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	db := nodesAt(t, address)[0]
	look, err := sql.Open("pgx", address)
	require.NoError(t, err)
	defer look.Close()
	blobs := make([]string, 200)
	for n := range blobs {
		blobs[n] = strings.ToLower(rand.Text())
	}
	e := finished(t, db, "u-1", blobs...)
	locks := 0
	write(t, db, func(tx *store.Tx) error {
		if _, err := tx.Erase([]int64{e.ID}, before, erasing); err != nil {
			return err
		}
		return look.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&locks)
	})
	require.NotZero(t, locks)
	require.LessOrEqual(t, locks, 33)
	require.ElementsMatch(t, blobs, released(t, db))
}

// A document that is put into an export on one node while another deletes it: the export has its file, or goes without
// it.
func TestDocumentIsOfferedBesideItsDeletion(t *testing.T) {
	t.Parallel()
	nodes := twoNodes(t)
	e := export("acme", "u-1", "b")
	require.True(t, insert(t, nodes[0], e))
	kept := 0
	for n := range 40 {
		d := &model.ApplicationDocument{Key: int64(n + 1), Tenant: "acme", Application: fmt.Sprint("a-", n), ID: "d", Blob: fmt.Sprint("f-", n), SHA256: []byte{1}, CreatedAt: noon}
		write(t, nodes[0], func(tx *store.Tx) error {
			_, err := tx.InsertApplicationDocument(d)
			return err
		})
		offeredState := false
		var both sync.WaitGroup
		both.Go(func() {
			err := nodes[0].Write(t.Context(), func(tx *store.Tx) error {
				all, err := tx.LockApplicationDocuments(d.Tenant, d.Application, 10)
				if offeredState = len(all) > 0; err != nil || !offeredState {
					return err
				}
				return tx.InsertOfferedDocument(all[0], e, n, [32]byte{byte(n)})
			})
			if err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			err := nodes[1].Write(t.Context(), func(tx *store.Tx) error {
				_, err := tx.DeleteApplicationDocument(d.Tenant, d.Application, d.ID, noon)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		if offeredState {
			kept++
			require.NotContains(t, released(t, nodes[0]), d.Blob)
		} else {
			require.Contains(t, released(t, nodes[0]), d.Blob)
		}
	}
	t.Log("offeredState, and deleted first:", kept, 40-kept)
}

// twoNodes share a database on PostgreSQL.
func twoNodes(t *testing.T) []*store.DB {
	t.Helper()
	return nodesAt(t, storetest.Postgres(t))
}

func nodesAt(t *testing.T, address string) []*store.DB {
	t.Helper()
	nodes := make([]*store.DB, 2)
	for n := range nodes {
		var err error
		nodes[n], err = store.Open(t.Context(), address, store.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, nodes[n].Close()) })
	}
	return nodes
}
