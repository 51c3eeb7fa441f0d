package documents

import (
	"context"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/fairpool"
)

const (
	// exportsAtOnce is the number of exports whose documents are fetched concurrently.
	exportsAtOnce = 64
	// placeWithin limits the time for which an export waits for its place before it is retried later: while it waits it
	// occupies one of Temporal's workers.
	placeWithin = 2 * time.Second
	// placeAgain is the least delay before it is retried; the greatest is twice as long.
	placeAgain = 15 * time.Second
	// lineFor is the number of exports of groups that wait for each place. The others wait in front of the line, so
	// that a single export that comes meanwhile finds its place within placeWithin.
	lineFor = 2
)

// places limits the exports that are fetched at once, fairly among tenants: one whose services hang can't block the
// others. An export has at most one place.
//
// The zero value has exportsAtOnce places.
type places struct {
	once    sync.Once
	pool    *fairpool.Pool
	line    *fairpool.Pool
	exports sync.Map // the exports that have a place or wait for one, each with a channel that is closed when it is done
}

func (p *places) ready() {
	p.once.Do(func() { p.pool, p.line = fairpool.NewPool(exportsAtOnce), fairpool.NewPool(lineFor*exportsAtOnce) })
}

// acquireInLine acquires a place for an export of a group. First it waits, up to within, to be among the next of its
// tenant.
func (p *places) acquireInLine(ctx context.Context, tenant string, export int64,
	within time.Duration) (release func(), ok bool) {
	p.ready()
	if !p.line.Acquire(ctx, tenant, 1, within) {
		return nil, false
	}
	leave, ok := p.acquire(ctx, tenant, export, within)
	if !ok {
		p.line.Release(tenant, 1)
		return nil, false
	}
	return func() {
		leave()
		p.line.Release(tenant, 1)
	}, true
}

// acquire waits for a place, no longer than within. ok is false if no place became free, or if the export has one
// already; otherwise release frees it.
func (p *places) acquire(ctx context.Context, tenant string, export int64,
	within time.Duration) (release func(), ok bool) {
	p.ready()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	done := make(chan struct{})
	for {
		other, twice := p.exports.LoadOrStore(export, done)
		if !twice {
			break
		}
		select {
		case <-other.(chan struct{}):
		case <-ctx.Done():
			return nil, false
		}
	}
	end := func() {
		p.exports.Delete(export)
		close(done)
	}
	if !p.pool.Acquire(ctx, tenant, 1, within) {
		end()
		return nil, false
	}
	return func() {
		p.pool.Release(tenant, 1)
		end()
	}, true
}
