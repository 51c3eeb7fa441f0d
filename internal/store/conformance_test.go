package store_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// resource has the methods of a table of resources, which conform runs.
type resource[T any] struct {
	of     func(tenant, id string) *T
	row    func(*T) *model.Row
	change func(*T)
	upsert func(*store.Tx, *T, time.Time) error
	find   func(tx *store.Tx, tenant, id string) (*T, bool, error)
	get    func(db *store.DB, ctx context.Context, tenant, id string) (*T, error)
	list   func(db *store.DB, ctx context.Context, tenant string, p store.Page) ([]*T, string, error)
	delete func(*store.Tx, *T) error
}

// TestResources runs the same list of checks against each table of resources.
func TestResources(t *testing.T) {
	t.Parallel()
	t.Run("candidates", resource[model.Candidate]{
		of:     candidate,
		row:    func(c *model.Candidate) *model.Row { return &c.Row },
		change: func(c *model.Candidate) { c.Name.Given = "Zoe" },
		upsert: (*store.Tx).UpsertCandidate, find: (*store.Tx).Candidate, get: (*store.DB).Candidate, delete: (*store.Tx).DeleteCandidate,
		list: func(db *store.DB, ctx context.Context, tenant string, p store.Page) ([]*model.Candidate, string, error) {
			return db.ListCandidates(ctx, tenant, store.CandidateFilter{}, p)
		},
	}.conform)
	t.Run("jobs", resource[model.Job]{
		of: func(tenant, code string) *model.Job {
			return &model.Job{Row: model.Row{Tenant: tenant}, BoardCode: code, ID: "id of " + code, Title: "Registered Nurse", Syndicate: true,
				Questions: []model.Question{{ID: "shift", Label: "Shift", Format: "Radio", Options: []string{"Day", "Night"}}}}
		},
		row:    func(j *model.Job) *model.Row { return &j.Row },
		change: func(j *model.Job) { j.Closed = true },
		upsert: (*store.Tx).UpsertJob, find: (*store.Tx).Job, get: (*store.DB).Job, delete: (*store.Tx).DeleteJob,
		list: func(db *store.DB, ctx context.Context, tenant string, p store.Page) ([]*model.Job, string, error) {
			return db.ListJobs(ctx, tenant, store.JobFilter{}, p)
		},
	}.conform)
	t.Run("steps", resource[model.Step]{
		of: func(tenant, id string) *model.Step {
			return &model.Step{Row: model.Row{Tenant: tenant}, ID: id, Name: "Interview"}
		},
		row:    func(s *model.Step) *model.Row { return &s.Row },
		change: func(s *model.Step) { s.Name = "Offer" },
		upsert: (*store.Tx).UpsertStep, find: (*store.Tx).Step, get: (*store.DB).Step, list: (*store.DB).ListSteps, delete: (*store.Tx).DeleteStep,
	}.conform)
	t.Run("job applications", resource[model.JobApplication]{
		of: func(tenant, id string) *model.JobApplication {
			return &model.JobApplication{Row: model.Row{Tenant: tenant}, ID: id, Candidate: "c-1", Job: "NURSE-1", Status: model.Status{Step: "s-1", Name: "Interview", EnteredAt: noon}}
		},
		row:    func(a *model.JobApplication) *model.Row { return &a.Row },
		change: func(a *model.JobApplication) { a.Status.Step = "s-2" },
		upsert: (*store.Tx).UpsertJobApplication, find: (*store.Tx).JobApplication, get: (*store.DB).JobApplication, delete: (*store.Tx).DeleteJobApplication,
		list: func(db *store.DB, ctx context.Context, tenant string, p store.Page) ([]*model.JobApplication, string, error) {
			return listed(db.ListJobApplications(ctx, tenant, store.ApplicationFilter{Order: store.OldestFirst, Limit: p.Limit, After: position(p)}))
		},
	}.conform)
}

// position is the position that a cursor is.
func position(p store.Page) int64 {
	n, _ := strconv.ParseInt(p.After, 10, 64)
	return n
}

// listed returns a page of job applications with the cursor of the next one.
func listed(page store.ApplicationPage, err error) (all []*model.JobApplication, next string, _ error) {
	for _, a := range page.Items {
		all = append(all, a.JobApplication)
	}
	if page.More {
		next = strconv.FormatInt(page.End, 10)
	}
	return all, next, err
}

func (r resource[T]) conform(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		put := func(v *T, at time.Time) error {
			return db.Write(t.Context(), func(tx *store.Tx) error { return r.upsert(tx, v, at) })
		}
		remove := func(v *T) error {
			return db.Write(t.Context(), func(tx *store.Tx) error { return r.delete(tx, v) })
		}
		requireStored := func(want *T) {
			got, err := r.get(db, t.Context(), "initech", "r-1")
			require.NoError(t, err)
			require.Equal(t, want, got)
			write(t, db, func(tx *store.Tx) error {
				got, ok, err := r.find(tx, "initech", "r-1")
				require.True(t, ok)
				require.Equal(t, want, got)
				return err
			})
		}
		requireMissing := func(tenant, id string) {
			_, err := r.get(db, t.Context(), tenant, id)
			require.ErrorIs(t, err, store.ErrNotFound)
			write(t, db, func(tx *store.Tx) error {
				_, ok, err := r.find(tx, tenant, id)
				require.False(t, ok)
				return err
			})
		}
		requireMissing("initech", "r-1")
		first, second := r.of("initech", "r-1"), r.of("initech", "r-1")
		require.NoError(t, put(first, noon))
		require.Equal(t, model.Row{Tenant: "initech", Version: 1, CreatedAt: noon, UpdatedAt: noon}, *r.row(first))
		requireStored(first)
		requireMissing("acme", "r-1")
		require.ErrorIs(t, put(second, noon), store.ErrStale, "it was inserted twice")
		require.Zero(t, r.row(second).Version)

		*second = *first
		r.change(first)
		require.NoError(t, put(first, noon.Add(time.Hour)))
		require.Equal(t, model.Row{Tenant: "initech", Version: 2, CreatedAt: noon, UpdatedAt: noon.Add(time.Hour)}, *r.row(first))
		require.ErrorIs(t, put(second, noon), store.ErrStale, "a change was overwritten")
		require.ErrorIs(t, remove(second), store.ErrStale, "a change was deleted")
		requireStored(first)
		require.NoError(t, remove(first))
		requireMissing("initech", "r-1")
		require.ErrorIs(t, remove(first), store.ErrStale, "it was deleted twice")

		another := r.of("initech", "r-1")
		require.NoError(t, put(another, noon.Add(2*time.Hour)))
		require.Equal(t, r.row(another).Version, r.row(second).Version)
		require.ErrorIs(t, put(second, noon), store.ErrStale, "another one with its id was overwritten")
		require.ErrorIs(t, remove(second), store.ErrStale, "another one with its id was deleted")
		requireStored(another)

		want := []*T{another}
		for n := 2; n <= 7; n++ {
			one := r.of("initech", fmt.Sprint("r-", n))
			require.NoError(t, put(one, noon))
			want = append(want, one)
		}
		require.NoError(t, put(r.of("acme", "r-1"), noon))
		var all []*T
		for p, pages := (store.Page{Limit: 3}), 1; ; pages++ {
			page, next, err := r.list(db, t.Context(), "initech", p)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page), 3)
			all = append(all, page...)
			if p.After = next; next == "" {
				require.Equal(t, 3, pages)
				break
			}
		}
		require.Equal(t, want, all)
	})
}
