package documents

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// exportsAtOnce is how many exports have their documents fetched side by side.
	exportsAtOnce = 64
	// placeWithin is how long an export waits for its place before it is told to come again: while it waits it takes up one of
	// Temporal's workers, which others may need.
	placeWithin = 2 * time.Second
	// placeAgain is how much later it comes again, at least; at most twice as much.
	placeAgain = 15 * time.Second
)

// places are shared out among tenants. A tenant gets another one only while it has fewer than are free: alone it gets half of
// them, and two whose services hang get a third each. So nobody can take them all, and nobody has to say beforehand what
// would be fair. An export has one place at most.
//
// The zero value has exportsAtOnce of them.
type places struct {
	mu      sync.Mutex
	exports map[int64]struct{} // that have a place
	held    map[string]int     // places by tenant
	waiting []*arrival         // in the order they came
}

type arrival struct {
	tenant string
	export int64
	enter  chan struct{} // closed once it has a place
}

// take waits a while for a place. ok is false where there is none, or where the export has one already; otherwise leave gives
// the place back.
func (p *places) take(ctx context.Context, tenant string, export int64, within time.Duration) (leave func(), ok bool) {
	one := &arrival{tenant: tenant, export: export, enter: make(chan struct{})}
	leave = func() { p.leave(one) }
	p.mu.Lock()
	p.waiting = append(p.waiting, one)
	p.admit()
	p.mu.Unlock()
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-one.enter:
		return leave, true
	case <-late.C:
	case <-ctx.Done():
	}
	p.mu.Lock()
	n := slices.Index(p.waiting, one)
	if n >= 0 {
		p.waiting = slices.Delete(p.waiting, n, n+1)
	}
	p.mu.Unlock()
	return leave, n < 0 // it was given a place just now
}

func (p *places) leave(one *arrival) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.exports, one.export)
	if p.held[one.tenant]--; p.held[one.tenant] == 0 {
		delete(p.held, one.tenant)
	}
	p.admit()
}

// admit gives places to those of the waiting who may have one.
func (p *places) admit() {
	if p.exports == nil {
		p.exports, p.held = map[int64]struct{}{}, map[string]int{}
	}
	p.waiting = slices.DeleteFunc(p.waiting, func(one *arrival) bool {
		_, twice := p.exports[one.export]
		if twice || p.held[one.tenant] >= exportsAtOnce-len(p.exports) {
			return false
		}
		p.exports[one.export] = struct{}{}
		p.held[one.tenant]++
		close(one.enter)
		return true
	})
}
