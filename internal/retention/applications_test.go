package retention_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/retention"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

func TestParseApplications(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]time.Duration{"4d": 4 * day, "180d": 180 * day, "forever": 0} {
		got, err := retention.ParseApplications(written)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, written := range []string{"", "3d", "180", "6mo", "36501d", "never"} {
		_, err := retention.ParseApplications(written)
		require.ErrorContains(t, err, "write, for example, `applications 180d`", written)
	}
}

// keepApplicationsFor puts a configuration in force that keeps the job applications of initech for a time, 0: for ever.
func (b *fixture) keepApplicationsFor(kept time.Duration) {
	if c := b.InForce.Current(); c != nil {
		b.InForce.Drop(c)
	}
	b.InForce.Push(&config.Config{Tenants: map[string]*model.Tenant{"initech": {Name: "initech", KeepApplications: kept}}})
}

// came stores a job application that came some time ago, and its candidate.
func (b *fixture) came(t *testing.T, a *model.JobApplication, ago time.Duration) {
	t.Helper()
	a.Tenant = "initech"
	b.write(t, func(tx *store.Tx) error {
		if _, there, err := tx.Candidate("initech", a.Candidate); err != nil || !there {
			c := &model.Candidate{Row: model.Row{Tenant: "initech"}, ID: a.Candidate}
			if err := tx.UpsertCandidate(c, b.now.Add(-ago)); err != nil {
				return err
			}
		}
		return tx.UpsertJobApplication(a, b.now.Add(-ago))
	})
}

func (b *fixture) job(t *testing.T, code string, kept int) {
	t.Helper()
	b.write(t, func(tx *store.Tx) error {
		j, there, err := tx.Job("initech", code)
		if err != nil {
			return err
		}
		if !there {
			j = &model.Job{Row: model.Row{Tenant: "initech"}, BoardCode: code, ID: "job-" + code}
		}
		j.KeepApplications = kept
		return tx.UpsertJob(j, b.now)
	})
}

// left returns the ids of the job applications that are there, the oldest first.
func (b *fixture) left(t *testing.T, f store.ApplicationFilter) (ids []string) {
	t.Helper()
	f.Order = store.OldestFirst
	page, err := b.Store.ListJobApplications(t.Context(), "initech", f)
	require.NoError(t, err)
	for _, a := range page.Items {
		ids = append(ids, a.ID)
	}
	return ids
}

func (b *fixture) eraseApplications(t *testing.T, want int) {
	t.Helper()
	n, err := b.EraseApplications(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, n)
}

func newApplicationsFixture(t *testing.T, address string) *fixture {
	t.Helper()
	b := newFixture(t, address)
	// Long ago: ids follow the latest clock of the process, and other tests have them be of today.
	b.now = time.Date(2017, 5, 1, 12, 0, 0, 0, time.UTC)
	return b
}

func TestApplicationsAreErasedAWeekAfterRetentionWasSet(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		b := newApplicationsFixture(t, address)
		subscription := &model.EventSubscription{Row: model.Row{Tenant: "initech"}, ID: "hris", URL: "https://hris.example/events",
			Secret: "a secret of a subscription"}
		b.write(t, func(tx *store.Tx) error { return tx.UpsertSubscription(subscription, b.now) })
		require.NoError(t, b.Store.ReadSubscribed(t.Context()))
		b.job(t, "LONG", 365)
		b.job(t, "SHORT", 30)
		ended := func(ago time.Duration) *model.End { return &model.End{As: model.Rejected, At: b.now.Add(-ago)} }
		b.came(t, &model.JobApplication{ID: "ended-lately", Candidate: "c-2", Ended: ended(10 * day)}, 300*day)
		b.came(t, &model.JobApplication{ID: "ended-long-ago", Candidate: "c-2", Ended: ended(190 * day)}, 290*day)
		b.came(t, &model.JobApplication{ID: "old", Candidate: "c-1"}, 210*day)
		b.came(t, &model.JobApplication{ID: "old-again", Candidate: "c-1", VersionOf: "old"}, 209*day)
		b.came(t, &model.JobApplication{ID: "moved", Candidate: "c-3", Status: model.Status{Step: "interview",
			EnteredAt: b.now.Add(-5 * day)}}, 205*day)
		b.came(t, &model.JobApplication{ID: "agreed", Candidate: "c-4", KeepUntil: b.now.Add(30 * day)}, 204*day)
		b.came(t, &model.JobApplication{ID: "of-long", Candidate: "c-5", Job: "LONG"}, 203*day)
		b.came(t, &model.JobApplication{ID: "of-short", Candidate: "c-6", Job: "SHORT"}, 100*day)
		b.came(t, &model.JobApplication{ID: "new", Candidate: "c-7"}, day)
		b.write(t, func(tx *store.Tx) error {
			if err := tx.InsertApplicationAnswers("initech", "old", &model.ApplicationAnswers{Source: "board"}); err != nil {
				return err
			}
			_, err := tx.InsertApplicationDocument(&model.ApplicationDocument{Key: model.NewID(b.now), Tenant: "initech",
				Application: "old", ID: "resume", Blob: "ab12", SHA256: []byte{1}, CreatedAt: b.now.Add(-200 * day)})
			return err
		})
		all := b.left(t, store.ApplicationFilter{})
		b.eraseApplications(t, 0) // nothing says how long they are kept

		b.keepApplicationsFor(180 * day)
		b.eraseApplications(t, 0)
		week := b.now.Add(7 * day)
		due := []string{"ended-long-ago", "old", "of-short"}
		require.Equal(t, due, b.left(t, store.ApplicationFilter{ErasedBefore: week.Add(time.Second)}))
		require.Empty(t, b.left(t, store.ApplicationFilter{ErasedBefore: week}))
		ends, err := b.Store.ErasesAt(t.Context(), "initech", all...)
		require.NoError(t, err)
		require.Equal(t, map[string]time.Time{
			"ended-long-ago": week, "old": week, "of-short": week,
			"ended-lately": b.now.Add(170 * day), "moved": b.now.Add(175 * day), "agreed": b.now.Add(30 * day),
			"of-long": b.now.Add(162 * day), "new": b.now.Add(179 * day)}, ends)
		kept, err := b.Store.ListApplicationRetentions(t.Context())
		require.NoError(t, err)
		require.Len(t, kept, 3)
		require.EqualValues(t, 3, kept[2].Announced)
		require.Equal(t, week, kept[2].EffectiveAt)

		b.now = b.now.Add(7*day - time.Second)
		b.eraseApplications(t, 0)
		b.now = b.now.Add(2 * time.Second)
		changed, err := b.Store.ListJobApplications(t.Context(), "initech", store.ApplicationFilter{Order: store.ByChange})
		require.NoError(t, err)
		b.eraseApplications(t, 3)
		require.Equal(t, []string{"ended-lately", "moved", "agreed", "of-long", "new"}, b.left(t, store.ApplicationFilter{}))
		changed, err = b.Store.ListJobApplications(t.Context(), "initech",
			store.ApplicationFilter{Order: store.ByChange, After: changed.End})
		require.NoError(t, err)
		require.ElementsMatch(t, due, changed.Erased)
		_, err = b.Store.JobApplication(t.Context(), "initech", "old-again")
		require.ErrorIs(t, err, store.ErrNotFound)
		_, err = b.Store.Candidate(t.Context(), "initech", "c-1")
		require.ErrorIs(t, err, store.ErrNotFound)
		_, err = b.Store.Candidate(t.Context(), "initech", "c-2") // who has another one
		require.NoError(t, err)
		_, err = b.Store.ApplicationDocument(t.Context(), "initech", "old", "resume")
		require.ErrorIs(t, err, store.ErrNotFound)
		told := map[string]bool{}
		events, err := b.Store.ListEvents(t.Context(), "initech", 0, 500)
		require.NoError(t, err)
		for _, e := range events {
			if e.Type == model.ApplicationErased || e.Type == model.CandidateErased {
				told[e.Object] = true
			}
		}
		require.Equal(t, map[string]bool{"old": true, "ended-long-ago": true, "of-short": true, "c-1": true, "c-6": true}, told)
		noted, _, err := b.Store.ListAudit(t.Context(), store.AuditFilter{Tenant: "initech"})
		require.NoError(t, err)
		require.Len(t, noted, 1)
		require.Equal(t, "3, whose time was over", noted[0].Detail)
		require.Equal(t, retention.Actor, noted[0].Actor)
		kept, err = b.Store.ListApplicationRetentions(t.Context())
		require.NoError(t, err)
		require.Zero(t, kept[2].Announced)

		b.now = b.now.Add(24 * day) // 31 days later the one who agreed goes without another notice
		b.eraseApplications(t, 1)
		require.NotContains(t, b.left(t, store.ApplicationFilter{}), "agreed")
	})
}

// What is shorter holds after a week, for a job as for a tenant; what is longer at once.
func TestAChangeOfRetention(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		b := newApplicationsFixture(t, address)
		for n, code := range []string{"", "LONG"} {
			if code != "" {
				b.job(t, code, 365)
			}
			b.came(t, &model.JobApplication{ID: fmt.Sprint("a-", n), Candidate: fmt.Sprint("c-", n), Job: code}, 100*day)
		}
		at := func(id string) time.Time {
			t.Helper()
			b.eraseApplications(t, 0)
			ends, err := b.Store.ErasesAt(t.Context(), "initech", id)
			require.NoError(t, err)
			return ends[id]
		}
		began := b.now
		b.keepApplicationsFor(180 * day)
		require.Equal(t, began.Add(80*day), at("a-0"))
		b.now = began.Add(8 * day)
		b.keepApplicationsFor(90 * day) // it has been 100 days
		require.Equal(t, b.now.Add(7*day), at("a-0"))
		b.now = b.now.Add(6 * day)
		b.keepApplicationsFor(200 * day)
		require.Equal(t, began.Add(100*day), at("a-0"), "longer than the one before the week, at once")
		b.keepApplicationsFor(90 * day)
		require.Equal(t, b.now.Add(7*day), at("a-0"), "the week begins again")
		b.keepApplicationsFor(0)
		require.Zero(t, at("a-0"))
		b.keepApplicationsFor(90 * day)
		require.Equal(t, b.now.Add(7*day), at("a-0"))

		require.Equal(t, began.Add(265*day), at("a-1"))
		b.job(t, "LONG", 0) // as the tenant's others
		require.Equal(t, b.now.Add(7*day), at("a-1"))
		b.now = b.now.Add(6 * day)
		require.Equal(t, b.now.Add(day), at("a-1"))
		b.now = b.now.Add(day)
		b.eraseApplications(t, 2)
		require.Empty(t, b.left(t, store.ApplicationFilter{}))
		kept, err := b.Store.ListApplicationRetentions(t.Context())
		require.NoError(t, err)
		require.Len(t, kept, 1, "the job has none of its own")
	})
}

// A tenant that is not in the configuration keeps its job applications, and a week more when it is back.
func TestATenantThatIsAwayKeepsItsApplications(t *testing.T) {
	t.Parallel()
	b := newApplicationsFixture(t, storetest.SQLite(t))
	b.came(t, &model.JobApplication{ID: "a-1", Candidate: "c-1"}, 100*day)
	b.keepApplicationsFor(90 * day)
	b.eraseApplications(t, 0)
	b.InForce.Drop(b.InForce.Current())
	b.InForce.Push(&config.Config{})
	b.now = b.now.Add(30 * day)
	b.eraseApplications(t, 0)
	b.keepApplicationsFor(90 * day)
	b.eraseApplications(t, 0)
	require.Equal(t, []string{"a-1"}, b.left(t, store.ApplicationFilter{}))
	b.now = b.now.Add(7 * day)
	b.eraseApplications(t, 1)
}
