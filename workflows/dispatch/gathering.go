package dispatch

import (
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// gathersFor is for how long the exports of a tenant are gathered while others of it wait at a gate.
const gathersFor = time.Second

// gathering has exports that come while others of their tenant wait at a gate: they would have to wait as well. Started as
// groups they cost Temporal little then, and again when they are called.
type gathering struct {
	mu  sync.Mutex
	all map[string][]*model.Export // by tenant
}

// add gathers an export. flush is called for its tenant after a while.
func (g *gathering) add(e *model.Export, flush func(tenant string)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = map[string][]*model.Export{}
	}
	if g.all[e.Tenant] = append(g.all[e.Tenant], e); len(g.all[e.Tenant]) == 1 {
		time.AfterFunc(gathersFor, func() { flush(e.Tenant) })
	}
}

// take returns what was gathered of a tenant.
func (g *gathering) take(tenant string) []*model.Export {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := g.all[tenant]
	delete(g.all, tenant)
	return all
}

// offer lets claimed exports wait for a starter. The sweep finds those for which there is no room.
func (d *Dispatcher) offer(exports ...*model.Export) {
	for _, e := range exports {
		if !d.queue.add(e) {
			d.release(e)
		}
	}
}
