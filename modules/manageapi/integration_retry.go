package manageapi

import (
	"errors"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// retry has all deliveries attempted at once that wait for their next attempt at an integration.
func retry(r *rest.Request) (any, error) {
	i, err := findIntegration(r)
	if err != nil {
		return nil, err
	}
	location := rest.PathOf("/v1/tenants", i.Tenant, "integrations", i.Name)
	err = r.Gateway.Runtime.Releaser.Retry(r.Context(), i, func(tx *store.Tx) error { return r.Record(tx, location) })
	if err != nil {
		return nil, err
	}
	return catchUpOf(r, i)
}

// retriedBefore answers the repeat of a request that had deliveries attempted at once.
func retriedBefore(r *rest.Request, _ string) (any, error) { return showRetry(r) }

// showRetry answers how far that is.
func showRetry(r *rest.Request) (any, error) {
	i, err := findIntegration(r)
	if err != nil {
		return nil, err
	}
	return catchUpOf(r, i)
}

func catchUpOf(r *rest.Request, i *model.Integration) (any, error) {
	at := model.Place{Tenant: i.Tenant, Integration: i.Name}
	shown, since := &api.Retry{Tenant: i.Tenant, Integration: i.Name, State: "none"}, r.Now()
	c, err := r.DB.CatchUp(r.Context(), at)
	switch {
	case err == nil:
		shown.State, shown.Asked, shown.Received, shown.Failed = "ended", c.Asked, c.Received, c.Failed
		shown.Reason, shown.BeganAt, shown.EndedAt = c.Reason, c.BeganAt, c.EndedAt
		if c.EndedAt.IsZero() {
			shown.State, since = "running", c.BeganAt
		}
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	shown.Waiting, shown.More, err = r.DB.CountWaiting(r.Context(), at, since)
	return shown, err
}
