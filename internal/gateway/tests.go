package gateway

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/time/rate"
)

// The most tests of receivers that are not saved, and samples, in a minute.
const (
	testsOfOne = 10
	testsOfAll = 60
	// testers is how many callers have their tests counted: those who tested last.
	testers = 4096
)

// Tests bounds how often receivers are tested that are not saved, across reloads: a form must be no way to scan ports.
type Tests struct {
	mu  sync.Mutex
	all *rate.Limiter
	of  *simplelru.LRU[string, *rate.Limiter]
}

// Take uses the allowance of a caller for one test. It returns how long to wait when that is used up, or that of all
// callers, else 0.
func (t *Tests) Take(caller string, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	perMinute := func(n int) *rate.Limiter { return rate.NewLimiter(rate.Every(time.Minute/time.Duration(n)), n) }
	if t.all == nil {
		t.all = perMinute(testsOfAll)
		t.of, _ = simplelru.NewLRU[string, *rate.Limiter](testers, nil) // fails for a size below 1
	}
	one, ok := t.of.Get(caller)
	if !ok {
		one = perMinute(testsOfOne)
		t.of.Add(caller, one)
	}
	for _, l := range []*rate.Limiter{one, t.all} {
		if tokens := l.TokensAt(now); tokens < 1 {
			return time.Duration((1 - tokens) / float64(l.Limit()) * float64(time.Second))
		}
	}
	one.AllowN(now, 1)
	t.all.AllowN(now, 1)
	return 0
}
