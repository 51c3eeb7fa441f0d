package export

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/fairpool"
	"github.com/hiregate/hiregate/internal/model"
)

const (
	// groupFrom is from how many exports that wait they are started as a group; fewer have a workflow each.
	groupFrom = 8
	// groupMost is how many members a group has at most.
	groupMost = 200
	// groupGathers is for how long a starter that finds a group, but not a full one, waits for more: each group costs
	// Temporal as much.
	groupGathers = 100 * time.Millisecond
)

// offers holds the exports that wait for a starter. Tenants take turns, and share the room: one that hands in thousands
// at once holds up no other.
type offers struct {
	room  *fairpool.Pool
	ready chan struct{} // holds one while some wait

	mu      sync.Mutex
	waiting map[string][]*model.Export // by tenant
	turns   []string                   // the tenants of these, the next one first
	n       int                        // how many wait
}

func newOffers(room int64) *offers {
	return &offers{room: fairpool.NewPool(room), ready: make(chan struct{}, 1), waiting: map[string][]*model.Export{}}
}

// add lets an export wait. It reports false when there is no room for it.
func (q *offers) add(e *model.Export) bool {
	if !q.room.TryAcquire(e.Tenant, 1) {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting[e.Tenant]) == 0 {
		q.turns = append(q.turns, e.Tenant)
	}
	q.waiting[e.Tenant] = append(q.waiting[e.Tenant], e)
	q.n++
	q.wake()
	return true
}

func (q *offers) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// next waits for the exports whose turn it is: one while few wait, otherwise a group, of one tenant where it has
// enough. It returns none once ctx has ended.
func (q *offers) next(ctx context.Context) []*model.Export {
	for {
		q.gather(ctx)
		if batch := q.take(); len(batch) > 0 {
			return batch
		}
		select {
		case <-q.ready:
		case <-ctx.Done():
			return nil
		}
	}
}

// gather waits until a full group waits, if one does that is not full; not for long, and not beyond the end of ctx.
func (q *offers) gather(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, groupGathers)
	defer cancel()
	for n := q.count(); n >= groupFrom && n < groupMost; n = q.count() {
		select {
		case <-q.ready:
		case <-ctx.Done():
			return
		}
	}
}

func (q *offers) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.n
}

func (q *offers) take() (batch []*model.Export) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.n == 0:
		return nil
	case q.n < groupFrom:
		batch = q.of(1)
	case len(q.waiting[q.turns[0]]) >= groupFrom:
		batch = q.of(groupMost)
	default: // what the tenants have that are next, each of them little
		for len(q.turns) > 0 && len(batch) < groupMost && len(q.waiting[q.turns[0]]) < groupFrom {
			batch = append(batch, q.of(groupMost-len(batch))...)
		}
	}
	if q.n > 0 {
		q.wake()
	}
	return batch
}

// of takes exports of the tenant whose turn it is, at most so many; one of a later round is taken alone. The lock is
// held.
func (q *offers) of(most int) []*model.Export {
	tenant := q.turns[0]
	all := q.waiting[tenant]
	taken := all[:min(most, len(all))]
	if n := slices.IndexFunc(taken, func(e *model.Export) bool { return e.Round > 0 }); n >= 0 {
		taken = taken[:max(1, n)]
	}
	q.turns = q.turns[1:]
	if rest := all[len(taken):]; len(rest) > 0 {
		q.waiting[tenant] = rest
		q.turns = append(q.turns, tenant)
	} else {
		delete(q.waiting, tenant)
	}
	q.n -= len(taken)
	q.room.Release(tenant, int64(len(taken)))
	return taken
}
