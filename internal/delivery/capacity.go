package delivery

import (
	"github.com/hiregate/hiregate/internal/fairpool"
	"github.com/hiregate/hiregate/internal/metrics"
)

const (
	// AttemptsAtOnce is how many attempts are under way at once, over all integrations.
	AttemptsAtOnce = 512
	// BytesAtOnce is about how many bytes their bodies take.
	BytesAtOnce = 256 << 20
)

// Capacity bounds the attempts under way, and the memory for their bodies. Each tenant gets a fair share of
// both, over all its integrations, so a slow partner delays no other tenant.
type Capacity struct {
	places, bytes *fairpool.Pool
	largest       int64 // the most bytes that one body counts for
}

// NewCapacity allows a number of attempts, and bodies of a number of bytes. A body counts for a quarter of
// the bytes at most: a larger one would hardly ever find room.
func NewCapacity(attempts, bytes int64) *Capacity {
	return &Capacity{places: fairpool.NewPool(attempts), bytes: fairpool.NewPool(bytes), largest: bytes / 4}
}

// enter takes a place, and memory for a body. Then leave gives both back. Otherwise full says what is missing, in a
// fixed word.
func (c *Capacity) enter(tenant string, bytes int64) (leave func(), full string) {
	bytes = min(bytes, c.largest)
	if !c.places.TryAcquire(tenant, 1) {
		return nil, "no_place"
	}
	if !c.bytes.TryAcquire(tenant, bytes) {
		c.places.Release(tenant, 1)
		return nil, "no_memory"
	}
	metrics.UnderWay(1, bytes)
	return func() {
		metrics.UnderWay(-1, -bytes)
		c.bytes.Release(tenant, bytes)
		c.places.Release(tenant, 1)
	}, ""
}
