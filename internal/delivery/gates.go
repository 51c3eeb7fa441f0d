package delivery

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/wait"
)

const (
	// breakFor is how long it stays open; then one attempt tries.
	breakFor = 15 * time.Second
	// lineFor is how many deliveries of groups are prepared, for each that may be under way to an integration.
	lineFor = 4
	// GateDelay is how long a delivery waits at a gate that opens by itself.
	GateDelay = 2 * time.Second
	// comingBack is how many deliveries of a tenant that were turned away come again per second by themselves, beside those
	// that are called. Temporal carries a few times that, for all tenants together: thousands that wait for one partner, each
	// asking every few seconds, would leave nothing to the others.
	comingBack = 20
	// crowdedFor is how long an integration keeps its share of comingBack after it turned a delivery away.
	crowdedFor = time.Minute
	// longestAtGate bounds how long a delivery waits when very many do.
	longestAtGate = 10 * time.Minute
)

// Patience is how long a delivery may wait for its place at an integration.
type Patience time.Duration

const (
	// SinglePatience is long enough beside the deliveries of a group, which are under way for milliseconds, and not so long
	// that those to a partner that hangs take the worker's slots.
	SinglePatience = Patience(250 * time.Millisecond)
	// GroupPatience is as long as an attempt may take. A delivery of a group takes up no worker meanwhile.
	GroupPatience = Patience(20 * time.Second)
)

// LinesUp reports whether deliveries of this patience wait at an integration one behind the other.
func (p Patience) LinesUp() bool { return p >= GroupPatience }

// gates limit the attempts that are under way at once per integration, and stop them while the integration is down.
type gates struct {
	mu  sync.Mutex
	all map[string]map[string]*gate // by tenant, and the integration's name and URL

	waiting  map[string]map[*gate]*Waiter // by workflow
	backlogs map[*gate]bool               // the gates of these
}

type gate struct {
	tenant   string
	inFlight int
	places   *semaphore.Weighted
	limit    *rate.Limiter       // of attempts
	head     *semaphore.Weighted // the one of those that line up that is next when limit lets one through
	line     *semaphore.Weighted // of the deliveries of groups
	breaker  atomic.Pointer[gobreaker.TwoStepCircuitBreaker[struct{}]]
	opened   atomic.Pointer[time.Time] // when the breaker did last
	reopened atomic.Bool               // the breaker was closed since the last call
	pace     pace

	backlog backlog
	turns   *rate.Limiter // of the deliveries that were turned away
	crowded time.Time     // when the last one was turned away
}

// What an attempt says about its integration; nil: it is up.
var (
	errDown     = errors.New("the integration is down")
	errNotAsked = errors.New("the integration was not asked") // the body could not be had: that is not its fault
)

// enter takes a place. Then done must be called with how the integration was found. Otherwise closed says why not, in a
// fixed word, and backoff after which time to ask again. patience is how long to wait for a place. asked: somebody
// asked for this attempt, and an open breaker lets it through; if the integration is found up, the breaker is closed.
func (g *gates) enter(ctx context.Context, i *model.Integration, export int64, patience Patience,
	asked bool) (done func(found error), closed string) {
	g.mu.Lock()
	gate := g.of(i)
	overtakes := !asked && gate.backlog.overtakes(export)
	g.mu.Unlock()
	if overtakes {
		return nil, inLine
	}
	if closed = gate.take(ctx, patience, asked); closed != "" {
		return nil, closed
	}
	tell, err := gate.breaker.Load().Allow()
	switch {
	case err == nil:
	case asked:
		tell = gate.probed
	default:
		gate.places.Release(1)
		return nil, "breaker_open"
	}
	ended := gate.pace.begin(time.Now())
	return func(found error) {
		ended(time.Now())
		gate.places.Release(1)
		tell(found)
		g.mu.Lock()
		defer g.mu.Unlock()
		gate.backlog.attempted(gate.callsAhead())
	}, ""
}

// overRate is the word for an integration that got as many attempts lately as its rate allows.
const overRate = "over_rate"

// take takes a place, once the rate allows one more attempt. Who waits for the rate holds no place, and who waits for a
// place uses nothing of the rate, so that a partner that hung is not asked more often at once than its rate says. Those
// that line up wait for the rate one behind the other: a single one then competes with one of them for its turn, not with
// all.
func (g *gate) take(ctx context.Context, patience Patience, asked bool) (closed string) {
	within, cancel := context.WithTimeout(ctx, time.Duration(patience))
	defer cancel()
	if patience.LinesUp() && g.limit.Limit() != rate.Inf {
		if g.head.Acquire(within, 1) != nil {
			return overRate
		}
		defer g.head.Release(1)
	}
	for {
		if !g.places.TryAcquire(1) && (patience == 0 || g.places.Acquire(within, 1) != nil) {
			return "at_capacity"
		}
		if !asked && g.down() { // it would use up the rate for nothing
			g.places.Release(1)
			return "breaker_open"
		}
		if g.limit.Allow() {
			return ""
		}
		g.places.Release(1)
		left := g.untilAllowed()
		if until, _ := within.Deadline(); left > time.Until(until) || !wait.For(within, left) { // those behind wait for none in vain
			return overRate
		}
	}
}

// down reports whether the breaker would let no attempt through: it is open, or one is trying whether it can be closed.
func (g *gate) down() bool {
	breaker := g.breaker.Load()
	state := breaker.State()
	counts := breaker.Counts()
	return state == gobreaker.StateOpen || state == gobreaker.StateHalfOpen && counts.Requests > counts.TotalExclusions
}

// untilAllowed returns how long it is until the rate allows an attempt.
func (g *gate) untilAllowed() time.Duration {
	missing := max(0, 1-g.limit.Tokens()) / float64(g.limit.Limit())
	return time.Duration(min(missing, longestAtGate.Seconds())*float64(time.Second)) + time.Millisecond
}

// closedGates are the words for what is closed to all deliveries of an integration, of its tenant, or of all.
var closedGates = append([]string{"no_place", "no_memory", StoreUnavailable}, calledFrom...)

// calledFrom lists those of them from which deliveries are called.
var calledFrom = []string{overRate, "at_capacity", "breaker_open", inLine}

// queue is Queue.
func (g *gates) queue(ctx context.Context, i *model.Integration, patience time.Duration) (leave func(), ok bool) {
	g.mu.Lock()
	gate := g.of(i)
	g.mu.Unlock()
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if gate.line.Acquire(within, 1) != nil {
		return nil, false
	}
	return func() { gate.line.Release(1) }, true
}

// backoff returns how long a delivery waits after it was turned away, unless it is called before. These come in vain, so
// the crowded integrations of a tenant share their turns.
func (g *gates) backoff(i *model.Integration, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	gate := g.of(i)
	gate.crowded = now
	return gate.turn(comingBack/float64(g.crowded(i.Tenant, now)), now)
}

// crowded counts the integrations of a tenant that turned deliveries away lately; one at least. The lock is held.
func (g *gates) crowded(tenant string, now time.Time) int {
	n := 0
	for _, gate := range g.all[tenant] {
		if now.Sub(gate.crowded) < crowdedFor {
			n++
		}
	}
	return max(n, 1)
}

// rateBackoff is backoff where the rate was the reason. Twice as many as it allows have their turn, so that it is used.
// Of those that line up one at a time comes back: it needs no turn. A delivery that began under another configuration may
// know of no rate.
func (g *gates) rateBackoff(i *model.Integration, patience Patience, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	gate := g.of(i)
	if patience.LinesUp() || i.Rate == nil {
		return wait.Jittered(max(GateDelay, gate.untilAllowed()))
	}
	return gate.turn(2*i.Rate.PerSecond, now)
}

// turn returns how long a delivery waits for its turn when so many have theirs per second.
func (g *gate) turn(perSecond float64, now time.Time) time.Duration {
	g.turns.SetLimitAt(now, rate.Limit(perSecond))
	g.turns.SetBurstAt(now, max(1, int(perSecond*GateDelay.Seconds()))) // a few all come back after two seconds
	r := g.turns.ReserveN(now, 1)
	delay := GateDelay + r.DelayFrom(now)
	if delay > longestAtGate {
		r.CancelAt(now)
		delay = longestAtGate
	}
	return wait.Jittered(delay)
}

// Gate describes the gate of an integration on this node.
type Gate struct {
	BreakerOpen bool      // the integration failed often in a row: no attempt is made until Probe
	Probe       time.Time // when one attempt is let through; zero unless BreakerOpen
	Full        bool      // as many attempts are under way as the integration takes
	OverRate    bool      // its rate allows none at the moment
	Backlog     bool      // deliveries wait for it in line
}

// Closed reports whether the gate lets no delivery through at the moment.
func (g Gate) Closed() bool { return g.BreakerOpen || g.Full || g.OverRate || g.Backlog }

// state returns how the gate of an integration stands.
func (g *gates) state(i *model.Integration) (s Gate) {
	g.mu.Lock()
	gate := g.of(i)
	s.Backlog = len(gate.backlog.waiting) > 0
	g.mu.Unlock()
	if s.Full = !gate.places.TryAcquire(1); !s.Full {
		gate.places.Release(1)
	}
	s.OverRate = i.Rate != nil && gate.limit.Tokens() < 1
	if opened := gate.opened.Load(); opened != nil && gate.breaker.Load().State() != gobreaker.StateClosed {
		s.BreakerOpen, s.Probe = true, opened.Add(breakFor)
	}
	return s
}

// Gate returns how the gate of an integration stands on this node.
func (a *Attempter) Gate(i *model.Integration) Gate { return a.gates.state(i) }

// of returns the gate of an integration. The caller holds the lock.
func (g *gates) of(i *model.Integration) *gate {
	n := i.AtOnce()
	// A breaker is about a URL too: a new one deserves a new chance.
	key := i.Name + " " + i.URL
	if gate, ok := g.all[i.Tenant][key]; ok && gate.inFlight == n {
		gate.allow(i.Rate)
		return gate
	}
	if g.all == nil {
		g.all = map[string]map[string]*gate{}
	}
	if g.all[i.Tenant] == nil {
		g.all[i.Tenant] = map[string]*gate{}
	}
	gate := &gate{
		tenant: i.Tenant, inFlight: n, places: semaphore.NewWeighted(int64(n)), line: semaphore.NewWeighted(lineFor * int64(n)),
		turns: rate.NewLimiter(comingBack, comingBack*int(GateDelay/time.Second)), head: semaphore.NewWeighted(1),
		limit: rate.NewLimiter(rate.Inf, 0),
	}
	if i.Rate != nil {
		gate.limit = rate.NewLimiter(rate.Limit(i.Rate.PerSecond), i.Rate.Burst)
	}
	gate.backlog.budget = gate.callsAhead()
	gate.breaker.Store(gate.newBreaker())
	g.all[i.Tenant][key] = gate
	return gate
}

// allow changes the rate. What was used of it remains used.
func (g *gate) allow(r *model.Rate) {
	limit, burst := rate.Inf, 0
	if r != nil {
		limit, burst = rate.Limit(r.PerSecond), r.Burst
	}
	if g.limit.Limit() != limit || g.limit.Burst() != burst {
		g.limit.SetLimit(limit)
		g.limit.SetBurst(burst)
	}
}

// probed closes the breaker if an attempt that passed it open found the integration up.
func (g *gate) probed(found error) {
	if found == nil {
		g.breaker.Store(g.newBreaker())
		g.reopened.Store(true)
	}
}

// callsAhead is how many deliveries are called at most before others of them were attempted.
func (g *gate) callsAhead() float64 { return lineFor * float64(g.inFlight) }

func (g *gate) newBreaker() *gobreaker.TwoStepCircuitBreaker[struct{}] {
	return gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:     breakFor,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= model.BreakAfter },
		IsExcluded:  func(err error) bool { return errors.Is(err, errNotAsked) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			switch to {
			case gobreaker.StateOpen:
				now := time.Now()
				g.opened.Store(&now)
			case gobreaker.StateClosed:
				g.reopened.Store(true)
			case gobreaker.StateHalfOpen:
			}
		},
	})
}
