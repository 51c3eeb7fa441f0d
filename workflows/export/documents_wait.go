package export

import (
	"cmp"
	"time"

	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/model"
)

// rehostWait is how long a rehosting delivery waits for the documents; then it sends our URLs without them.
const rehostWait = time.Minute

// FirstWait returns how long all integrations of a round wait for documents. former are the deliveries of the rounds
// before.
func FirstWait(e *model.Export, tenant *model.Tenant, former []*model.Delivery, now time.Time) (wait time.Duration) {
	for n, name := range e.Integrations {
		if its := documentsWait(e, tenant, name, delivery.TriedIn(former, name), now); n == 0 || its < wait {
			wait = its
		}
	}
	return wait
}

// documentsWait returns how long a delivery waits for the documents of its export. mode is the document mode in which
// it was tried before; empty: the one of its integration.
func documentsWait(e *model.Export, tenant *model.Tenant, integration string, mode model.DocumentMode,
	now time.Time) time.Duration {
	if i, ok := tenant.Integration(integration); ok {
		mode = cmp.Or(mode, i.Documents)
	}
	switch {
	case e.Origin == model.Triggered, mode == model.Passthrough:
		return 0
	case mode == model.Inline:
		return max(0, e.DocumentsTill.Sub(now))
	}
	return rehostWait
}
