package store_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// erasing is when something is erased, and before when it must have had nothing to do for that. The ids of exports are of the present.
var (
	erasing = time.Now().Add(1000 * 24 * time.Hour).Truncate(time.Second).UTC()
	before  = erasing.Add(-90 * 24 * time.Hour)
)

func erase(t *testing.T, db *store.DB, id int64) (erased bool) {
	t.Helper()
	write(t, db, func(tx *store.Tx) (err error) {
		erased, err = tx.Erase(id, before, erasing)
		return err
	})
	return erased
}

// finished is an export of acme with two documents that was delivered to hris.
func finished(t *testing.T, db *store.DB, key string, blobs ...string) *hiring.Export {
	t.Helper()
	e := export("acme", key, `{"candidate":{"person":"Zoë"}}`)
	e.Attachments = len(blobs)
	require.True(t, insert(t, db, e))
	write(t, db, func(tx *store.Tx) error {
		if err := tx.MarkDispatched(e.ID, 0, noon, "hris"); err != nil {
			return err
		}
		for n := range blobs {
			if err := tx.InsertDocument(hiring.Document{ExportID: e.ID, Tenant: "acme", Position: n, SourceURL: []byte("https://service.example/d"), CreatedAt: noon}); err != nil {
				return err
			}
		}
		return nil
	})
	docs, err := db.Documents(t.Context(), e.ID)
	require.NoError(t, err)
	write(t, db, func(tx *store.Tx) error {
		for n, d := range docs {
			d.State, d.Blob, d.FileName, d.SHA256, d.Size, d.FetchedAt = hiring.Fetched, blobs[n], "zoe-cv.pdf", e.SHA256[:], 7, noon
			if _, err := tx.UpdateDocument(d); err != nil {
				return err
			}
			if err := tx.InsertLink([32]byte{byte(e.ID), byte(n), byte(e.ID >> 8)}, d.ID, noon.Add(hiring.LinkWindow)); err != nil {
				return err
			}
		}
		if _, err := tx.PutOutgoing(e.ID, hiring.Rehost, kept("body with our URLs")); err != nil {
			return err
		}
		return tx.PutDelivery(&hiring.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: hiring.Delivered, CreatedAt: noon, UpdatedAt: noon})
	})
	d, err := db.Delivery(t.Context(), e.ID, "hris", 0)
	require.NoError(t, err)
	write(t, db, func(tx *store.Tx) error {
		return tx.AddAttempt(&hiring.Attempt{DeliveryID: d.ID, StartedAt: noon, Status: 200, Answer: []byte("thanks for Zoë")})
	})
	return e
}

func TestErasureLeavesNothingOfTheCandidate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		e := finished(t, db, "u-1", "first", "second")
		require.True(t, erase(t, db, e.ID))
		require.False(t, erase(t, db, e.ID), "it was erased twice")

		got, err := db.ExportByKey(t.Context(), "acme", "u-1")
		require.NoError(t, err)
		require.Equal(t, []any{erasing, "", e.SHA256, e.Size, e.Receipt, 2}, []any{got.ErasedAt, got.CandidateID, got.SHA256, got.Size, got.Receipt, got.Attachments})
		require.ErrorIs(t, db.LoadBody(t.Context(), got), store.ErrNotFound)
		require.Nil(t, got.Link)
		_, err = db.Outgoing(t.Context(), e.ID, hiring.Rehost)
		require.ErrorIs(t, err, store.ErrNotFound)
		docs, err := db.Documents(t.Context(), e.ID)
		require.NoError(t, err)
		require.Len(t, docs, 2)
		for _, d := range docs {
			require.Equal(t, []any{hiring.Fetched, "", "", 0, 0, int64(7)}, []any{d.State, d.Blob, d.FileName, len(d.SHA256), len(d.SourceURL), d.Size})
		}
		_, _, err = db.DocumentByLink(t.Context(), [32]byte{byte(e.ID), 0, byte(e.ID >> 8)})
		require.ErrorIs(t, err, store.ErrNotFound)
		d, err := db.Delivery(t.Context(), e.ID, "hris", 0)
		require.NoError(t, err)
		require.Equal(t, hiring.Delivered, d.Outcome)
		attempts, err := db.Attempts(t.Context(), d.ID)
		require.NoError(t, err)
		for _, of := range attempts {
			require.Empty(t, of.Answer)
			require.Equal(t, 200, of.Status)
		}
		require.Len(t, attempts, 1)

		// A repeat is known, and there is nothing to deliver again.
		require.False(t, insert(t, db, export("acme", "u-1", "another")))
		err = db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.NextRound(e.ID, []string{"hris"}, erasing, erasing.Add(time.Hour))
			return err
		})
		require.ErrorIs(t, err, store.ErrErased)
		files, err := db.Uploads(t.Context(), erasing.Add(time.Second), 10)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"first", "second"}, files)
	})
}

// A file goes with the last document that has it.
func TestErasureKeepsFilesOfOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		one, two := finished(t, db, "u-1", "shared", "shared", "uploaded"), finished(t, db, "u-2", "shared")
		write(t, db, func(tx *store.Tx) error {
			_, err := tx.AddApplicationDocument(&hiring.ApplicationDocument{Key: 7, Tenant: "acme", Application: "a", ID: "d", Blob: "uploaded", SHA256: []byte{1}, CreatedAt: noon})
			return err
		})
		left := func() []string {
			files, err := db.Uploads(t.Context(), erasing.Add(time.Second), 10)
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
	files, err := db.Uploads(t.Context(), erasing.Add(time.Second), 1000)
	require.NoError(t, err)
	return files
}

func deleteDocument(t *testing.T, db *store.DB, d *hiring.ApplicationDocument) {
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
	each(t, func(t *testing.T, db *store.DB) {
		documents := map[string]*hiring.ApplicationDocument{}
		for n, name := range []string{"alone", "offered", "unscanned", "harmful"} {
			d := &hiring.ApplicationDocument{Key: int64(n + 1), Tenant: "acme", Application: "a-1", ID: name, Blob: name, SHA256: []byte{1}, CreatedAt: noon}
			if n > 1 {
				d.Scan = hiring.ScanPending
			}
			write(t, db, func(tx *store.Tx) error {
				_, err := tx.AddApplicationDocument(d)
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
			if err := tx.OfferDocument(documents["unscanned"], e, 1, [32]byte{2}); err != nil {
				return err
			}
			return tx.OfferDocument(documents["offered"], e, 0, [32]byte{1})
		})
		require.True(t, endScan(t, db, documents["harmful"], "Some.Name"))
		require.Equal(t, []string{"harmful"}, released(t, db))
		for _, d := range documents {
			deleteDocument(t, db, d)
		}
		require.ElementsMatch(t, []string{"harmful", "alone", "unscanned"}, released(t, db))
		require.True(t, erase(t, db, e.ID))
		require.ElementsMatch(t, []string{"harmful", "alone", "unscanned", "offered"}, released(t, db))
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
		for n, e := range []*hiring.Export{one, other} {
			both.Go(func() {
				err := nodes[n].Write(t.Context(), func(tx *store.Tx) error {
					_, err := tx.Erase(e.ID, before, erasing)
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

// A document that is put into an export on one node while another deletes it: the export has its file, or goes without it.
func TestDocumentIsOfferedBesideItsDeletion(t *testing.T) {
	t.Parallel()
	nodes := twoNodes(t)
	e := export("acme", "u-1", "b")
	require.True(t, insert(t, nodes[0], e))
	kept := 0
	for n := range 40 {
		d := &hiring.ApplicationDocument{Key: int64(n + 1), Tenant: "acme", Application: fmt.Sprint("a-", n), ID: "d", Blob: fmt.Sprint("f-", n), SHA256: []byte{1}, CreatedAt: noon}
		write(t, nodes[0], func(tx *store.Tx) error {
			_, err := tx.AddApplicationDocument(d)
			return err
		})
		offered := false
		var both sync.WaitGroup
		both.Go(func() {
			err := nodes[0].Write(t.Context(), func(tx *store.Tx) error {
				all, err := tx.HoldApplicationDocuments(d.Tenant, d.Application, 10)
				if offered = len(all) > 0; err != nil || !offered {
					return err
				}
				return tx.OfferDocument(all[0], e, n, [32]byte{byte(n)})
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
		if offered {
			kept++
			require.NotContains(t, released(t, nodes[0]), d.Blob)
		} else {
			require.Contains(t, released(t, nodes[0]), d.Blob)
		}
	}
	t.Log("offered, and deleted first:", kept, 40-kept)
}

// twoNodes share a database on PostgreSQL.
func twoNodes(t *testing.T) []*store.DB {
	t.Helper()
	address := storetest.Postgres(t)
	nodes := make([]*store.DB, 2)
	for n := range nodes {
		var err error
		nodes[n], err = store.Open(t.Context(), address, store.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, nodes[n].Close()) })
	}
	return nodes
}

// What still has something to do, or had until lately, or was never taken up, stays: each of these breaks only that.
func TestWhatIsNotErased(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		made := 0
		fresh := func(quarantined bool, attachments int) *hiring.Export {
			made++
			e := export("acme", fmt.Sprint("made-", made), "b")
			e.Quarantined, e.Attachments = quarantined, attachments
			require.True(t, insert(t, db, e))
			return e
		}
		dispatch := func(e *hiring.Export, at time.Time, to ...string) *hiring.Export {
			write(t, db, func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 0, at, to...) })
			return e
		}
		deliverAt := func(e *hiring.Export, outcome hiring.Outcome, at time.Time) *hiring.Export {
			write(t, db, func(tx *store.Tx) error {
				return tx.PutDelivery(&hiring.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Round: e.Round, Outcome: outcome, CreatedAt: noon, UpdatedAt: at})
			})
			return e
		}
		deliver := func(e *hiring.Export, outcome hiring.Outcome) *hiring.Export { return deliverAt(e, outcome, noon) }
		link := func(till time.Time) *hiring.Export {
			e := finished(t, db, fmt.Sprint("link-", till.Unix()), fmt.Sprint("link-", till.Unix()))
			write(t, db, func(tx *store.Tx) error { return tx.ExtendLinks(e.ID, till) })
			return e
		}
		for _, one := range []struct {
			what   string
			export func() *hiring.Export
			erased bool
		}{
			{"delivered", func() *hiring.Export { return finished(t, db, "delivered", "f-1") }, true},
			{"delivered, without documents", func() *hiring.Export { return deliver(dispatch(fresh(false, 0), noon, "hris"), hiring.Delivered) }, true},
			{"failed", func() *hiring.Export { return deliver(dispatch(fresh(false, 0), noon, "hris"), hiring.Failed) }, true},
			{"expired", func() *hiring.Export { return deliver(dispatch(fresh(false, 0), noon, "hris"), hiring.Expired) }, true},
			{"with nobody to go to", func() *hiring.Export { return dispatch(fresh(false, 0), noon) }, true},
			{"held", func() *hiring.Export { return deliver(dispatch(fresh(false, 0), noon, "hris"), hiring.Held) }, false},
			{"retrying", func() *hiring.Export { return deliver(dispatch(fresh(false, 0), noon, "hris"), hiring.Retrying) }, false},
			{"pending", func() *hiring.Export { return deliver(dispatch(fresh(false, 0), noon, "hris"), hiring.Pending) }, false},
			{"not begun at one of two", func() *hiring.Export {
				return deliver(dispatch(fresh(false, 0), noon, "crm", "hris"), hiring.Delivered)
			}, false},
			{"not dispatched", func() *hiring.Export { return fresh(false, 0) }, false},
			{"dispatched lately", func() *hiring.Export { return dispatch(fresh(false, 0), before) }, false},
			{"in quarantine", func() *hiring.Export { return dispatch(fresh(true, 0), noon) }, false},
			{"refused by Temporal", func() *hiring.Export {
				e := dispatch(fresh(false, 0), noon)
				write(t, db, func(tx *store.Tx) error { return tx.MarkFault(e.ID, "invalid id") })
				return e
			}, false},
			{"delivered lately", func() *hiring.Export {
				return deliverAt(dispatch(fresh(false, 0), noon, "hris"), hiring.Delivered, before)
			}, false},
			{"with documents that were not looked for", func() *hiring.Export { return deliver(dispatch(fresh(false, 1), noon, "hris"), hiring.Delivered) }, false},
			{"with a document on its way", func() *hiring.Export {
				e := deliver(dispatch(fresh(false, 1), noon, "hris"), hiring.Delivered)
				write(t, db, func(tx *store.Tx) error {
					return tx.InsertDocument(hiring.Document{ExportID: e.ID, Tenant: "acme", SourceURL: []byte{}, CreatedAt: noon})
				})
				return e
			}, false},
			{"with a URL that lives", func() *hiring.Export { return link(erasing.Add(time.Second)) }, false},
			{"with a URL that has just ended", func() *hiring.Export { return link(erasing) }, true},
			{"in a round that waits for Temporal", func() *hiring.Export {
				e := finished(t, db, "again", "f-3")
				write(t, db, func(tx *store.Tx) error {
					_, err := tx.NextRound(e.ID, []string{"hris"}, noon, noon.Add(time.Hour))
					return err
				})
				return e
			}, false},
			{"in a round that has time left", func() *hiring.Export {
				e := finished(t, db, "time", "f-4")
				write(t, db, func(tx *store.Tx) error {
					if _, err := tx.NextRound(e.ID, []string{"hris"}, noon, erasing.Add(time.Second)); err != nil {
						return err
					}
					return tx.MarkDispatched(e.ID, 1, noon, "hris")
				})
				e.Round = 1
				return deliver(e, hiring.Delivered)
			}, false},
		} {
			e := one.export()
			due, next, err := db.Erasable(t.Context(), e.ID-1, before, erasing)
			require.NoError(t, err)
			require.Zero(t, next)
			require.Equal(t, one.erased, slices.Contains(due, e.ID), "%s: listed", one.what)
			require.Equal(t, one.erased, erase(t, db, e.ID), one.what)
			require.Equal(t, one.erased, errors.Is(db.LoadBody(t.Context(), e), store.ErrNotFound), "%s: its body is gone", one.what)
		}
		due, _, err := db.Erasable(t.Context(), 0, noon.Add(-time.Hour), erasing)
		require.NoError(t, err)
		require.Empty(t, due, "exports of a later day")
	})
}

// However many bodies there are, each has its turn.
func TestErasableGoesThroughAll(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		const all = 2001
		var want []int64
		write(t, db, func(tx *store.Tx) error {
			want = nil
			for n := range all {
				e := export("acme", fmt.Sprint("u-", n), "b")
				e.Attachments = 0
				if _, err := tx.InsertExport(e); err != nil {
					return err
				}
				if n%333 != 0 { // the last one of a page is among the others
					continue
				}
				if err := tx.MarkDispatched(e.ID, 0, noon); err != nil {
					return err
				}
				want = append(want, e.ID)
			}
			return nil
		})
		var found []int64
		pages := 0
		for behind := int64(0); pages == 0 || behind > 0; pages++ {
			due, next, err := db.Erasable(t.Context(), behind, before, erasing)
			require.NoError(t, err)
			found, behind = append(found, due...), next
		}
		require.Equal(t, want, found)
		require.Equal(t, 3, pages)
	})
}

// A redelivery and an erasure of two nodes at once: whoever is first, there is never a round without a body.
func TestErasureBesideARedelivery(t *testing.T) {
	t.Parallel()
	nodes := twoNodes(t)
	outcomes := map[bool]int{}
	for n := range 40 {
		e := finished(t, nodes[0], fmt.Sprint("u-", n), fmt.Sprint("f-", n))
		var erased bool
		var redelivered error
		var both sync.WaitGroup
		both.Go(func() {
			if err := nodes[0].Write(t.Context(), func(tx *store.Tx) (err error) {
				erased, err = tx.Erase(e.ID, before, erasing)
				return err
			}); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			redelivered = nodes[1].Write(t.Context(), func(tx *store.Tx) error {
				_, err := tx.NextRound(e.ID, []string{"hris"}, erasing, erasing.Add(time.Hour))
				return err
			})
		})
		both.Wait()
		outcomes[erased]++
		got, err := nodes[0].Export(t.Context(), e.ID)
		require.NoError(t, err)
		if erased {
			require.ErrorIs(t, redelivered, store.ErrErased)
			require.Zero(t, got.Round)
		} else {
			require.NoError(t, redelivered)
			require.Equal(t, 1, got.Round)
			require.NoError(t, nodes[0].LoadBody(t.Context(), got))
		}
	}
	t.Log("erased first, and redelivered first:", outcomes[true], outcomes[false])
}
