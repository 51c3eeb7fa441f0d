package manageapi

import (
	"context"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// release lets an export go that is in quarantine, as it came.
func release(r *rest.Request) (any, error) {
	e, err := exportOf(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), rest.Patience)
	defer cancel()
	res, err := r.Gateway.Runtime.Redeliverer.EndQuarantine(ctx, e.Tenant, e.Key, func(tx *store.Tx) error {
		return r.Record(tx, exportPath(e))
	})
	return api.Released(res), rest.NotFound(err, noExport)
}

// releasedBefore answers the repeat of a request that released an export, from where the export's round is now.
func releasedBefore(r *rest.Request, _ string) (any, error) {
	e, names, err := presentRound(r)
	return api.Released{Round: e.Round, Released: names}, err
}
