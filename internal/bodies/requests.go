package bodies

import (
	"hash/maphash"
	"sync/atomic"
)

// leastRequests is how many requests may be in progress at once, however little memory there is for bodies.
const leastRequests = 4096

// Requests bounds the requests in progress, over all connections and from each address. It takes no lock: strangers can
// begin requests faster than a lock that all of them share is handed on, and what queues there keeps its memory. Methods
// may be called from several goroutines.
type Requests struct {
	most, all atomic.Int64
	seed      maphash.Seed
	from      [1 << 14]atomic.Int64 // by a hash of the address; those with the same one share their bound
}

// NewRequests returns the bounds for the default memory of bodies.
func NewRequests() *Requests {
	q := &Requests{seed: maphash.MakeSeed()}
	q.Configure(DefaultMemory)
	return q
}

// Configure sets the bounds for so many bytes of memory for bodies: twice as many requests as that memory lets wait for
// their bodies, so that it is there that those which waited longest give way to new ones.
func (q *Requests) Configure(memory int64) { q.most.Store(max(leastRequests, 2*memory/requestWeight)) }

// Begin counts a request from an address until end is called. It reports false if too many are in progress: an address,
// of IPv6 a /64, may have half of them. An empty address stands for nobody, and counts in the total only.
func (q *Requests) Begin(address string) (end func(), ok bool) {
	most := q.most.Load()
	if q.all.Add(1) > most {
		q.all.Add(-1)
		return nil, false
	}
	if address == "" {
		return func() { q.all.Add(-1) }, true
	}
	from := &q.from[maphash.String(q.seed, network(address))%uint64(len(q.from))]
	if from.Add(1) > most/2 {
		from.Add(-1)
		q.all.Add(-1)
		return nil, false
	}
	return func() {
		from.Add(-1)
		q.all.Add(-1)
	}, true
}
