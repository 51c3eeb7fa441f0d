package manage

import (
	"context"
	"errors"
	"net/http"

	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/export"
)

// release lets an export go that is in quarantine, as it came.
func (r *request) release() (any, error) {
	if _, err := r.query(); err != nil {
		return nil, err
	}
	e, err := r.export()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	res, err := r.gateway.Runtime.Again.EndQuarantine(ctx, e.Tenant, e.Key)
	refused := new(export.RefusedError)
	switch {
	case err == nil:
		return res, nil
	case errors.As(err, &refused):
		return nil, problem.New(http.StatusConflict, refused.Reason)
	case errors.Is(err, store.ErrNotFound):
		return nil, problem.New(http.StatusNotFound, "this tenant has no export of that UUID")
	}
	return nil, err
}
