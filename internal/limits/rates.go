package gateway

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/hiregate/hiregate/internal/model"
)

// Rates keeps the tenants' rate limiters, across reloads.
type Rates struct {
	mu  sync.Mutex
	all map[string]*limiter
}

type limiter struct {
	*rate.Limiter
	of model.Rate
}

// Take uses a tenant's allowance for one export. It returns how long to wait when the allowance is used up, else 0.
func (r *Rates) Take(t *model.Tenant, now time.Time) time.Duration {
	if t.Rate == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.all[t.Name]
	if !ok || l.of != *t.Rate {
		if r.all == nil {
			r.all = map[string]*limiter{}
		}
		l = &limiter{rate.NewLimiter(rate.Limit(t.Rate.PerSecond), t.Rate.Burst), *t.Rate}
		r.all[t.Name] = l
	}
	reservation := l.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}
