// Package limits bounds how often something happens for each of many keys, such as addresses.
package limits

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

const remembered = 4096 // keys

// Limits allows each key a number of events at once, and one more each time that has passed.
type Limits struct {
	mu    sync.Mutex
	every time.Duration
	burst int
	all   *lru.Cache[string, *rate.Limiter]
}

// New returns limits of burst events at once, and one more each time that has passed.
func New(every time.Duration, burst int) *Limits {
	all, _ := lru.New[string, *rate.Limiter](remembered) // it fails only for a size that is not positive
	return &Limits{every: every, burst: burst, all: all}
}

// Allow reports whether a key may have one more event now.
func (l *Limits) Allow(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	one, ok := l.all.Get(key)
	if !ok {
		one = rate.NewLimiter(rate.Every(l.every), l.burst)
		l.all.Add(key, one)
	}
	return one.AllowN(now, 1)
}
