package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// Refused answers are counted by the hour, summed up by question, deleted when they are old, and go with their job.
func TestRefusedAnswers(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		job := &model.Job{Row: model.Row{Tenant: "acme"}, BoardCode: "NURSE-1", ID: "job-1"}
		write(t, db, func(tx *store.Tx) error { return tx.UpsertJob(job, noon) })
		count := func(tenant, job, question string, n int64, at time.Time) {
			write(t, db, func(tx *store.Tx) error {
				return tx.CountRefusedAnswers(tenant, job, store.RefusedAnswers{Question: question, Format: model.Date,
					Count: n, LastHour: at})
			})
		}
		list := func(since time.Time) []store.RefusedAnswers {
			all, err := db.ListRefusedAnswers(t.Context(), "acme", "NURSE-1", since)
			require.NoError(t, err)
			return all
		}
		count("acme", "NURSE-1", "day", 2, noon.Add(10*time.Minute))
		count("acme", "NURSE-1", "day", 3, noon.Add(20*time.Minute))
		count("acme", "NURSE-1", "day", 7, noon.Add(-24*time.Hour))
		count("acme", "NURSE-1", "", 9, noon)
		count("acme", "gone", "day", 1, noon)
		count("globex", "NURSE-1", "day", 1, noon)
		others := store.RefusedAnswers{Format: model.Date, Count: 9, LastHour: noon}
		day := store.RefusedAnswers{Question: "day", Format: model.Date, Count: 12, LastHour: noon}
		require.Equal(t, []store.RefusedAnswers{day, others}, list(time.Unix(0, 0)))
		day.Count = 5
		require.Equal(t, []store.RefusedAnswers{others, day}, list(noon.Add(30*time.Minute)))
		write(t, db, func(tx *store.Tx) error {
			n, err := tx.DeleteRefusedAnswers(noon.Add(-time.Hour))
			require.EqualValues(t, 1, n)
			return err
		})
		require.Equal(t, []store.RefusedAnswers{others, day}, list(time.Unix(0, 0)))

		n, err := db.CountJobApplications(t.Context(), "acme", "NURSE-1")
		require.NoError(t, err)
		require.Equal(t, store.Received{}, n)
		for i, id := range []string{"b", "a"} {
			write(t, db, func(tx *store.Tx) error {
				return tx.UpsertJobApplication(&model.JobApplication{Row: model.Row{Tenant: "acme"}, ID: id,
					Job: "NURSE-1"}, noon.Add(time.Duration(i)*time.Minute))
			})
		}
		n, err = db.CountJobApplications(t.Context(), "acme", "NURSE-1")
		require.NoError(t, err)
		require.Equal(t, store.Received{Count: 2, Latest: noon.Add(time.Minute)}, n)

		write(t, db, func(tx *store.Tx) error {
			j, ok, err := tx.Job("acme", "NURSE-1")
			require.True(t, ok)
			if err != nil {
				return err
			}
			return tx.DeleteJob(j)
		})
		require.Empty(t, list(time.Unix(0, 0)))
	})
}
