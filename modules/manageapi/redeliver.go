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
	"github.com/hiregate/hiregate/modules/manageapi/rest"
	"github.com/hiregate/hiregate/workflows/rounds"
)

// redeliver delivers an export again to the integrations that the body names, to all without a body.
func redeliver(r *rest.Request) (any, error) {
	integrations, err := askedIntegrations(r)
	if err != nil {
		return nil, err
	}
	e, err := exportOf(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), rest.Patience)
	defer cancel()
	res, err := r.Gateway.Runtime.Redeliverer.Redeliver(ctx, e.Tenant, e.Key, integrations,
		func(tx *store.Tx, begun rounds.Redelivery) error {
			for _, name := range begun.Started {
				if err := tx.MarkBegunBy(r.Caller.ID, e.ID, begun.Round, name); err != nil {
					return err
				}
			}
			return r.Record(tx, exportPath(e))
		})
	switch {
	case err == nil && len(res.Started) == 0: // nothing began, so nothing was recorded
		return api.Redelivered(res), r.AuditAlone()
	case err == nil:
		return api.Redelivered(res), nil
	case errors.As(err, new(*rounds.RefusedError)), errors.Is(err, store.ErrUnavailable),
		errors.Is(err, store.ErrLeaseLost):
		return nil, err
	}
	return nil, r.NoTemporal(err, "this export is under way, and Temporal, which carries it, does not answer: it goes "+
		"on by itself once that is back")
}

// redelivered answers the repeat of a request that began a round, from where the export's round is now.
func redelivered(r *rest.Request, _ string) (any, error) {
	e, names, err := presentRound(r)
	return api.Redelivered{Round: e.Round, Started: names}, err
}

// round returns the export that the path names, and the integrations that its present round goes to.
func presentRound(r *rest.Request) (*model.Export, []string, error) {
	e, err := exportOf(r)
	if err != nil {
		return new(model.Export), nil, err
	}
	deliveries, err := r.DB.ListDeliveries(r.Context(), e.ID)
	names := []string{}
	for _, d := range deliveries {
		if d.Round == e.Round {
			names = append(names, d.Integration)
		}
	}
	return e, names, err
}

// integrations reads the body of a redelivery: {"integrations":["hris"]}, or nothing at all.
func askedIntegrations(r *rest.Request) ([]string, error) {
	body, err := rest.DecodeAny[api.RedeliverInput](r)
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
