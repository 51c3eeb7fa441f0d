package schedules

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/storetest"
	_ "github.com/hiregate/hiregate/internal/store/storetest/tables"
)

var (
	count = flag.Int("schedules", 400, "how many schedules to try")
	first = flag.Uint64("seed", 1, "seed of the first one; the others follow")
)

// settling is how long it may take, once everything is well again, until everything has its end: the longest wait is that
// for a workflow that Temporal has lost.
const settling = 5 * time.Minute

// TestSchedules tries schedules on one gateway with SQLite. The first that breaks an invariant is shrunk. Another order of
// goroutines may hide it: it is never tried again to see whether it passes.
func TestSchedules(t *testing.T) { trySeeds(t, *count, 1, storetest.SQLite) }

// TestSchedulesOfTwoNodes tries a sample of them on two gateways that share PostgreSQL.
func TestSchedulesOfTwoNodes(t *testing.T) { trySeeds(t, (*count+19)/20, 2, storetest.Postgres) }

func trySeeds(t *testing.T, count, nodes int, database func(testing.TB) string) {
	t.Helper()
	exports, attempts, submissions := 0, 0, 0
	for n := range count {
		seed := *first + uint64(n)
		steps := newSteps(seed)
		again := func(steps []step) *world { return try(t, seed, nodes, database(t), steps) }
		w := again(steps)
		exports, attempts, submissions = exports+len(w.order), attempts+w.attempts, submissions+len(w.submitted)
		if len(w.broken) > 0 {
			steps, w = shrink(steps, w, again)
			t.Fatalf("make schedules SEED=%d N=1\n\n%s\n\nSteps, shrunk:\n%s\n\nWhat happened:\n%s", seed,
				strings.Join(w.broken, "\n"), lines(steps), strings.Join(w.trace, "\n"))
		}
		if (n+1)%1000 == 0 {
			fmt.Printf("%d schedules of %d\n", n+1, count)
		}
	}
	t.Logf("%d schedules from seed %d: %d exports, %d attempts, %d submissions", count, *first, exports, attempts, submissions)
}

func lines(steps []step) string {
	var all []string
	for _, s := range steps {
		all = append(all, "  "+s.String())
	}
	return strings.Join(all, "\n")
}

// shrink leaves out steps for as long as what is left breaks an invariant as well.
func shrink(steps []step, broken *world, again func([]step) *world) ([]step, *world) {
	for size := len(steps) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(steps); {
			fewer := slices.Delete(slices.Clone(steps), at, at+size)
			if w := again(fewer); len(w.broken) > 0 {
				steps, broken = fewer, w
			} else {
				at += size
			}
		}
	}
	return steps, broken
}

// day is the day of the next schedule: the ids of exports rise within a process.
var day = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// try has the steps of a seed happen to a world, and returns that.
func try(t *testing.T, seed uint64, nodes int, address string, steps []step) (w *world) {
	t.Helper()
	folder := t.TempDir()
	day = day.AddDate(0, 0, 1)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(day))
		var err error
		w, err = newWorld(context.Background(), seed, address, folder)
		require.NoError(t, err)
		err = w.happen(nodes, steps)
		for _, n := range w.alive() {
			n.stop()
			n.loops.Wait()
		}
		w.server.empty()
		w.end()
		w.group.Wait()
		for _, n := range w.alive() {
			require.NoError(t, n.db.Close())
		}
		require.NoError(t, err, strings.Join(w.trace, "\n"))
	})
	return w
}

// happen has the steps happen, then has everything be well again, and looks at what became of the exports.
func (w *world) happen(nodes int, steps []step) error {
	for range nodes {
		if _, err := w.startNode(); err != nil {
			return err
		}
	}
	for _, at := range w.places() {
		if err := w.setStatus(w.anyNode(), at, model.Configured, false); err != nil {
			return err
		}
	}
	if err := w.recruit(w.anyNode()); err != nil {
		return err
	}
	for _, s := range steps {
		if err := w.take(s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := w.heal(); err != nil {
		return err
	}
	var left []string
	var err error
	for until := time.Now().Add(settling); time.Now().Before(until); time.Sleep(5 * time.Second) {
		if left, err = w.open(); err != nil {
			return err
		}
		if len(left) == 0 {
			break
		}
	}
	w.mu.Lock()
	for _, one := range left {
		w.violated("nobody works on this any more: %s", one)
	}
	w.mu.Unlock()
	return w.compare()
}

// heal has everything be well again.
func (w *world) heal() error {
	w.note("heal")
	w.excuse()
	w.server.comeBack()
	w.mu.Lock()
	clear(w.gone)
	for _, v := range w.services {
		v.status, v.takes = http.StatusNoContent, 20*time.Millisecond
	}
	for _, r := range w.receivers {
		r.status, r.takes = http.StatusOK, 20*time.Millisecond
	}
	w.mu.Unlock()
	w.reload()
	time.Sleep(2 * attemptTime) // until what is under way was answered: with a 410 an integration is disabled once more
	for _, at := range w.places() {
		if w.receivers[at].removed.IsZero() {
			if err := w.verified(w.anyNode(), at); err != nil {
				return err
			}
		}
	}
	for tenant := range w.services { // the first one that a service accepts brings all that wait for it
		if err := w.applyFor(w.anyNode(), tenant); err != nil {
			return err
		}
	}
	return nil
}

// open lists what has no end yet.
func (w *world) open() (left []string, err error) {
	if left, err = w.openSubmissions(w.anyNode()); err != nil {
		return nil, err
	}
	return left, w.each(func(e *sent, stored *model.Export, last map[string]*model.Delivery) {
		if stored.Quarantined {
			return
		}
		for at, r := range w.receivers {
			d := last[at.Integration]
			switch {
			case at.Tenant != e.tenant, d == nil && (!e.isFor(at.Integration) || !stored.ErasedAt.IsZero() || !r.removed.IsZero()):
			case d == nil:
				left = append(left, fmt.Sprintf("%s has no delivery to %s; round %d, dispatched %s, fault %q", e.uuid, at.Integration,
					stored.Round, stored.DispatchedAt, stored.Fault))
			case !d.Outcome.Final():
				left = append(left, fmt.Sprintf("%s is %s at %s in round %d of %d after %d attempts, next %s, parked %t", e.uuid, d.Outcome,
					at.Integration, d.Round, stored.Round, d.Attempts, d.NextAt, d.Parked))
			}
		}
	})
}

// each calls do for each export that was acknowledged, with its delivery of the last round to each integration.
func (w *world) each(do func(e *sent, stored *model.Export, last map[string]*model.Delivery)) error {
	n := w.anyNode()
	w.mu.Lock()
	all := slices.Clone(w.order)
	w.mu.Unlock()
	for _, e := range all {
		stored, err := n.db.ExportByKey(n.ctx, e.tenant, e.uuid)
		if err != nil {
			return fmt.Errorf("%s was acknowledged: %w", e.uuid, err)
		}
		deliveries, err := n.db.ListDeliveries(n.ctx, stored.ID)
		if err != nil {
			return err
		}
		last := map[string]*model.Delivery{}
		for _, d := range deliveries {
			if l := last[d.Integration]; l == nil || d.Round > l.Round {
				last[d.Integration] = d
			}
		}
		w.mu.Lock()
		do(e, stored, last)
		w.mu.Unlock()
	}
	return nil
}

// compare compares what stands in rows with what the partners saw.
func (w *world) compare() error {
	quarantined := 0
	err := w.each(func(e *sent, stored *model.Export, last map[string]*model.Delivery) {
		if stored.Round < e.round {
			w.violated("%s was redelivered in round %d, and is in round %d", e.uuid, e.round, stored.Round)
		}
		if stored.Fault != "" && stored.ErasedAt.IsZero() {
			w.violated("%s has a fault, and its tenant an integration: %s", e.uuid, stored.Fault)
		}
		if stored.Quarantined {
			quarantined++
		}
		for name, d := range last {
			received := slices.ContainsFunc(e.arrived[name], func(a arrival) bool {
				return a.status == http.StatusOK && (d.Round == 0 || !a.at.Before(d.CreatedAt))
			})
			removed := !w.receivers[model.Place{Tenant: e.tenant, Integration: name}].removed.IsZero()
			switch {
			case d.Outcome == model.Delivered && !received:
				w.violated("%s is delivered to %s in round %d, which it did not receive then", e.uuid, name, d.Round)
			case d.Outcome == model.Failed && len(e.arrived[name]) == 0 && e.erased.IsZero() && !removed:
				w.violated("%s failed at %s without an attempt", e.uuid, name)
			}
		}
	})
	if err != nil {
		return err
	}
	if err := w.compareSubmissions(w.anyNode()); err != nil {
		return err
	}
	return w.compareCounts(quarantined)
}

// compareCounts compares what is counted with rows and with what the partners saw. quarantined is how many exports wait for
// somebody to look at them.
func (w *world) compareCounts(quarantined int) error {
	n := w.anyNode()
	undispatched, _, err := n.db.Backlog(n.ctx)
	if err != nil {
		return err
	}
	waiting, err := n.db.CountUndelivered(n.ctx, time.Now())
	if err != nil {
		return err
	}
	hours, err := n.db.SumHours(n.ctx, time.Now())
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if undispatched > 0 {
		w.violated("%d exports still wait for a workflow", undispatched)
	}
	for at, count := range waiting {
		if quarantined == 0 || count.Held > 0 || count.Overdue > 0 {
			w.violated("%d deliveries to %s/%s are counted as not final, %d as held, %d as overdue", count.Count, at.Tenant,
				at.Integration, count.Held, count.Overdue)
		}
	}
	for at, r := range w.receivers {
		counted := hours[at].Week
		more := counted.Attempts > int64(r.attempts) || counted.Delivered > int64(r.took)
		fewer := counted.Attempts < int64(r.attempts) || counted.Delivered < int64(r.took)
		if more || fewer && len(w.excused) == 1 { // heal alone: nothing ended before it was stored
			w.violated("%d attempts at %s/%s are counted, %d of them delivered, and it saw %d and took %d", counted.Attempts,
				at.Tenant, at.Integration, counted.Delivered, r.attempts, r.took)
		}
	}
	return nil
}
