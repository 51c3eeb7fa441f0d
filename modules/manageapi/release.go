package manageapi

import (
	"context"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/store"
)

// release lets an export go that is in quarantine, as it came.
func release(r *request) (any, error) {
	e, err := r.export()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	res, err := r.gateway.Runtime.Redeliverer.EndQuarantine(ctx, e.Tenant, e.Key, func(tx *store.Tx) error {
		return r.record(tx, exportPath(e))
	})
	return api.Released(res), notFound(err, noExport)
}

// releasedBefore answers the repeat of a request that released an export, from where the export's round is now.
func releasedBefore(r *request, _ string) (any, error) {
	e, names, err := r.round()
	return api.Released{Round: e.Round, Released: names}, err
}
