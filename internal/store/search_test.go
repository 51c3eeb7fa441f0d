package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// sought are the ids of all candidates that a filter chooses, in pages of two.
func sought(t *testing.T, db *store.DB, f store.CandidateFilter) (ids []string) {
	t.Helper()
	for p := (store.Page{Limit: 2}); ; {
		page, next, err := db.ListCandidates(t.Context(), "initech", f, p)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page), 2)
		for _, c := range page {
			require.Equal(t, "initech", c.Tenant)
			ids = append(ids, c.ID)
		}
		if p.After = next; next == "" {
			return ids
		}
	}
}

func TestCandidatesAreFound(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		all := []*model.Candidate{
			{ID: "c-zoe", Name: model.Name{Given: "Zoë", Family: "Müller-Lüdenscheidt"}, Email: []string{"first@example.org", "Zoe@Example.org"}, Phone: []string{"+49 (0)30 123456-78"}},
			{ID: "c-anna", Name: model.Name{Formatted: "Anna Annabel Øde"}, Email: []string{"anna@example.org"}, Phone: []string{"030 12345678", "٠٣٠٩٨٧٦٥٤٣"}},
			{ID: "c-wang", Name: model.Name{Family: "王", Given: "小明"}},
			{ID: "c-ody", Name: model.Name{Formatted: "ΟΔΥΣΣΕΎΣ O’Brien"}},
			{ID: "c-mull", Name: model.Name{Family: "Mull"}},
		}
		for _, c := range all {
			write(t, db, func(tx *store.Tx) error {
				c.Tenant = "initech"
				if err := tx.UpsertCandidate(c, noon); err != nil {
					return err
				}
				other := *c
				other.Row = model.Row{Tenant: "acme"}
				return tx.UpsertCandidate(&other, noon)
			})
		}
		for _, one := range []struct {
			f    store.CandidateFilter
			want []string
		}{
			{store.CandidateFilter{Name: "zoe"}, []string{"c-zoe"}},
			{store.CandidateFilter{Name: "MUL"}, []string{"c-mull", "c-zoe"}},
			{store.CandidateFilter{Name: "müller zo"}, []string{"c-zoe"}},
			{store.CandidateFilter{Name: "müller anna"}, nil},
			{store.CandidateFilter{Name: "ann"}, []string{"c-anna"}},
			{store.CandidateFilter{Name: "ode"}, []string{"c-anna"}},
			{store.CandidateFilter{Name: "王"}, []string{"c-wang"}},
			{store.CandidateFilter{Name: "οδυσσευς"}, []string{"c-ody"}},
			{store.CandidateFilter{Name: "obrien"}, []string{"c-ody"}},
			{store.CandidateFilter{Name: "uller"}, nil},
			{store.CandidateFilter{Name: "!"}, nil},
			{store.CandidateFilter{Email: "zoe@example.ORG"}, []string{"c-zoe"}},
			{store.CandidateFilter{Email: "zoe@example.org", Name: "lud"}, []string{"c-zoe"}},
			{store.CandidateFilter{Email: "zoe@example.org", Name: "anna"}, nil},
			{store.CandidateFilter{Phone: "+49 30 12345678"}, []string{"c-anna", "c-zoe"}},
			{store.CandidateFilter{Phone: "030/123-456-78"}, []string{"c-anna", "c-zoe"}},
			{store.CandidateFilter{Phone: "0309876543"}, []string{"c-anna"}},
			{store.CandidateFilter{Phone: "+43 30 12345678"}, []string{"c-anna"}},
			{store.CandidateFilter{Phone: "+49 30 99999999"}, nil},
		} {
			require.Equal(t, one.want, sought(t, db, one.f), "%+v", one.f)
		}
		_, next, err := db.ListCandidates(t.Context(), "initech", store.CandidateFilter{Name: "mul"}, store.Page{Limit: 1})
		require.NoError(t, err)
		require.True(t, store.IsSearch(next))
		_, _, err = db.ListCandidates(t.Context(), "initech", store.CandidateFilter{Name: "anna"}, store.Page{After: next})
		require.ErrorIs(t, err, store.ErrOtherSearch)

		write(t, db, func(tx *store.Tx) error {
			all[0].Name = model.Name{Family: "Schmidt"}
			return tx.UpsertCandidate(all[0], noon)
		})
		require.Equal(t, []string{"c-mull"}, sought(t, db, store.CandidateFilter{Name: "mul"}))
		require.Equal(t, []string{"c-zoe"}, sought(t, db, store.CandidateFilter{Name: "schmidt"}))
		write(t, db, func(tx *store.Tx) error { return tx.DeleteCandidate(all[0]) })
		require.Empty(t, sought(t, db, store.CandidateFilter{Name: "schmidt"}))
		require.Empty(t, sought(t, db, store.CandidateFilter{Email: "zoe@example.org"}))
	})
}

func TestJobsAreFoundByStateAndText(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		for n, title := range []string{"Nurse, nights", "Night nurse", "Driver", "Nurse"} {
			write(t, db, func(tx *store.Tx) error {
				return tx.UpsertJob(&model.Job{Row: model.Row{Tenant: "initech"}, BoardCode: fmt.Sprint("J-", n), ID: fmt.Sprint("job-", n), Title: title, Closed: n == 3}, noon)
			})
		}
		for f, want := range map[store.JobFilter][]string{
			{}:                             {"J-0", "J-1", "J-2", "J-3"},
			{State: "open"}:                {"J-0", "J-1", "J-2"},
			{State: "closed"}:              {"J-3"},
			{Text: "nurs"}:                 {"J-0", "J-1", "J-3"},
			{Text: "nurse", State: "open"}: {"J-0", "J-1"},
			{Text: "NIGHT nur"}:            {"J-1", "J-0"},
			{Text: "j-2"}:                  {"J-2"},
			{Text: "surgeon"}:              nil,
		} {
			var codes []string
			for p := (store.Page{Limit: 2}); ; {
				page, next, err := db.ListJobs(t.Context(), "initech", f, p)
				require.NoError(t, err)
				for _, j := range page {
					codes = append(codes, j.BoardCode)
				}
				if p.After = next; next == "" {
					break
				}
			}
			require.Equal(t, want, codes, "%+v", f)
		}
	})
}
