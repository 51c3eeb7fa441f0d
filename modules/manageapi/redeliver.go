package manageapi

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/export"
)

// redeliver delivers an export again to the integrations that the body names, to all without a body.
func redeliver(r *request) (any, error) {
	integrations, err := r.integrations()
	if err != nil {
		return nil, err
	}
	e, err := r.export()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	res, err := r.gateway.Runtime.Redeliverer.Redeliver(ctx, e.Tenant, e.Key, integrations,
		func(tx *store.Tx, begun export.Redelivery) error {
			for _, name := range begun.Started {
				if err := tx.MarkBegunBy(r.caller.id, e.ID, begun.Round, name); err != nil {
					return err
				}
			}
			return r.record(tx, exportPath(e))
		})
	switch {
	case err == nil && len(res.Started) == 0: // nothing began, so nothing was recorded
		return api.Redelivered(res), r.auditAlone()
	case err == nil:
		return api.Redelivered(res), nil
	case errors.As(err, new(*export.RefusedError)), errors.Is(err, store.ErrUnavailable),
		errors.Is(err, store.ErrLeaseLost):
		return nil, err
	}
	return nil, r.noTemporal(err, "this export is under way, and Temporal, which carries it, does not answer: it goes "+
		"on by itself once that is back")
}

// redelivered answers the repeat of a request that began a round, from where the export's round is now.
func redelivered(r *request, _ string) (any, error) {
	e, names, err := r.round()
	return api.Redelivered{Round: e.Round, Started: names}, err
}

// round returns the export that the path names, and the integrations that its present round goes to.
func (r *request) round() (*model.Export, []string, error) {
	e, err := r.export()
	if err != nil {
		return new(model.Export), nil, err
	}
	deliveries, err := r.db.ListDeliveries(r.Context(), e.ID)
	names := []string{}
	for _, d := range append(deliveries, e.Pending(deliveries)...) {
		if d.Round == e.Round {
			names = append(names, d.Integration)
		}
	}
	return e, names, err
}

// integrations reads the body of a redelivery: {"integrations":["hris"]}, or nothing at all.
func (r *request) integrations() ([]string, error) {
	body, err := decodeAny[api.RedeliverInput](r)
	if err != nil {
		return nil, err
	}
	if body.Integrations != nil && len(body.Integrations) == 0 {
		return nil, problem.New(http.StatusBadRequest,
			"integrations is empty: name at least one, or leave it out for all of the tenant's")
	}
	slices.Sort(body.Integrations)
	return slices.Compact(body.Integrations), nil
}
