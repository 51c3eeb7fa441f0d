package gateway

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/model"
)

// missedWithin is how far back exports are looked for that an integration missed.
const missedWithin = 7 * 24 * time.Hour

// arrivals are the integrations that reloads brought into the configuration, and that were not looked at yet.
type arrivals struct {
	mu  sync.Mutex
	all []*model.Integration
}

// noteArrivals notes which integrations a reload brings back, or adds. before is nil at the start of the process.
func (r *Runtime) noteArrivals(before, now *config.Config) {
	if before == nil {
		return
	}
	r.arrivals.mu.Lock()
	defer r.arrivals.mu.Unlock()
	for t := range now.All() {
		for n := range t.Integrations {
			i := &t.Integrations[n]
			if _, ok := before.Integration(i.Tenant, i.Name); !ok {
				r.arrivals.all = append(r.arrivals.all, i)
			}
		}
	}
}

// tellArrivals logs how many exports were accepted while an integration that arrived was not in the configuration. They
// were not addressed to it, and only a person knows whether they should have been.
func (r *Runtime) tellArrivals(ctx context.Context) error {
	r.arrivals.mu.Lock()
	arrived := r.arrivals.all
	r.arrivals.all = nil
	r.arrivals.mu.Unlock()
	for _, i := range arrived {
		loop.Alive(ctx)
		r.tellMissed(ctx, i)
	}
	return nil
}

func (r *Runtime) tellMissed(ctx context.Context, i *model.Integration) {
	now := r.now()
	found, err := r.Store().PreviewRedelivery(ctx, &model.Selection{Tenant: i.Tenant, Integration: i.Name,
		Since: now.Add(-missedWithin), Until: now, Mode: model.RedeliverMissing}, i.Documents, now)
	log := r.log.With(zap.String("tenant", i.Tenant), zap.String("integration", i.Name))
	switch {
	case err != nil && ctx.Err() == nil:
		log.Warn("could not find out whether an integration that is new in the configuration missed exports", zap.Error(err))
	case found.Count > 0:
		command := fmt.Sprintf("hiregate export redeliver --tenant %s --integration %s --since %s --mode missing",
			i.Tenant, i.Name, found.Oldest.UTC().Format(time.RFC3339))
		log.Warn("an integration missed exports that were accepted while it was not in the configuration; "+
			"to deliver them: "+command, zap.Int64("exports", found.Count))
	}
}
