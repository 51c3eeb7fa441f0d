package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/fairpool"
	"github.com/hiregate/hiregate/internal/model"
)

const (
	// groupFrom is from how many exports that wait they are started as a group. One alone has a workflow of its own.
	groupFrom = 2
	// ownGroupFrom is from how many exports that wait a tenant has a group of its own. Those with fewer share one.
	ownGroupFrom = 50
	// groupMost is how many members a group has at most.
	groupMost = 200
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
	clock   startClock
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
	q.clock.offered(e, time.Now())
	if q.n == 1 || q.n >= groupMost { // in between, a starter waits for the clock
		q.wake()
	}
	return true
}

func (q *offers) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// next waits for the exports whose turn it is. It returns none once ctx has ended.
func (q *offers) next(ctx context.Context) []*model.Export {
	for {
		batch, due := q.take(time.Now())
		if len(batch) > 0 {
			return batch
		}
		var clock <-chan time.Time // never, while nothing waits
		if due > 0 {
			clock = time.After(due)
		}
		select {
		case <-q.ready:
		case <-clock:
		case <-ctx.Done():
			return nil
		}
	}
}

func (q *offers) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.n
}

// take takes the exports whose turn it is: of one tenant where it has enough for a group, otherwise what the tenants
// have that are next. If they have to wait for the clock it returns for how long.
func (q *offers) take(now time.Time) (batch []*model.Export, due time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.n == 0 {
		return nil, 0
	}
	if due = q.clock.next.Sub(now); due > 0 && q.n < groupMost {
		return nil, due
	}
	q.clock.started(now)
	if len(q.waiting[q.turns[0]]) >= ownGroupFrom {
		batch = q.of(groupMost)
	} else {
		for len(q.turns) > 0 && len(batch) < groupMost && len(q.waiting[q.turns[0]]) < ownGroupFrom {
			batch = append(batch, q.of(groupMost-len(batch))...)
		}
	}
	if q.n > 0 {
		q.wake()
	}
	return batch, 0
}

// of takes exports of the tenant whose turn it is, at most so many. The lock is held.
func (q *offers) of(most int) []*model.Export {
	tenant := q.turns[0]
	all := q.waiting[tenant]
	taken := all[:min(most, len(all))]
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
