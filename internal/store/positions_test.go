package store_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// What exports, applications and the feed have of a job they read without what it asks, which may be 4 MiB: not even a
// broken one keeps them from it. A job that was put before there was that is read as a whole.
func TestPositionsAreReadWithoutQuestions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, err := store.Open(t.Context(), address, store.Options{})
		require.NoError(t, err)
		defer db.Close()
		driver, source := "pgx", address
		if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
			driver, source = "sqlite", "file:"+path
		}
		other, err := sql.Open(driver, source)
		require.NoError(t, err)
		defer other.Close()
		job := &model.Job{Row: model.Row{Tenant: "acme"}, BoardCode: "NURSE-1", ID: "job-1", LegacyID: "7", Title: "Nurse", URI: "https://jobs.example/1", Syndicate: true,
			CustomFields: []model.CustomField{{ID: "f", Name: "ward", Type: "text", Value: "A"}}, Questions: []model.Question{{ID: "1", Format: model.Text, Label: "Why?"}}, ComplianceGroups: []string{}}
		write(t, db, func(tx *store.Tx) error { return tx.UpsertJob(job, noon) })
		read := func() (all []*model.Job) {
			write(t, db, func(tx *store.Tx) error {
				all = nil
				for _, find := range []func(tenant, boardCode string) (*model.Job, bool, error){tx.JobWithoutQuestions, tx.LockJob} {
					one, ok, err := find("acme", "NURSE-1")
					if err != nil {
						return err
					}
					require.True(t, ok)
					all = append(all, one)
				}
				_, ok, err := tx.JobWithoutQuestions("acme", "NURSE-2")
				require.False(t, ok)
				return err
			})
			feed, _, err := db.ListFeedJobs(t.Context(), "acme", store.Page{})
			require.NoError(t, err)
			require.Len(t, feed, 1)
			require.Equal(t, []string{"NURSE-1", "Nurse", "https://jobs.example/1"}, []string{feed[0].BoardCode, feed[0].Title, feed[0].URI})
			return all
		}
		_, err = other.ExecContext(t.Context(), `UPDATE jobs SET position = NULL`)
		require.NoError(t, err)
		for _, one := range read() {
			require.Equal(t, job, one)
		}
		write(t, db, func(tx *store.Tx) error { return tx.UpsertJob(job, noon) })
		_, err = other.ExecContext(t.Context(), `UPDATE jobs SET data = position`)
		require.NoError(t, err)
		asked, err := db.Job(t.Context(), "acme", "NURSE-1")
		require.NoError(t, err)
		require.Empty(t, asked.Questions, "the questions are kept twice")
		_, err = other.ExecContext(t.Context(), `UPDATE jobs SET data = substr(data, 1, 1)`)
		require.NoError(t, err)
		bare := *job
		bare.Questions, bare.ComplianceGroups = nil, nil
		for _, one := range read() {
			require.Equal(t, &bare, one)
		}
	})
}
