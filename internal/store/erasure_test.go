package store_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// erasing is when something is erased, and before when it must have had nothing to do for that. The ids of exports are
// of the present.
var (
	erasing = time.Now().Add(1000 * 24 * time.Hour).Truncate(time.Second).UTC()
	before  = erasing.Add(-90 * 24 * time.Hour)
)

func erase(t *testing.T, db *store.DB, id int64) (erased bool) {
	t.Helper()
	write(t, db, func(tx *store.Tx) error {
		done, err := tx.Erase([]int64{id}, before, erasing)
		erased = len(done) == 1
		return err
	})
	return erased
}

// finished is an export of acme with two documents that was delivered to hris.
func finished(t *testing.T, db *store.DB, key string, blobs ...string) *model.Export {
	t.Helper()
	e := export("acme", key, `{"candidate":{"person":"Zoë"}}`)
	e.Attachments = len(blobs)
	require.True(t, insert(t, db, e))
	write(t, db, func(tx *store.Tx) error {
		if err := tx.MarkDispatched(e.ID, 0, noon, "hris"); err != nil {
			return err
		}
		for n := range blobs {
			if err := tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: "acme", Position: n, SourceURL: []byte("https://service.example/d"), CreatedAt: noon}); err != nil {
				return err
			}
		}
		return nil
	})
	docs, err := db.ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	write(t, db, func(tx *store.Tx) error {
		for n, d := range docs {
			d.State, d.Blob, d.FileName, d.SHA256, d.Size, d.FetchedAt = model.Fetched, blobs[n], "zoe-cv.pdf", e.SHA256[:], 7, noon
			if _, err := tx.UpdateDocument(d); err != nil {
				return err
			}
			if err := tx.InsertLink([32]byte{byte(e.ID), byte(n), byte(e.ID >> 8)}, d.ID, noon.Add(model.LinkWindow)); err != nil {
				return err
			}
		}
		if _, err := tx.InsertOutgoing(e.ID, model.Rehost, kept("body with our URLs")); err != nil {
			return err
		}
		return tx.UpsertDelivery(&model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Delivered, CreatedAt: noon, UpdatedAt: noon})
	})
	d, err := db.Delivery(t.Context(), e.ID, "hris", 0)
	require.NoError(t, err)
	write(t, db, func(tx *store.Tx) error {
		return tx.InsertAttempt(&model.Attempt{DeliveryID: d.ID, StartedAt: noon, Status: 200, Answer: []byte("thanks for Zoë")})
	})
	return e
}

func TestErasureLeavesNothingOfTheCandidate(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		e := finished(t, db, "u-1", "first", "second")
		require.True(t, erase(t, db, e.ID))
		require.False(t, erase(t, db, e.ID), "it was erased twice")

		got, err := db.ExportByKey(t.Context(), "acme", "u-1")
		require.NoError(t, err)
		require.Equal(t, []any{erasing, "", e.SHA256, e.Size, e.Receipt, 2}, []any{got.ErasedAt, got.CandidateID, got.SHA256, got.Size, got.Receipt, got.Attachments})
		require.ErrorIs(t, db.LoadBody(t.Context(), got), store.ErrNotFound)
		require.Nil(t, got.Link)
		_, err = db.Outgoing(t.Context(), e.ID, model.Rehost)
		require.ErrorIs(t, err, store.ErrNotFound)
		docs, err := db.ListDocuments(t.Context(), e.ID)
		require.NoError(t, err)
		require.Len(t, docs, 2)
		for _, d := range docs {
			require.Equal(t, []any{model.Fetched, "", "", 0, 0, int64(7)}, []any{d.State, d.Blob, d.FileName, len(d.SHA256), len(d.SourceURL), d.Size})
		}
		_, _, err = db.DocumentByLink(t.Context(), [32]byte{byte(e.ID), 0, byte(e.ID >> 8)})
		require.ErrorIs(t, err, store.ErrNotFound)
		d, err := db.Delivery(t.Context(), e.ID, "hris", 0)
		require.NoError(t, err)
		require.Equal(t, model.Delivered, d.Outcome)
		attempts, err := db.ListAttempts(t.Context(), d.ID)
		require.NoError(t, err)
		for _, of := range attempts {
			require.Empty(t, of.Answer)
			require.Equal(t, 200, of.Status)
		}
		require.Len(t, attempts, 1)

		// A repeat is known, and there is nothing to deliver again.
		require.False(t, insert(t, db, export("acme", "u-1", "another")))
		err = db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.BeginRound(e.ID, []string{"hris"}, erasing, erasing.Add(time.Hour))
			return err
		})
		require.ErrorIs(t, err, store.ErrErased)
		files, err := db.ListUploads(t.Context(), erasing.Add(time.Second), 0, 10)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"first", "second"}, files)
	})
}

// Of some exports those are erased that are erasable, each with all that it holds.
func TestSomeExportsAreErasedTogether(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		one, two := finished(t, db, "u-1", "shared", "first"), finished(t, db, "u-2", "shared", "theirs")
		kept, waits := finished(t, db, "u-3", "theirs"), export("acme", "u-4", "b")
		require.True(t, insert(t, db, waits))
		write(t, db, func(tx *store.Tx) error {
			erased, err := tx.Erase([]int64{one.ID, two.ID, waits.ID}, before, erasing)
			require.Equal(t, []int64{one.ID, two.ID}, erased)
			return err
		})
		for e, gone := range map[*model.Export]bool{one: true, two: true, kept: false, waits: false} {
			require.Equal(t, gone, errors.Is(db.LoadBody(t.Context(), e), store.ErrNotFound), e.Key)
		}
		require.ElementsMatch(t, []string{"shared", "first"}, released(t, db))
	})
}

// What still has something to do, or had until lately, or was never taken up, stays: each of these breaks only that.
func TestWhatIsNotErased(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		made := 0
		fresh := func(quarantined bool, attachments int) *model.Export {
			made++
			e := export("acme", fmt.Sprint("made-", made), "b")
			e.Quarantined, e.Attachments = quarantined, attachments
			require.True(t, insert(t, db, e))
			return e
		}
		dispatch := func(e *model.Export, at time.Time, to ...string) *model.Export {
			write(t, db, func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 0, at, to...) })
			return e
		}
		deliverAt := func(e *model.Export, outcome model.Outcome, at time.Time) *model.Export {
			write(t, db, func(tx *store.Tx) error {
				return tx.UpsertDelivery(&model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Round: e.Round, Outcome: outcome, CreatedAt: noon, UpdatedAt: at})
			})
			return e
		}
		deliver := func(e *model.Export, outcome model.Outcome) *model.Export { return deliverAt(e, outcome, noon) }
		link := func(till time.Time) *model.Export {
			e := finished(t, db, fmt.Sprint("link-", till.Unix()), fmt.Sprint("link-", till.Unix()))
			write(t, db, func(tx *store.Tx) error { return tx.ExtendLinks(e.ID, till) })
			return e
		}
		for _, one := range []struct {
			what   string
			export func() *model.Export
			erased bool
		}{
			{"delivered", func() *model.Export { return finished(t, db, "delivered", "f-1") }, true},
			{"delivered, without documents", func() *model.Export { return deliver(dispatch(fresh(false, 0), noon, "hris"), model.Delivered) }, true},
			{"failed", func() *model.Export { return deliver(dispatch(fresh(false, 0), noon, "hris"), model.Failed) }, true},
			{"expired", func() *model.Export { return deliver(dispatch(fresh(false, 0), noon, "hris"), model.Expired) }, true},
			{"with nobody to go to", func() *model.Export { return dispatch(fresh(false, 0), noon) }, true},
			{"held", func() *model.Export { return deliver(dispatch(fresh(false, 0), noon, "hris"), model.Held) }, false},
			{"retrying", func() *model.Export { return deliver(dispatch(fresh(false, 0), noon, "hris"), model.Retrying) }, false},
			{"pending", func() *model.Export { return deliver(dispatch(fresh(false, 0), noon, "hris"), model.Pending) }, false},
			{"not begun at one of two", func() *model.Export {
				return deliver(dispatch(fresh(false, 0), noon, "crm", "hris"), model.Delivered)
			}, false},
			{"not dispatched", func() *model.Export { return fresh(false, 0) }, false},
			{"dispatched lately", func() *model.Export { return dispatch(fresh(false, 0), before) }, false},
			{"in quarantine", func() *model.Export { return dispatch(fresh(true, 0), noon) }, false},
			{"refused by Temporal", func() *model.Export {
				e := dispatch(fresh(false, 0), noon)
				write(t, db, func(tx *store.Tx) error { return tx.MarkFault(e.ID, "invalid id", noon) })
				return e
			}, false},
			{"delivered lately", func() *model.Export {
				return deliverAt(dispatch(fresh(false, 0), noon, "hris"), model.Delivered, before)
			}, false},
			{"with documents that were not looked for", func() *model.Export { return deliver(dispatch(fresh(false, 1), noon, "hris"), model.Delivered) }, false},
			{"with a document on its way", func() *model.Export {
				e := deliver(dispatch(fresh(false, 1), noon, "hris"), model.Delivered)
				write(t, db, func(tx *store.Tx) error {
					return tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: "acme", SourceURL: []byte{}, CreatedAt: noon})
				})
				return e
			}, false},
			{"with a URL that lives", func() *model.Export { return link(erasing.Add(time.Second)) }, false},
			{"with a URL that has just ended", func() *model.Export { return link(erasing) }, true},
			{"in a round that waits for Temporal", func() *model.Export {
				e := finished(t, db, "again", "f-3")
				write(t, db, func(tx *store.Tx) error {
					_, err := tx.BeginRound(e.ID, []string{"hris"}, noon, noon.Add(time.Hour))
					return err
				})
				return e
			}, false},
			{"not begun in its round", func() *model.Export {
				e := finished(t, db, "begun", "f-5")
				write(t, db, func(tx *store.Tx) error {
					if _, err := tx.BeginRound(e.ID, []string{"hris"}, noon, noon.Add(time.Hour)); err != nil {
						return err
					}
					return tx.MarkDispatched(e.ID, 1, noon, "hris")
				})
				return e
			}, false},
			{"in a round that has time left", func() *model.Export {
				e := finished(t, db, "time", "f-4")
				write(t, db, func(tx *store.Tx) error {
					if _, err := tx.BeginRound(e.ID, []string{"hris"}, noon, erasing.Add(time.Second)); err != nil {
						return err
					}
					return tx.MarkDispatched(e.ID, 1, noon, "hris")
				})
				e.Round = 1
				return deliver(e, model.Delivered)
			}, false},
		} {
			e := one.export()
			due, err := db.ListErasable(t.Context(), e.ID-1, before, erasing)
			require.NoError(t, err)
			require.Zero(t, due.Next)
			require.Equal(t, one.erased, slices.Contains(due.IDs, e.ID), "%s: listed", one.what)
			require.Equal(t, one.erased, erase(t, db, e.ID), one.what)
			require.Equal(t, one.erased, errors.Is(db.LoadBody(t.Context(), e), store.ErrNotFound), "%s: its body is gone", one.what)
		}
		due, err := db.ListErasable(t.Context(), 0, noon.Add(-time.Hour), erasing)
		require.NoError(t, err)
		require.Empty(t, due.IDs, "exports of a later day")
	})
}

// However many bodies there are, each has its turn.
func TestErasableGoesThroughAll(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		const all = 2001
		var want []int64
		for first := 0; first < all; first += 100 { // a write has its time
			var due []int64
			write(t, db, func(tx *store.Tx) error {
				due = nil
				for n := first; n < min(first+100, all); n++ {
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
					due = append(due, e.ID)
				}
				return nil
			})
			want = append(want, due...)
		}
		var found []int64
		pages := 0
		for after := int64(0); pages == 0 || after > 0; pages++ {
			due, err := db.ListErasable(t.Context(), after, before, erasing)
			require.NoError(t, err)
			require.Equal(t, max(0, all-1000*(pages+1)), due.Left)
			found, after = append(found, due.IDs...), due.Next
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
			if err := nodes[0].Write(t.Context(), func(tx *store.Tx) error {
				done, err := tx.Erase([]int64{e.ID}, before, erasing)
				erased = len(done) == 1
				return err
			}); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			redelivered = nodes[1].Write(t.Context(), func(tx *store.Tx) error {
				_, err := tx.BeginRound(e.ID, []string{"hris"}, erasing, erasing.Add(time.Hour))
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
