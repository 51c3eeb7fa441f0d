package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// The retention of a job application that a release from before retention wrote counts from its last change, and nothing
// erases it before that is found out.
func TestRetentionOfAFormerRelease(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, err := Open(t.Context(), address, Options{})
		require.NoError(t, err)
		defer db.Close()
		now := time.Date(2017, 5, 1, 12, 0, 0, 0, time.UTC)
		kept := model.ApplicationRetention{Tenant: "initech", Kept: 180 * 24 * time.Hour, EffectiveAt: now.AddDate(-1, 0, 0)}
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
			a := &model.JobApplication{Row: model.Row{Tenant: "initech"}, ID: "a-1", Candidate: "c-1"}
			if err := tx.UpsertJobApplication(a, now.AddDate(-1, 0, 0)); err != nil {
				return err
			}
			a.LanguageCode = "de"
			if err := tx.UpsertJobApplication(a, now.AddDate(0, 0, -10)); err != nil {
				return err
			}
			return tx.UpsertApplicationRetention(kept)
		}))
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
			return tx.sql.RunAll([]string{`UPDATE job_applications SET kept_from = NULL`, `UPDATE application_list SET kept_from = NULL`})
		}))
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
			erased, _, _, err := tx.EraseApplication("initech", "a-1", now)
			require.False(t, erased)
			return err
		}))
		ends, err := db.ErasesAt(t.Context(), "initech", "a-1")
		require.NoError(t, err)
		require.Empty(t, ends)
		_, err = db.CompleteLists(t.Context(), now)
		require.NoError(t, err)
		ends, err = db.ErasesAt(t.Context(), "initech", "a-1")
		require.NoError(t, err)
		require.Equal(t, map[string]time.Time{"a-1": now.AddDate(0, 0, 170)}, ends)
		for _, step := range plan(t, db, listErasable, "initech", -1, "", now.UnixMicro(), now.UnixMicro(), 500) {
			require.NotRegexp(t, `^SCAN application_list$`, step)
		}
	})
}
