package gateway

import (
	"context"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/workflows/redelivery"
)

// StartRedelivery starts the workflow of a redelivery that was begun or resumed. Where Temporal does not answer, that is
// tried again every ten seconds.
func (r *Runtime) StartRedelivery(ctx context.Context, id string) {
	if err := redelivery.Start(ctx, r.client, id); err != nil {
		r.log.Warn("a redelivery could not be started; it is started once Temporal answers", zap.String("redelivery", id),
			zap.Error(err))
	}
}
