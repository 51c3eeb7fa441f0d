package limits

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/hiregate/hiregate/internal/model"
)

// Rates allows each of some keys, such as tenants, what its own rate says. It outlives a configuration: another rate begins
// anew.
type Rates struct {
	mu  sync.Mutex
	all map[string]*limiter
}

type limiter struct {
	*rate.Limiter
	of model.Rate
}

// Take uses a key's allowance for one event. It returns how long to wait when the allowance is used up, else 0. Without a rate
// there is no limit.
func (r *Rates) Take(key string, of *model.Rate, now time.Time) time.Duration {
	if of == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.all[key]
	if !ok || l.of != *of {
		if r.all == nil {
			r.all = map[string]*limiter{}
		}
		l = &limiter{rate.NewLimiter(rate.Limit(of.PerSecond), of.Burst), *of}
		r.all[key] = l
	}
	reservation := l.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}
