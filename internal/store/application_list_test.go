package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

func application(id string) *model.JobApplication {
	return &model.JobApplication{Row: model.Row{Tenant: "initech"}, ID: id, Candidate: "c-1", Job: "J-1"}
}

// followed reads a list from a position to its end: what changed, what was erased, and the position that it ends at.
func followed(t *testing.T, db *store.DB, f store.ApplicationFilter) (ids, erased []string, end int64) {
	t.Helper()
	for {
		page, err := db.ListJobApplications(t.Context(), "initech", f)
		require.NoError(t, err)
		for _, a := range page.Items {
			ids = append(ids, a.ID)
		}
		erased = append(erased, page.Erased...)
		if f.After = page.End; !page.More {
			return ids, erased, page.End
		}
	}
}

// A job application whose time and id are from before those that were read, and that commits after them, is not skipped.
func TestACursorSkipsNothingThatCommitsLate(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	var nodes [2]*store.DB
	for n := range nodes {
		db, err := store.Open(t.Context(), address, store.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		nodes[n] = db
	}
	entered, read := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		err := nodes[0].Write(t.Context(), func(tx *store.Tx) error {
			err := tx.UpsertJobApplication(application("a-late"), noon)
			close(entered)
			<-read
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-entered
	write(t, nodes[1], func(tx *store.Tx) error {
		return tx.UpsertJobApplication(application("a-early"), noon.Add(time.Second))
	})
	f := store.ApplicationFilter{Order: store.OldestFirst}
	ids, _, end := followed(t, nodes[1], f)
	require.Equal(t, []string{"a-early"}, ids)
	close(read)
	group.Wait()
	f.After = end
	ids, _, _ = followed(t, nodes[1], f)
	require.Equal(t, []string{"a-late"}, ids)
}

// Several nodes write, and one follows: it meets each job application once.
func TestAListIsFollowedWhileNodesWrite(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	const each = 150
	var writers sync.WaitGroup
	var follower *store.DB
	for n := range 3 {
		db, err := store.Open(t.Context(), address, store.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		follower = db
		for m := range each {
			tenant := []string{"initech", "globex"}[m%2]
			writers.Go(func() {
				a := application(fmt.Sprintf("a-%d-%d", n, m))
				a.Tenant = tenant
				if err := db.WriteOrdered(t.Context(), tenant, func(tx *store.Tx) error {
					a.Version = 0
					return tx.UpsertJobApplication(a, time.Now().UTC())
				}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	seen := map[string]bool{}
	for f, last := (store.ApplicationFilter{Order: store.OldestFirst, Limit: 7}), false; ; {
		ids, _, end := followed(t, follower, f)
		for _, id := range ids {
			require.False(t, seen[id], "%s came twice", id)
			seen[id] = true
		}
		f.After = end
		if last {
			break
		}
		select {
		case <-done:
			last = true
		default:
		}
	}
	require.Len(t, seen, 3*each/2)
}

func TestChangesOfJobApplicationsAreListed(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		all := map[string]*model.JobApplication{}
		for n := range 4 {
			a := application(fmt.Sprint("a-", n))
			all[a.ID] = a
			write(t, db, func(tx *store.Tx) error { return tx.UpsertJobApplication(a, noon.Add(time.Duration(n)*time.Minute)) })
		}
		f := store.ApplicationFilter{Order: store.ByChange}
		ids, erased, end := followed(t, db, f)
		require.Equal(t, []string{"a-0", "a-1", "a-2", "a-3"}, ids)
		require.Empty(t, erased)

		d := &model.ApplicationDocument{Key: 7, Tenant: "initech", Application: "a-2", ID: "cv", SHA256: []byte{1}, CreatedAt: noon.Add(time.Hour), Scan: model.ScanPending}
		changes := []struct {
			id string
			do func(*store.Tx) error
		}{
			{"a-1", func(tx *store.Tx) error { return tx.UpsertJobApplication(all["a-1"], noon.Add(time.Hour)) }},
			{"a-2", func(tx *store.Tx) error { _, err := tx.InsertApplicationDocument(d); return err }},
			{"a-0", func(tx *store.Tx) error {
				return tx.InsertApplicationAnswers("initech", "a-0", &model.ApplicationAnswers{Source: "fair", APIUser: "Board@example.com"})
			}},
			{"a-2", func(tx *store.Tx) error { _, err := tx.FinishScan(d, "", noon.Add(time.Hour)); return err }},
			{"a-2", func(tx *store.Tx) error {
				_, err := tx.DeleteApplicationDocument("initech", "a-2", "cv", noon.Add(time.Hour))
				return err
			}},
		}
		for _, c := range changes {
			f.After = end
			write(t, db, c.do)
			ids, erased, end = followed(t, db, f)
			require.Equal(t, []string{c.id}, ids)
			require.Empty(t, erased)
		}
		f.After = end
		write(t, db, func(tx *store.Tx) error {
			_, err := tx.EraseCandidate("initech", "c-1", noon.Add(2*time.Minute), noon.Add(2*time.Hour))
			return err
		})
		f.Job = "another" // an erased id has no job any more
		ids, erased, end = followed(t, db, f)
		require.Empty(t, ids)
		require.Equal(t, []string{"a-0", "a-1", "a-2"}, erased)
		ids, erased, _ = followed(t, db, store.ApplicationFilter{Order: store.OldestFirst})
		require.Equal(t, []string{"a-3"}, ids)
		require.Empty(t, erased, "only lists by change have erased ids")
		count, _, err := db.CountListed(t.Context(), "initech", store.ApplicationFilter{Order: store.ByChange})
		require.NoError(t, err)
		require.EqualValues(t, 1, count)

		bounds, err := db.ApplicationPositions(t.Context(), "initech")
		require.NoError(t, err)
		require.Equal(t, store.ApplicationPositions{Last: end}, bounds)
		write(t, db, func(tx *store.Tx) error {
			n, err := tx.ForgetErased(noon.Add(3 * time.Hour))
			require.EqualValues(t, 3, n)
			return err
		})
		bounds, err = db.ApplicationPositions(t.Context(), "initech")
		require.NoError(t, err)
		require.Equal(t, store.ApplicationPositions{Last: end, Forgotten: end}, bounds)

		write(t, db, func(tx *store.Tx) error { return tx.UpsertJobApplication(application("a-0"), noon) })
		ids, _, _ = followed(t, db, store.ApplicationFilter{Order: store.OldestFirst})
		require.Equal(t, []string{"a-3", "a-0"}, ids, "who comes again is the newest")
	})
}

func TestJobApplicationsAreFoundByTimeAndOrigin(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		for n := range 6 {
			write(t, db, func(tx *store.Tx) error {
				a := application(fmt.Sprint("a-", n))
				if err := tx.UpsertJobApplication(a, noon.Add(time.Duration(n)*time.Minute)); err != nil {
					return err
				}
				return tx.InsertApplicationAnswers("initech", a.ID, &model.ApplicationAnswers{Source: []string{"fair", "board"}[n%2], APIUser: "Board@example.com"})
			})
		}
		for _, one := range []struct {
			f    store.ApplicationFilter
			want []string
		}{
			{store.ApplicationFilter{Source: "board"}, []string{"a-1", "a-3", "a-5"}},
			{store.ApplicationFilter{Source: "board", Since: noon.Add(2 * time.Minute)}, []string{"a-3", "a-5"}},
			{store.ApplicationFilter{Source: "Board"}, nil},
			{store.ApplicationFilter{APIUser: "board@EXAMPLE.com", Job: "J-1", Until: noon.Add(2 * time.Minute)}, []string{"a-0", "a-1"}},
			{store.ApplicationFilter{Since: noon.Add(time.Minute), Until: noon.Add(4 * time.Minute)}, []string{"a-1", "a-2", "a-3"}},
		} {
			one.f.Limit, one.f.Order = 2, store.OldestFirst
			ids, _, _ := followed(t, db, one.f)
			require.Equal(t, one.want, ids, "%+v", one.f)
			one.f.Order = store.NewestFirst
			reversed, _, _ := followed(t, db, one.f)
			require.Len(t, reversed, len(ids))
			for n, id := range reversed {
				require.Equal(t, ids[len(ids)-1-n], id)
			}
		}
	})
}
