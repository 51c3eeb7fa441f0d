package apply

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/problem"
)

// remembered is the number of users whose limiters are stored.
const remembered = 4096

// Guards holds the rate limiters of users, the failed passwords, and the requests that are being answered. It is
// bounded, and safe for concurrent use.
type Guards struct {
	Failures *password.Failures

	mu       sync.Mutex
	limiters *lru.Cache[limited, *rate.Limiter]
	running  map[[32]byte]struct{} // requests with an Idempotency-Key
	warned   map[string]time.Time  // when it was logged that a group's form has expired
}

// limited is the key of a limiter: sites may have different rates, and each applies.
type limited struct {
	user string
	rate model.Rate
}

// NewGuards returns Guards without any state.
func NewGuards(now func() time.Time) *Guards {
	limiters, _ := lru.New[limited, *rate.Limiter](remembered) // it fails only for a size that is not positive
	return &Guards{Failures: password.NewFailures(now), limiters: limiters, running: map[[32]byte]struct{}{},
		warned: map[string]time.Time{}}
}

// allowance says how many requests a user may still send.
type allowance struct {
	limit, remaining int
	window           time.Duration // in which limit requests become available
	reset            time.Duration // until all of it is available again
	wait             time.Duration // until the next request; 0: it may be sent now
}

// writeHeaders writes the headers of draft-ietf-httpapi-ratelimit-headers: two as of version 11, and the three of version 6,
// which clients know for longer. The policy's window is the time in which all that was used comes back.
func (a allowance) writeHeaders(h http.Header) {
	h.Set("RateLimit-Policy", fmt.Sprintf(`"user";q=%d;w=%s`, a.limit, problem.Seconds(a.window)))
	h.Set("RateLimit", fmt.Sprintf(`"user";r=%d;t=%s`, a.remaining, problem.Seconds(a.reset)))
	h.Set("RateLimit-Limit", strconv.Itoa(a.limit))
	h.Set("RateLimit-Remaining", strconv.Itoa(a.remaining))
	h.Set("RateLimit-Reset", problem.Seconds(a.reset))
}

// limit uses up one request of a user's allowance, if there is one left.
func (g *Guards) limit(user string, of model.Rate, now time.Time) allowance {
	g.mu.Lock()
	defer g.mu.Unlock()
	l, ok := g.limiters.Get(limited{user, of})
	if !ok {
		l = rate.NewLimiter(rate.Limit(of.PerSecond), of.Burst)
		g.limiters.Add(limited{user, of}, l)
	}
	a := allowance{limit: of.Burst, window: time.Duration(float64(of.Burst) / of.PerSecond * float64(time.Second))}
	r := l.ReserveN(now, 1)
	if a.wait = r.DelayFrom(now); a.wait > 0 {
		r.CancelAt(now)
	}
	left := max(0, l.TokensAt(now))
	a.remaining = int(left)
	a.reset = time.Duration((float64(of.Burst) - left) / of.PerSecond * float64(time.Second))
	return a
}

// begin marks a request with an Idempotency-Key as being answered. It reports false if it is already; end removes the
// mark.
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

// warns reports whether to log that a compliance group's form has expired: once a day.
func (g *Guards) warns(group string, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if last, ok := g.warned[group]; ok && now.Sub(last) < 24*time.Hour {
		return false
	}
	g.warned[group] = now
	return true
}
