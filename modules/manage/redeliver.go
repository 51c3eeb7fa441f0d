package manage

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/export"
)

// redeliver delivers an export anew to the integrations that the body names, to all without a body.
func (r *request) redeliver() (any, *problem.Problem) {
	if _, p := r.query(); p != nil {
		return nil, p
	}
	integrations, p := r.integrations()
	if p != nil {
		return nil, p
	}
	e, p := r.export()
	if p != nil {
		return nil, p
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	res, err := r.gateway.Runtime.Again.Redeliver(ctx, e.Tenant, e.Key, integrations)
	refused := new(export.RefusedError)
	switch {
	case err == nil:
		return res, nil
	case errors.As(err, &refused):
		return nil, problem.New(http.StatusConflict, refused.Reason)
	case errors.Is(err, store.ErrUnavailable):
		return nil, r.storeAway(err)
	}
	return nil, r.noTemporal(err, "this export is under way, and Temporal, which carries it, does not answer: it goes on by itself once that is back")
}

// integrations reads the body of a redelivery: {"integrations":["hris"]}, or nothing at all.
func (r *request) integrations() ([]string, *problem.Problem) {
	body, p := decodeAny[struct {
		Integrations []string `json:"integrations"`
	}](r)
	if p != nil {
		return nil, p
	}
	if body.Integrations != nil && len(body.Integrations) == 0 {
		return nil, problem.New(http.StatusBadRequest, "integrations is empty: name at least one, or leave it out for all of the tenant's")
	}
	slices.Sort(body.Integrations)
	return slices.Compact(body.Integrations), nil
}
