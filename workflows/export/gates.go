package export

import (
	"errors"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/workflows"
)

const (
	// breakAfter failures in a row, over all exports of an integration, the breaker opens: it is down, and asking for each
	// export anew would only make its return harder.
	breakAfter = 10
	// breakFor is how long it stays open; then one attempt tries.
	breakFor = 15 * time.Second
	// gateDelay is how long a delivery waits at a gate that opens by itself.
	gateDelay = 2 * time.Second
	// comingBack is how many of those of a tenant that were turned away come again in a second, beside as many as its integrations
	// take. Temporal carries a few times that, for all tenants together: thousands that wait for one partner, each asking every two
	// seconds, would leave nothing to the others.
	comingBack = 20
	// crowdedFor is how long after it turned one away an integration keeps its share of these.
	crowdedFor = time.Minute
	// paceOver is the time over which it is counted how many attempts an integration takes.
	paceOver = 5 * time.Second
	// longestAtGate bounds how long one of very many waits.
	longestAtGate = 10 * time.Minute
)

// gates bound, per integration, what goes out at once, and stop it while the integration is down.
type gates struct {
	mu  sync.Mutex
	all map[string]map[string]*gate // by tenant, and the integration's name and URL
}

type gate struct {
	cap     int
	places  *semaphore.Weighted
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]

	turns   *rate.Limiter // of those that were turned away
	crowded time.Time     // when the last one was
	made    int           // attempts since that time
	since   time.Time
	pace    float64 // attempts in a second, before that time
}

// What an attempt says of its integration; nil: it is up.
var (
	errDown     = errors.New("the integration is down")
	errNotAsked = errors.New("the integration was not asked") // the body could not be had: that is not its fault
)

// enter asks for a place. When it is given, done must be told how the integration was found; otherwise closed says, in a
// fixed word, why not, and turn, after which time to ask again.
func (g *gates) enter(i *hiring.Integration) (done func(found error), closed string) {
	g.mu.Lock()
	one := g.of(i)
	g.mu.Unlock()
	if !one.places.TryAcquire(1) {
		return nil, "at_capacity"
	}
	tell, err := one.breaker.Allow()
	if err != nil {
		one.places.Release(1)
		return nil, "breaker_open"
	}
	return func(found error) {
		one.places.Release(1)
		tell(found)
		if !errors.Is(found, errNotAsked) {
			g.mu.Lock()
			defer g.mu.Unlock()
			one.made++
		}
	}, ""
}

// turn tells after which time one that was turned away has its turn. As many have theirs as find room, judging by what the integration took
// lately, and a few more: those would be for nothing, so the integrations of a tenant that turn some away share them.
func (g *gates) turn(i *hiring.Integration, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.of(i)
	one.crowded = now
	crowded := 0
	for _, other := range g.all[i.Tenant] {
		if now.Sub(other.crowded) < crowdedFor {
			crowded++
		}
	}
	if counted := now.Sub(one.since); counted >= paceOver {
		one.pace = float64(one.made) / counted.Seconds()
		one.made, one.since = 0, now
	}
	back := one.pace + comingBack/float64(crowded)
	one.turns.SetLimitAt(now, rate.Limit(back))
	one.turns.SetBurstAt(now, max(1, int(back*gateDelay.Seconds()))) // while they are few, all come back after two seconds
	r := one.turns.ReserveN(now, 1)
	wait := gateDelay + r.DelayFrom(now)
	if wait > longestAtGate {
		r.CancelAt(now)
		wait = longestAtGate
	}
	return workflows.Jittered(wait)
}

// of is the gate of an integration. The lock is held.
func (g *gates) of(i *hiring.Integration) *gate {
	n := i.InFlight
	if n <= 0 {
		n = hiring.DefaultInFlight
	}
	// The URL is part of what a breaker is about: a new one deserves a new chance.
	key := i.Name + " " + i.URL
	if one, ok := g.all[i.Tenant][key]; ok && one.cap == n {
		return one
	}
	if g.all == nil {
		g.all = map[string]map[string]*gate{}
	}
	if g.all[i.Tenant] == nil {
		g.all[i.Tenant] = map[string]*gate{}
	}
	one := &gate{cap: n, turns: rate.NewLimiter(comingBack, comingBack*int(gateDelay/time.Second)), places: semaphore.NewWeighted(int64(n)), breaker: gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:     breakFor,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakAfter },
		IsExcluded:  func(err error) bool { return errors.Is(err, errNotAsked) },
	})}
	g.all[i.Tenant][key] = one
	return one
}
