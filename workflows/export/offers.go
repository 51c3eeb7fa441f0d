package export

import (
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/fair"
	"github.com/hiregate/hiregate/internal/hiring"
)

// offers are exports that wait for a starter. Tenants take turns and share the room: a tenant that offers a thousand at
// once delays no other.
type offers struct {
	room   *fair.Pool
	queued chan struct{} // one for each offer that waits

	mu      sync.Mutex
	waiting map[string][]offer // by tenant
	turns   []string           // the tenants of waiting, the next one first
}

type offer struct {
	export *hiring.Export
	at     time.Time
}

func newOffers(room int64) *offers {
	return &offers{room: fair.NewPool(room), queued: make(chan struct{}, room), waiting: map[string][]offer{}}
}

// add queues an export, unless there is no room for it.
func (q *offers) add(e *hiring.Export, at time.Time) {
	if !q.room.TryAcquire(e.Tenant, 1) {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting[e.Tenant]) == 0 {
		q.turns = append(q.turns, e.Tenant)
	}
	q.waiting[e.Tenant] = append(q.waiting[e.Tenant], offer{e, at})
	q.queued <- struct{}{}
}

// next removes the offer whose turn it is. The caller has received from queued.
func (q *offers) next() offer {
	q.mu.Lock()
	defer q.mu.Unlock()
	tenant := q.turns[0]
	q.turns = q.turns[1:]
	o := q.waiting[tenant][0]
	if rest := q.waiting[tenant][1:]; len(rest) > 0 {
		q.waiting[tenant] = rest
		q.turns = append(q.turns, tenant)
	} else {
		delete(q.waiting, tenant)
	}
	q.room.Release(tenant, 1)
	return o
}
