package gateway

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/store"
)

// Outage logs that exports are rejected while the database can't be written: at the first one, once a minute with their
// number, and at the end. It outlives a reload.
type Outage struct {
	on atomic.Bool // read with each accepted export

	mu                 sync.Mutex
	began, told, ended time.Time // ended: its latest refusal
	refused            int
}

const (
	tellEvery = time.Minute
	// calm is how long nothing is refused before an outage is over: while it begins and ends, some exports get through.
	calm = 5 * time.Second
)

// Refused notes that an export was not accepted.
func (o *Outage) Refused(tenant string, err error, now time.Time, log *zap.Logger) {
	if !o.on.Load() && !errors.Is(err, store.ErrUnavailable) { // its sender did not wait
		log.Warn("an export was not accepted; its sender was told to send it again", zap.String("tenant", tenant),
			zap.Error(err))
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refused++
	o.ended = now
	switch {
	case !o.on.Load():
		o.on.Store(true)
		o.began, o.told = now, now
		log.Error("an export was not accepted; its sender was told to send it again. Exports are "+
			"rejected until the database "+
			"can be written",
			zap.String("tenant", tenant), zap.Error(err))
	case now.Sub(o.told) >= tellEvery:
		o.told = now
		log.Error("exports are still not accepted; their senders are told to send them again",
			zap.Int("refused", o.refused), zap.Duration("lasts", now.Sub(o.began)), zap.Error(err))
	}
}

// Accepted notes that an export was accepted.
func (o *Outage) Accepted(now func() time.Time, log *zap.Logger) {
	if !o.on.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.on.Load() || now().Sub(o.ended) < calm {
		return
	}
	log.Info("exports are accepted again", zap.Int("refused", o.refused), zap.Duration("lasted", o.ended.Sub(o.began)))
	o.refused = 0
	o.on.Store(false)
}
