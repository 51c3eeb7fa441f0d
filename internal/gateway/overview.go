package gateway

import (
	"context"
	"maps"
	"time"

	"github.com/hiregate/hiregate/internal/store"
)

const (
	// overviewEvery is how often the quarters of an hour are stored.
	overviewEvery = time.Minute
	// overviewBack is how far back quarters are completed that no node counted to their end.
	overviewBack = 24 * time.Hour
	// overviewLate is how long after an export came it may be committed, at most, and still be counted.
	overviewLate = time.Minute
)

// overview holds what waited at most, by the begin of the quarter and the tenant, until it is stored, and what came. The
// empty tenant stands for all.
type overview struct {
	waited   map[time.Time]map[string]store.Quarter
	came     receipts  // up to counted
	counted  time.Time // zero: nothing was counted so far
	storedAt time.Time
}

// add notes what waits at a time.
func (o *overview) add(all []*Standing, now time.Time) {
	waiting := map[string]store.Quarter{}
	for _, s := range all {
		for _, tenant := range []string{s.Integration.Tenant, ""} {
			if s.Waiting.Count > 0 {
				q := waiting[tenant]
				q.Waiting += s.Waiting.Count
				q.Oldest = max(q.Oldest, now.Sub(s.Waiting.Oldest))
				waiting[tenant] = q
			}
		}
	}
	begin := now.UTC().Truncate(store.QuarterLength)
	if o.waited == nil {
		o.waited = map[time.Time]map[string]store.Quarter{}
	}
	if o.waited[begin] == nil {
		o.waited[begin] = map[string]store.Quarter{}
	}
	for tenant, q := range waiting {
		before := o.waited[begin][tenant]
		o.waited[begin][tenant] = store.Quarter{Begin: begin, Waiting: max(before.Waiting, q.Waiting),
			Oldest: max(before.Oldest, q.Oldest)}
	}
}

// store stores once a minute what waited and what came. Other nodes store the same.
func (o *overview) store(ctx context.Context, db *store.DB, now time.Time) error {
	if now.Sub(o.storedAt) < overviewEvery {
		return nil
	}
	came, err := o.count(ctx, db, now)
	if err != nil {
		return err
	}
	if err := db.Write(ctx, func(tx *store.Tx) error {
		for _, of := range o.waited {
			for tenant, q := range of {
				tx.NoteQuarter(tenant, q)
			}
		}
		for begin, of := range came {
			for tenant, n := range of {
				tx.NoteQuarter(tenant, store.Quarter{Begin: begin, Received: n})
			}
		}
		return nil
	}); err != nil {
		return err
	}
	o.waited, o.storedAt = nil, now
	maps.DeleteFunc(o.came, func(begin time.Time, _ map[string]int64) bool {
		return !begin.Add(store.QuarterLength).After(o.counted)
	})
	return nil
}

// count returns how many exports of each tenant came in the quarters that are not complete in the store. It counts what
// came since the last time, and again what may have been committed late. The first time it begins before the last
// quarter that is stored, which may not have been complete.
func (o *overview) count(ctx context.Context, db *store.DB, now time.Time) (receipts, error) {
	present := now.UTC().Truncate(store.QuarterLength)
	if o.counted.IsZero() {
		last, err := db.LastQuarter(ctx)
		if err != nil {
			return nil, err
		}
		if last.IsZero() || last.After(present) {
			last = present
		}
		o.came, o.counted = receipts{}, last.Add(-store.QuarterLength)
	}
	if oldest := present.Add(-overviewBack); o.counted.Before(oldest) {
		o.counted = oldest
	}
	for settled := now.Add(-overviewLate); o.counted.Before(settled); {
		until := o.counted.Truncate(store.QuarterLength).Add(store.QuarterLength)
		if until.After(settled) {
			until = settled
		}
		if err := o.came.add(ctx, db, o.counted, until); err != nil {
			return nil, err
		}
		o.counted = until
	}
	all := receipts{}
	for begin, of := range o.came {
		all[begin] = maps.Clone(of)
	}
	for from, end := o.counted, present.Add(store.QuarterLength); from.Before(end); {
		until := from.Truncate(store.QuarterLength).Add(store.QuarterLength)
		if err := all.add(ctx, db, from, until); err != nil {
			return nil, err
		}
		from = until
	}
	return all, nil
}

// receipts are numbers of exports that came, by the begin of the quarter and the tenant.
type receipts map[time.Time]map[string]int64

// add counts what came between two times of a quarter.
func (r receipts) add(ctx context.Context, db *store.DB, from, until time.Time) error {
	counted, err := db.CountReceived(ctx, from, until)
	if err != nil {
		return err
	}
	begin := from.UTC().Truncate(store.QuarterLength)
	if r[begin] == nil {
		r[begin] = map[string]int64{}
	}
	for tenant, n := range counted {
		if n > 0 {
			r[begin][tenant] += n
		}
	}
	return nil
}
