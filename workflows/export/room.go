package export

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

// Room is what the attempts under way share: places, and memory for their bodies. Each tenant gets a fair share of
// both, over all its integrations, so a slow partner delays no other tenant.
type Room struct {
	places, bytes *fairpool.Pool
	largest       int64 // the most bytes that one body counts for
}

// NewRoom returns room for a number of attempts, and for bodies of a number of bytes. A body counts for a quarter of
// the bytes at most: a larger one would hardly ever find room.
func NewRoom(attempts, bytes int64) *Room {
	return &Room{places: fairpool.NewPool(attempts), bytes: fairpool.NewPool(bytes), largest: bytes / 4}
}

// enter takes a place, and room for a body. Then leave gives both back. Otherwise full says what is missing, in a fixed
// word.
func (r *Room) enter(tenant string, bytes int64) (leave func(), full string) {
	bytes = min(bytes, r.largest)
	if !r.places.TryAcquire(tenant, 1) {
		return nil, "no_place"
	}
	if !r.bytes.TryAcquire(tenant, bytes) {
		r.places.Release(tenant, 1)
		return nil, "no_memory"
	}
	metrics.UnderWay(1, bytes)
	return func() {
		metrics.UnderWay(-1, -bytes)
		r.bytes.Release(tenant, bytes)
		r.places.Release(tenant, 1)
	}, ""
}
