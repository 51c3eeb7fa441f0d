package store_test

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

func TestSubmissions(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		all := &model.ApplicationAnswers{Source: "board", Answers: []model.Given{
			{Question: "1", Label: "Shifts", Format: "Checkbox", Values: []string{"Day", "Weekend | Holiday"}}, {Question: "resume", Label: "Resume", Format: "File", Document: "d-1"},
		}}
		write(t, db, func(tx *store.Tx) error {
			for id, value := range map[string]string{"a-1": "Yes", "a-2": "Yes", "a-3": "No"} {
				a := &model.JobApplication{Row: model.Row{Tenant: "acme"}, ID: id, Job: "NURSE-1"}
				if err := tx.InsertApplicationAnswers("acme", id, all); err != nil {
					return err
				}
				if err := tx.InsertComplianceAnswer(a, model.ComplianceAnswer{Question: "eeocDisability", Group: "complianceOfccp", Choice: true, Value: value}, noon); err != nil {
					return err
				}
				if err := tx.InsertComplianceAnswer(a, model.ComplianceAnswer{Question: "eeocDisabilitySignature", Group: "complianceOfccp", Value: "Ada"}, noon); err != nil {
					return err
				}
			}
			return nil
		})
		kept, err := db.ApplicationAnswers(t.Context(), "acme", "a-1")
		require.NoError(t, err)
		require.Equal(t, all, kept)
		for _, job := range []string{"", "NURSE-1"} {
			counts, err := db.CountComplianceAnswers(t.Context(), "acme", job)
			require.NoError(t, err)
			require.Equal(t, []model.ComplianceCount{
				{Job: "NURSE-1", Group: "complianceOfccp", Question: "eeocDisability", Value: "No", Count: 1},
				{Job: "NURSE-1", Group: "complianceOfccp", Question: "eeocDisability", Value: "Yes", Count: 2},
			}, counts, "a signature is no choice")
		}
		counts, err := db.CountComplianceAnswers(t.Context(), "acme", "NURSE-2")
		require.NoError(t, err)
		require.Empty(t, counts)
		write(t, db, func(tx *store.Tx) error {
			return tx.UpdateComplianceJob(&model.JobApplication{Row: model.Row{Tenant: "acme"}, ID: "a-3", Job: "NURSE-2"})
		})
		counts, err = db.CountComplianceAnswers(t.Context(), "acme", "NURSE-2")
		require.NoError(t, err)
		require.Equal(t, []model.ComplianceCount{{Job: "NURSE-2", Group: "complianceOfccp", Question: "eeocDisability", Value: "No", Count: 1}}, counts)
		write(t, db, func(tx *store.Tx) error {
			return tx.ClearJobApplication(&model.JobApplication{ID: "a-1", Row: model.Row{Tenant: "acme"}}, noon)
		})
		_, err = db.ApplicationAnswers(t.Context(), "acme", "a-1")
		require.ErrorIs(t, err, store.ErrNotFound)
		counts, err = db.CountComplianceAnswers(t.Context(), "acme", "")
		require.NoError(t, err)
		require.Len(t, counts, 2)
		require.Equal(t, 1, counts[0].Count, "of a-2")
	})
}

func TestUploads(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		write(t, db, func(tx *store.Tx) error {
			for n, blob := range []string{"b", "a", "c"} {
				if err := tx.InsertUpload(blob, noon.Add(time.Duration(n)*time.Minute)); err != nil {
					return err
				}
			}
			return nil
		})
		before := func(at time.Time) []string {
			all, err := db.ListUploads(t.Context(), at, 0, 10)
			require.NoError(t, err)
			return all
		}
		require.Equal(t, []string{"b", "a"}, before(noon.Add(2*time.Minute)))
		for _, want := range []bool{true, false} {
			write(t, db, func(tx *store.Tx) error {
				ended, err := tx.ClaimUpload("b")
				require.Equal(t, want, ended)
				return err
			})
		}
		require.Equal(t, []string{"a", "c"}, before(noon.Add(time.Hour)))

		give := func(blob string) (given bool) {
			write(t, db, func(tx *store.Tx) (err error) { given, err = tx.AbandonUpload(blob); return err })
			return given
		}
		require.False(t, give("b"), "it was taken")
		require.True(t, give("c"))
		require.True(t, give("c"), "whoever gave it up did not come to remove it")
		write(t, db, func(tx *store.Tx) error {
			ended, err := tx.ClaimUpload("c")
			require.False(t, ended, "its file is being removed")
			return err
		})
		require.Equal(t, []string{"c"}, before(noon), "the next sweep removes it")
		write(t, db, func(tx *store.Tx) error { return tx.InsertUpload("c", noon) })
		require.Equal(t, []string{"c"}, before(noon), "what is noted once more is begun anew")
		behind, err := db.ListUploads(t.Context(), noon.Add(time.Hour), 1, 10)
		require.NoError(t, err)
		require.Equal(t, []string{"a"}, behind)
		write(t, db, func(tx *store.Tx) error { return tx.DeleteUpload("c") })
		require.Equal(t, []string{"a"}, before(noon.Add(time.Hour)))
	})
}

func TestFeed(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		question := func(n int) (all []model.Question) {
			for range n {
				all = append(all, model.Question{Format: model.File})
			}
			return all
		}
		jobs := []*model.Job{
			{BoardCode: "A", Syndicate: true, Questions: question(1)}, {BoardCode: "B", Questions: question(3)}, {BoardCode: "C", Syndicate: true, Closed: true, Questions: question(7)}, {BoardCode: "D", Syndicate: true},
		}
		put := func(j *model.Job, at time.Time) {
			write(t, db, func(tx *store.Tx) error {
				j.Tenant, j.ID = "acme", "job-"+j.BoardCode
				return tx.UpsertJob(j, at)
			})
		}
		empty, err := db.FeedState(t.Context(), "acme")
		require.NoError(t, err)
		for _, j := range jobs {
			put(j, noon)
		}
		codes := func() (all []string) {
			page, next, err := db.ListFeedJobs(t.Context(), "acme", store.Page{})
			require.NoError(t, err)
			require.Empty(t, next)
			for _, j := range page {
				all = append(all, j.BoardCode)
			}
			return all
		}
		require.Equal(t, []string{"A", "D"}, codes())
		most, err := db.MaxFiles(t.Context(), "acme")
		require.NoError(t, err)
		require.Equal(t, 3, most, "a closed job asks nobody")
		most, err = db.MaxFiles(t.Context(), "globex")
		require.NoError(t, err)
		require.Zero(t, most)

		seen := map[store.FeedState]bool{empty: true}
		for n, change := range []func(){
			func() {},
			func() { jobs[0].Title = "Nurse"; put(jobs[0], noon) },
			func() { jobs[3].Closed = true; put(jobs[3], noon.Add(time.Second)) },
			func() { jobs[2].Closed = false; put(jobs[2], noon.Add(2*time.Second)) },
		} {
			change()
			state, err := db.FeedState(t.Context(), "acme")
			require.NoError(t, err)
			require.False(t, seen[state], "change %d left no trace", n)
			seen[state] = true
		}
		require.Equal(t, []string{"A", "C"}, codes())
	})
}

func TestDoneOnce(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		once := &store.Once{ID: sha256.Sum256([]byte("key")), Fingerprint: sha256.Sum256([]byte("body")), Lease: noon, Till: noon.Add(time.Hour)}
		do := func(o *store.Once, location string, at time.Time) (before string, err error) {
			err = db.Write(t.Context(), func(tx *store.Tx) error {
				before, err = tx.Do(o, location, at)
				return err
			})
			return before, err
		}
		known, err := db.Known(t.Context(), once, noon)
		require.NoError(t, err)
		require.Empty(t, known)
		before, err := do(once, "first", noon)
		require.NoError(t, err)
		require.Empty(t, before)
		before, err = do(once, "second", noon)
		require.NoError(t, err)
		require.Equal(t, "first", before)
		known, err = db.Known(t.Context(), once, noon)
		require.NoError(t, err)
		require.Equal(t, "first", known)
		other := *once
		other.Fingerprint = sha256.Sum256([]byte("other"))
		_, err = do(&other, "third", noon)
		require.ErrorIs(t, err, store.ErrOtherRequest)
		_, err = db.Known(t.Context(), &other, noon)
		require.ErrorIs(t, err, store.ErrOtherRequest)
		known, err = db.Known(t.Context(), &other, once.Till)
		require.NoError(t, err)
		require.Empty(t, known, "it is kept no longer")
		before, err = do(&other, "fourth", noon.Add(2*time.Hour))
		require.NoError(t, err)
		require.Empty(t, before, "it is kept no longer")
	})
}
