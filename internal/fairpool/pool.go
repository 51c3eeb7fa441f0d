// Package fairpool shares what is scarce, such as places or bytes of memory, among tenants.
package fairpool

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Pool holds a number of units. A tenant gets more of them only while it would hold no more than are free: alone it
// gets half of the pool, and two that take all they can get a third each. So no tenant can take everything, and nobody
// has to configure shares.
//
// Methods may be called from several goroutines.
type Pool struct {
	mu       sync.Mutex
	capacity int64
	used     int64
	held     map[string]int64 // units by tenant
	waiting  []*request       // in order of arrival
}

type request struct {
	tenant  string
	units   int64
	granted chan struct{} // closed once the units are taken
}

// NewPool returns a pool of that many units.
func NewPool(capacity int64) *Pool {
	return &Pool{capacity: capacity, held: map[string]int64{}}
}

// Resize changes how many units the pool holds. What is taken stays taken until it is returned.
func (p *Pool) Resize(capacity int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.capacity = capacity
	p.admit()
}

// TryAcquire takes units for a tenant, and reports whether it did. Return them with Release.
func (p *Pool) TryAcquire(tenant string, units int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.room(tenant, units) {
		return false
	}
	p.grant(tenant, units)
	return true
}

// Acquire waits until it can take units for a tenant, for as long as the context lives and no longer than within. It
// reports whether it took them. Return them with Release. Those who wait are served in order of arrival; one whose tenant
// holds too much keeps no other waiting.
func (p *Pool) Acquire(ctx context.Context, tenant string, units int64, within time.Duration) bool {
	r := &request{tenant: tenant, units: units, granted: make(chan struct{})}
	p.mu.Lock()
	p.waiting = append(p.waiting, r)
	p.admit()
	p.mu.Unlock()
	select {
	case <-r.granted:
		return true
	default:
	}
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-r.granted:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := slices.Index(p.waiting, r)
	if n < 0 { // granted just now
		return true
	}
	p.waiting = slices.Delete(p.waiting, n, n+1)
	return false
}

// Release returns units that a tenant took.
func (p *Pool) Release(tenant string, units int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= units
	if p.held[tenant] -= units; p.held[tenant] == 0 {
		delete(p.held, tenant)
	}
	p.admit()
}

// Used returns how many units are taken.
func (p *Pool) Used() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}

func (p *Pool) room(tenant string, units int64) bool {
	return p.held[tenant]+units <= p.capacity-p.used
}

func (p *Pool) grant(tenant string, units int64) {
	p.used += units
	p.held[tenant] += units
}

// admit grants the waiting requests that there is room for.
func (p *Pool) admit() {
	p.waiting = slices.DeleteFunc(p.waiting, func(r *request) bool {
		if !p.room(r.tenant, r.units) {
			return false
		}
		p.grant(r.tenant, r.units)
		close(r.granted)
		return true
	})
}
