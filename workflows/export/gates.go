package export

import (
	"errors"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/semaphore"

	"github.com/hiregate/hiregate/internal/hiring"
)

const (
	// breakAfter failures in a row, over all exports of an integration, the breaker opens: it is down, and asking for each
	// export anew would only make its return harder.
	breakAfter = 10
	// breakFor is how long it stays open; then one attempt tries.
	breakFor = 15 * time.Second
	// gateDelay is how long a delivery waits at a gate that opens by itself.
	gateDelay = 2 * time.Second
)

// gates bound, per integration, what goes out at once, and stop it while the integration is down.
type gates struct {
	mu  sync.Mutex
	all map[string]*gate
}

type gate struct {
	cap     int
	places  *semaphore.Weighted
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
}

var errDown = errors.New("the integration is down")

// enter asks for a place. When it is given, done must be told whether the integration was up; otherwise closed says, in a
// fixed word, why not.
func (g *gates) enter(i *hiring.Integration) (done func(up bool), closed string) {
	one := g.of(i)
	if !one.places.TryAcquire(1) {
		return nil, "at_capacity"
	}
	tell, err := one.breaker.Allow()
	if err != nil {
		one.places.Release(1)
		return nil, "breaker_open"
	}
	return func(up bool) {
		one.places.Release(1)
		if up {
			tell(nil)
		} else {
			tell(errDown)
		}
	}, ""
}

func (g *gates) of(i *hiring.Integration) *gate {
	n := i.InFlight
	if n <= 0 {
		n = hiring.DefaultInFlight
	}
	// The URL is part of what a breaker is about: a new one deserves a new chance.
	key := i.Tenant + " " + i.Name + " " + i.URL
	g.mu.Lock()
	defer g.mu.Unlock()
	if one, ok := g.all[key]; ok && one.cap == n {
		return one
	}
	if g.all == nil {
		g.all = map[string]*gate{}
	}
	one := &gate{cap: n, places: semaphore.NewWeighted(int64(n)), breaker: gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:     breakFor,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakAfter },
	})}
	g.all[key] = one
	return one
}
