package apply

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/problem"
)

// remembered is how many users' limiters, and how many jobs' questions, are kept.
const remembered = 4096

// Guards is what the API remembers of who asked how often, and what is being answered. It is bounded, and safe for concurrent use.
type Guards struct {
	Failures *password.Failures

	mu       sync.Mutex
	limiters *lru.Cache[limited, *rate.Limiter]
	running  map[[32]byte]struct{} // requests with an Idempotency-Key
	told     map[string]time.Time  // of which expired form the log was told, and when
}

// limited is a user under a rate: where sites have different ones, each of them holds.
type limited struct {
	user string
	rate hiring.Rate
}

// NewGuards makes one that remembers nothing.
func NewGuards(now func() time.Time) *Guards {
	limiters, _ := lru.New[limited, *rate.Limiter](remembered) // the only error is that of a size that is not positive
	return &Guards{Failures: password.NewFailures(now), limiters: limiters, running: map[[32]byte]struct{}{}, told: map[string]time.Time{}}
}

// allowance is what a user may still send.
type allowance struct {
	limit, remaining int
	reset            time.Duration // until all of it is there again
	wait             time.Duration // until the next request; 0: it may be sent now
}

// tell writes the headers of draft-ietf-httpapi-ratelimit-headers.
func (a allowance) tell(h http.Header) {
	h.Set("RateLimit-Limit", strconv.Itoa(a.limit))
	h.Set("RateLimit-Remaining", strconv.Itoa(a.remaining))
	h.Set("RateLimit-Reset", problem.Seconds(a.reset))
}

// take takes the allowance for one request.
func (g *Guards) take(user string, of hiring.Rate, now time.Time) allowance {
	g.mu.Lock()
	defer g.mu.Unlock()
	l, ok := g.limiters.Get(limited{user, of})
	if !ok {
		l = rate.NewLimiter(rate.Limit(of.PerSecond), of.Burst)
		g.limiters.Add(limited{user, of}, l)
	}
	a := allowance{limit: of.Burst}
	r := l.ReserveN(now, 1)
	if a.wait = r.DelayFrom(now); a.wait > 0 {
		r.CancelAt(now)
	}
	left := max(0, l.TokensAt(now))
	a.remaining = int(left)
	a.reset = time.Duration((float64(of.Burst) - left) / of.PerSecond * float64(time.Second))
	return a
}

// begin says that a request with an Idempotency-Key is being answered. It reports false when it is already; end ends it.
func (g *Guards) begin(id [32]byte) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.running[id]; ok {
		return false
	}
	g.running[id] = struct{}{}
	return true
}

func (g *Guards) end(id [32]byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.running, id)
}

// tellOnce tells whether the log is to be told of a compliance group's form: once a day.
func (g *Guards) tellOnce(group string, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if last, ok := g.told[group]; ok && now.Sub(last) < 24*time.Hour {
		return false
	}
	g.told[group] = now
	return true
}
