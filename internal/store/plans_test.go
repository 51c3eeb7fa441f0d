package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// lists are all lists with all their filters.
func lists(ctx context.Context, db *DB) []error {
	at, page := time.Now(), Page{After: "a", Limit: 10}
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	for _, f := range []ExportFilter{
		{}, {Tenant: "t"}, {Tenant: "t", Candidate: "c"}, {Tenant: "t", Quarantined: true}, {Outcome: model.Failed}, {Tenant: "t", Outcome: model.Failed},
		{Tenant: "t", Integration: "i"}, {Tenant: "t", Integration: "i", Outcome: model.Held}, {Tenant: "t", Candidate: "c", Outcome: model.Failed},
		{Tenant: "t", Candidate: "c", Integration: "i"}, {Outcome: model.Failed, Class: model.ClassDataFault},
		{Tenant: "t", Outcome: model.Failed, Class: model.ClassDataFault},
		{LostDocuments: true}, {Tenant: "t", LostDocuments: true}, {LateDocuments: true}, {Tenant: "t", LateDocuments: true},
		{Redelivery: "r"}, {Tenant: "t", Redelivery: "r"}, {Tenant: "t", Redelivery: "r", Outcome: model.Failed, Status: "5xx"},
		{Status: "503"}, {Tenant: "t", Status: "5xx"}, {Tenant: "t", Integration: "i", Status: "none"}, {Attempts: 3},
		{Tenant: "t", Attempts: 3}, {Tenant: "t", Status: "5xx", Attempts: 3, Outcome: model.Retrying, Undelivered: true},
		{Tenant: "t", Candidate: "c", Status: "503"},
		{Prefix: "6f1c0f1e"}, {Tenant: "t", Prefix: "6f1c0f1e"},
		{Tenant: "t", Integration: "i", LostDocuments: true, Outcome: model.Failed},
		{Undelivered: true}, {Tenant: "t", Undelivered: true}, {Tenant: "t", Integration: "i", Undelivered: true},
		{Tenant: "t", Integration: "i", Outcome: model.Held, Undelivered: true},
		{Outcome: model.Failed, Undelivered: true}, {Tenant: "t", Outcome: model.Expired, Undelivered: true},
		{Outcome: model.Delivered, Undelivered: true},
	} {
		for _, bounds := range []ExportFilter{{}, {Since: at}, {Until: at}, {Cursor: 7}, {Since: at, Until: at, Cursor: 7}, {Cursor: 7, Oldest: true}} {
			f.Since, f.Until, f.Cursor, f.Oldest, f.Limit = bounds.Since, bounds.Until, bounds.Cursor, bounds.Oldest, 10
			_, _, err := db.ListExports(ctx, f)
			note(err)
			if f.Prefix == "" {
				_, _, err = db.CountExports(ctx, f)
				note(err)
			}
			if f.Tenant == "" && f.Prefix == "" {
				f.Tenants = []string{"t", "u"}
				_, _, err = db.ListExports(ctx, f)
				note(err)
				_, _, err = db.CountExports(ctx, f)
				note(err)
				f.Tenants = nil
			}
		}
	}
	for _, tenant := range []string{"", "t"} {
		_, err := db.CountFailures(ctx, tenant, at)
		note(err)
		_, _, err = db.ListUnfetched(ctx, tenant)
		note(err)
		_, err = db.CountLost(ctx, tenant, at)
		note(err)
	}
	_, err := db.CountFailed(ctx, at)
	note(err)
	_, err = db.CountLostDocuments(ctx, at)
	note(err)
	_, err = db.ListAskedCatchUps(ctx)
	note(err)
	_, _, _, err = db.CountUnfetched(ctx)
	note(err)
	for _, f := range []CandidateFilter{{}, {Email: "a@example.org"}, {Phone: "030 123"}, {Name: "Zoë"}, {Name: "Zoë Park", Email: "a@example.org"}} {
		p := page
		if f != (CandidateFilter{}) {
			p.After = ""
		}
		_, _, err := db.ListCandidates(ctx, "t", f, p)
		note(err)
	}
	_, _, err = db.ListCandidates(ctx, "t", CandidateFilter{Name: "Zoë"}, Page{After: searchMark + "zoemi" + searchMark + "c"})
	note(err)
	for _, f := range []JobFilter{{}, {State: "open"}, {State: "open", Text: "nurse night"}} {
		p := page
		if f != (JobFilter{}) {
			p.After = ""
		}
		_, _, err = db.ListJobs(ctx, "t", f, p)
		note(err)
	}
	_, _, err = db.ListFeedJobs(ctx, "t", page)
	note(err)
	_, err = db.FeedState(ctx, "t")
	note(err)
	_, _, err = db.ListAPIUsers(ctx, "t", page)
	note(err)
	_, err = db.ListUploads(ctx, at, 0, 10)
	note(err)
	_, err = db.ListDueScans(ctx, at, 10)
	note(err)
	_, err = db.CountPendingScans(ctx)
	note(err)
	_, _, err = db.ListSteps(ctx, "t", page)
	note(err)
	for _, f := range []ApplicationFilter{{}, {Candidate: "c"}, {Job: "j"}, {Step: "s"}, {Source: "s"}, {APIUser: "u"},
		{Since: at, Until: at}, {Job: "j", Step: "s", Source: "s"}, {ErasedBefore: at}} {
		for _, order := range []ApplicationOrder{NewestFirst, OldestFirst, ByChange} {
			for _, after := range []int64{0, 7} {
				f.Order, f.After = order, after
				_, err = db.ListJobApplications(ctx, "t", f)
				note(err)
				_, _, err = db.CountListed(ctx, "t", f)
				note(err)
			}
		}
	}
	_, err = db.CompleteLists(ctx, at)
	note(err)
	_, err = db.ErasesAt(ctx, "t", "a", "b")
	note(err)
	_, err = db.ListErasableApplications(ctx, "t", ErasableApplication{ID: "a", KeptFrom: at}, time.Hour, at)
	note(err)
	_, err = db.ListJobRetentions(ctx)
	note(err)
	note(db.Write(ctx, func(tx *Tx) error {
		_, err := tx.ForgetErased(at)
		return err
	}))
	_, _, err = db.ListTransitions(ctx, "t", "a", 7, 10)
	note(err)
	_, _, err = db.ListApplicationDocuments(ctx, "t", "a", 7, 10)
	note(err)
	for _, f := range []AuditFilter{{}, {Tenant: "t"}, {Tenant: "t", Object: "o"}, {Object: "o"}, {Action: "a"}} {
		for _, bounds := range []AuditFilter{{}, {Since: at}, {Until: at}, {Before: AuditCursor{7, 7}}} {
			f.Since, f.Until, f.Before = bounds.Since, bounds.Until, bounds.Before
			_, _, err = db.ListAudit(ctx, f)
			note(err)
		}
	}
	_, err = db.ListHeldDeliveries(ctx, "t", "i", 7, 10)
	note(err)
	_, err = db.ListDeliveriesOf(ctx, []int64{1, 2, 3})
	note(err)
	_, err = db.ListDeliveries(ctx, 1)
	note(err)
	_, err = db.ListAttempts(ctx, 1)
	note(err)
	_, err = db.ListDocuments(ctx, 1)
	note(err)
	_, err = db.UndispatchedTenants(ctx)
	note(err)
	_, err = db.ListUndispatched(ctx, "t", at, 10)
	note(err)
	_, err = db.ExportsByID(ctx, []int64{1, 2, 3})
	note(err)
	_, err = db.LastStatuses(ctx, []int64{1, 2, 3})
	note(err)
	_, err = db.ListStored(ctx, []int64{1, 2, 3})
	note(err)
	_, err = db.DocumentProgress(ctx, []int64{1, 2, 3})
	note(err)
	_, _, err = db.ListUndispatchedUnfetched(ctx, 7, at, at, 10)
	note(err)
	_, err = db.ListOverdue(ctx, model.Retrying, at, time.Hour, 7, 10)
	note(err)
	_, _, err = db.ListUnfinished(ctx, 7, at)
	note(err)
	_, err = db.ListErasable(ctx, 7, at, at)
	note(err)
	_, err = db.ListDeletable(ctx, 7, at, at)
	note(err)
	_, err = db.LookUnsettled(ctx, 7)
	note(err)
	_, err = db.Health(ctx, model.Place{Tenant: "t", Integration: "i"})
	note(err)
	_, err = db.SumHours(ctx, at)
	note(err)
	_, err = db.SumHours(ctx, at, model.Place{Tenant: "t", Integration: "i"}, model.Place{Tenant: "u", Integration: "i"})
	note(err)
	_, err = db.ListLastFailures(ctx, []model.Place{{Tenant: "t", Integration: "i"}, {Tenant: "u", Integration: "i"}})
	note(err)
	_, err = db.ListAcknowledgements(ctx, "t", at)
	note(err)
	_, _, err = db.ListCauses(ctx, model.Place{Tenant: "t", Integration: "i"}, at)
	note(err)
	for _, tenant := range []string{"", "t"} {
		_, err = db.ListQuarters(ctx, tenant, at)
		note(err)
	}
	_, err = db.LastQuarter(ctx)
	note(err)
	_, err = db.CountReceived(ctx, at, at)
	note(err)
	_, err = db.ListHoursOf(ctx, []model.Place{{Tenant: "t", Integration: "i"}, {Tenant: "u", Integration: "i"}}, at)
	note(err)
	_, err = db.ListHours(ctx, model.Place{Tenant: "t", Integration: "i"}, at)
	note(err)
	for _, mode := range model.RedeliveryModes {
		s := model.Selection{Tenant: "t", Integration: "i", Since: at, Until: at.Add(time.Hour), Mode: mode}
		_, err = db.ListSelected(ctx, &s, 7, 10)
		note(err)
		_, err = db.PreviewRedelivery(ctx, &s, model.Passthrough, at)
		note(err)
	}
	for _, tenants := range [][]string{nil, {"t"}, {"t", "u"}} {
		_, _, err = db.ListRedeliveries(ctx, tenants, page)
		note(err)
	}
	note(db.countBegun(ctx, new(model.Redelivery)))
	_, err = db.ListRunningRedeliveries(ctx)
	note(err)
	_, err = db.CatchUp(ctx, model.Place{Tenant: "t", Integration: "i"})
	if !errors.Is(err, ErrNotFound) {
		note(err)
	}
	_, _, err = db.CountWaiting(ctx, model.Place{Tenant: "t", Integration: "i"}, at)
	note(err)
	_, err = db.ListUnclaimedCatchUps(ctx, at)
	note(err)
	note(db.Write(ctx, func(tx *Tx) error {
		_, err := tx.MakeDue(&model.CatchUp{Place: model.Place{Tenant: "t", Integration: "i"}, BeganAt: at}, 10, at)
		return err
	}))
	_, err = db.ListHeldPlaces(ctx)
	note(err)
	_, err = db.CountQuarantined(ctx)
	note(err)
	_, err = db.ListTenants(ctx)
	note(err)
	for _, tenant := range []string{"", "t"} {
		_, _, err = db.ListAPIKeys(ctx, tenant, page)
		note(err)
	}
	return errs
}

// asked is a query with its arguments.
type asked struct {
	q    string
	args []any
}

// queriesOf are the queries of all lists, on a database.
func queriesOf(t *testing.T, db *DB) (all []asked) {
	t.Helper()
	observe(db, func(q string, args []any) { all = append(all, asked{q, args}) }, nil)
	defer observe(db, nil, nil)
	for _, err := range lists(t.Context(), db) {
		require.NoError(t, err)
	}
	require.Greater(t, len(all), 60)
	return all
}

// whole is a step of a plan of SQLite that goes through a table, or a sort of what was found. Sorting the one page that
// an inner query found is all right.
var whole = regexp.MustCompile(`^SCAN [a-z]+( USING INDEX [a-z_]+)?$|USE TEMP B-TREE FOR (ORDER BY|DISTINCT)`)

// few are the indexes that hold, or are asked for, a few rows only: what needs attention, the deliveries of an export.
var few = regexp.MustCompile(`deliveries_held|exports_undispatched|exports_unsettled_of_all|exports_quarantined|candidates_unworded|jobs_unworded|jobs_kept|` +
	`documents_late|documents_fetching|deliveries_by_export \(export_id=\?\)|SCAN (w|page|waiting|failed|expired|ended|counted)$`)

func TestListsUseIndexesOfSQLite(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), storetest.SQLite(t), Options{})
	require.NoError(t, err)
	defer db.Close()
	for _, one := range queriesOf(t, db) {
		plan, err := rows.Query(t.Context(), db.reads, func(r row) (string, error) {
			var id, parent, unused int
			var detail string
			err := r.Scan(&id, &parent, &unused, &detail)
			return detail, err
		}, "EXPLAIN QUERY PLAN "+one.q, one.args...)
		require.NoError(t, err)
		if plan[0] == "MATERIALIZE page" {
			plan = plan[1:]
		}
		if few.MatchString(plan[0]) || !strings.Contains(one.q, "WHERE") { // without a filter its head is read
			continue
		}
		for _, step := range plan {
			if !few.MatchString(step) {
				require.NotRegexp(t, whole, step, "%s\n%s", one.q, fmt.Sprint(plan))
			}
		}
	}
}

// without is the address of a database with what PostgreSQL's planner is not to use, such as seqscan: where it has an index
// instead, it takes that. The address of another database stays.
func without(address string, off ...string) string {
	if !strings.HasPrefix(address, "postgres") {
		return address
	}
	settings := make([]string, len(off))
	for n, one := range off {
		settings[n] = "-c enable_" + one + "=off"
	}
	options := url.Values{"options": {strings.Join(settings, " ")}}
	return address + "&" + strings.ReplaceAll(options.Encode(), "+", "%20")
}

// TestListsUseIndexesOfPostgreSQL forbids the planner to go through tables and to sort, wherever an index makes that
// possible.
func TestListsUseIndexesOfPostgreSQL(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), without(storetest.Postgres(t), "seqscan", "bitmapscan", "sort", "hashagg"), Options{})
	require.NoError(t, err)
	defer db.Close()
	for _, one := range queriesOf(t, db) {
		plan, err := rows.Query(t.Context(), db.reads, rows.Value[string], "EXPLAIN "+one.q, one.args...)
		require.NoError(t, err)
		limited := false
		for _, step := range plan {
			limited = limited || strings.Contains(step, "Limit ")
			require.NotContains(t, step, "Seq Scan", "%s\n%s", one.q, strings.Join(plan, "\n"))
			if limited { // what is sorted below a limit is sorted as a whole, for a page of it
				require.NotContains(t, step, "Sort  (", "%s\n%s", one.q, strings.Join(plan, "\n"))
			}
		}
	}
}

// A list of a class and an outcome reads the deliveries of both alone, and not all of the outcome.
func TestClassesAndOutcomesHaveAnIndex(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, err := Open(t.Context(), without(address, "seqscan", "bitmapscan", "sort"), Options{})
		require.NoError(t, err)
		defer db.Close()
		for tenant, index := range map[string]string{"": "deliveries_at_fault", "t": "deliveries_at_fault_of_tenant"} {
			f := ExportFilter{Tenant: tenant, Outcome: model.Retrying, Class: model.ClassDataFault, Limit: 10}
			q, args := f.query("e.id")
			require.Regexp(t, index+"( |$)", strings.Join(plan(t, db, q, args...), "\n"))
		}
	})
}

// A list by the status of the last attempt, or by their number, reads the index of statuses.
func TestStatusesHaveAnIndex(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, err := Open(t.Context(), without(address, "seqscan", "bitmapscan", "sort"), Options{})
		require.NoError(t, err)
		defer db.Close()
		for _, f := range []ExportFilter{{Status: "503"}, {Status: "5xx", Outcome: model.Retrying}, {Attempts: 3}, {Status: "none", Since: time.Now()},
			{Status: "503", Undelivered: true}} {
			f.Limit = 10
			q, args := f.query("e.id")
			require.Regexp(t, `deliveries_at_status( |$)`, strings.Join(plan(t, db, q, args...), "\n"))
			f.Tenant, f.Integration = "t", "i"
			q, args = f.query("e.id")
			require.Regexp(t, `deliveries_at_status_of_tenant( |$)`, strings.Join(plan(t, db, q, args...), "\n"))
		}
	})
}

// Whether somebody has a second word, and which of two is the first, is looked up by who they are.
func TestFurtherWordsOfASearchAreThoseOfOneRow(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), storetest.SQLite(t), Options{})
	require.NoError(t, err)
	defer db.Close()
	var all []asked
	observe(db, func(q string, args []any) { all = append(all, asked{q, args}) }, nil)
	_, _, err = db.ListCandidates(t.Context(), "t", CandidateFilter{Name: "ada schm"}, Page{})
	observe(db, nil, nil)
	require.NoError(t, err)
	further := 0
	for _, one := range all {
		for _, step := range plan(t, db, one.q, one.args...) {
			if strings.HasPrefix(step, "SEARCH o ") || strings.HasPrefix(step, "SEARCH s ") {
				further++
				require.Contains(t, step, "search_words_by_id (tenant=? AND id=?")
			}
		}
	}
	require.Equal(t, 2, further)
}
