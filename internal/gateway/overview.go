package gateway

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/store"
)

const (
	// overviewEvery is how often the quarters of an hour are stored.
	overviewEvery = time.Minute
	// overviewBack is how far back quarters are completed that no node counted to their end.
	overviewBack = 24 * time.Hour
)

// overview holds what waited at most, by the begin of the quarter and the tenant, until it is stored. The empty tenant
// stands for all.
type overview struct {
	waited   map[time.Time]map[string]store.Quarter
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

// store stores what waited, and counts what came since the last quarter that is stored, which may not have been
// complete. Other nodes store the same.
func (o *overview) store(ctx context.Context, db *store.DB, now time.Time) error {
	if now.Sub(o.storedAt) < overviewEvery {
		return nil
	}
	present := now.UTC().Truncate(store.QuarterLength)
	last, err := db.LastQuarter(ctx)
	if err != nil {
		return err
	}
	if last.IsZero() || last.After(present) {
		last = present
	}
	first := last.Add(-store.QuarterLength)
	if oldest := present.Add(-overviewBack); first.Before(oldest) {
		first = oldest
	}
	came := map[time.Time]map[string]int64{}
	for begin := first; !begin.After(present); begin = begin.Add(store.QuarterLength) {
		if came[begin], err = db.CountReceived(ctx, begin, begin.Add(store.QuarterLength)); err != nil {
			return err
		}
	}
	if err := db.Write(ctx, func(tx *store.Tx) error {
		for _, of := range o.waited {
			for tenant, q := range of {
				tx.NoteQuarter(tenant, q)
			}
		}
		for begin, of := range came {
			for tenant, n := range of {
				if n > 0 {
					tx.NoteQuarter(tenant, store.Quarter{Begin: begin, Received: n})
				}
			}
		}
		return nil
	}); err != nil {
		return err
	}
	o.waited, o.storedAt = nil, now
	return nil
}
