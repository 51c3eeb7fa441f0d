package manageapi

import (
	"context"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// fetchDocuments has the documents of an export tried now that are still to be fetched.
func fetchDocuments(r *rest.Request) (any, error) {
	e, err := exportOf(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), rest.Patience)
	defer cancel()
	n, err := r.Gateway.Runtime.Redeliverer.FetchDocuments(ctx, e, r.Now(), func(tx *store.Tx) error {
		return r.Record(tx, exportPath(e))
	})
	return api.Fetching{Documents: n}, err
}
