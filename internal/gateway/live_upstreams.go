package gateway

import (
	"context"
	"slices"
	"sync"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/relay"
)

// examineUpstreams signs in at each service that a tenant's applications are relayed to.
func (g *Gateway) examineUpstreams(ctx context.Context) []Finding {
	var relayed []*model.Tenant
	for _, t := range g.Config.Tenants {
		if t.ApplyUpstream != nil {
			relayed = append(relayed, t)
		}
	}
	found := make([][]Finding, len(relayed))
	places := make(chan struct{}, examinedAtOnce)
	var running sync.WaitGroup
	for n, t := range relayed {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			found[n] = verdict(t.Name+" apply_upstream", relay.Examine(ctx, g.Config.Egress, t.ApplyUpstream),
				"the service lets "+t.ApplyUpstream.User+" sign in")
		})
	}
	running.Wait()
	return slices.Concat(found...)
}
