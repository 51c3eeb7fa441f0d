// Package rounds begins further rounds of exports, and hurries what waits: on request, and once what it waited for has
// happened.
package rounds

import (
	"context"
	"errors"
	"fmt"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/dispatch"
)

// RefusedError says why an export can't be redelivered or released now, in a sentence for the person who asked.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// Redeliverer begins rounds of exports that somebody asked for: of one, of each that a redelivery chose, of one that was in
// quarantine.
type Redeliverer struct{ *dispatch.Dispatcher }

// Redelivery is the result of Redeliver for each integration.
type Redelivery struct {
	Round   int
	Started []string // delivered again, in this round
	Hurried []string // under way already: the next attempt is made now
}

// Redeliver delivers an export again to integrations, each named once; none named: to all of the tenant's. A delivery
// that is still under way is attempted at once instead. The links to its documents are extended. begun runs in the
// transaction that begins a round, and may run more than once. The error is a *RefusedError or store.ErrNotFound when
// the export can't be redelivered.
func (r *Redeliverer) Redeliver(ctx context.Context, tenant, key string, integrations []string,
	begun func(*store.Tx, Redelivery) error) (Redelivery, error) {
	e, err := r.Store.ExportByKey(ctx, tenant, key)
	if err != nil {
		return Redelivery{}, err
	}
	switch {
	case !e.ErasedAt.IsZero():
		return Redelivery{}, errErased
	case e.Quarantined:
		return Redelivery{}, &RefusedError{fmt.Sprintf("this export is in quarantine, because its body breaks the schema: "+
			"release it with hiregate export release %s/%s", tenant, key)}
	case e.Origin == model.Triggered && !r.Now().Before(e.DocumentsTill):
		return Redelivery{}, &RefusedError{"the addresses of this export's documents have ended: export the candidate again, " +
			"with hiregate candidate export"}
	case e.DispatchedAt.IsZero() && e.Fault == "":
		return Redelivery{}, &RefusedError{"this export was not delivered yet: " +
			"it waits for Temporal, and is delivered as soon as Temporal answers"}
	}
	c := r.InForce.Current()
	if c == nil {
		return Redelivery{}, &RefusedError{"the gateway is stopping: ask again in a moment"}
	}
	integrations, err = named(c, tenant, integrations)
	if err != nil {
		return Redelivery{}, err
	}
	deliveries, err := r.Store.ListDeliveries(ctx, e.ID)
	if err != nil {
		return Redelivery{}, err
	}
	statuses, err := r.Store.ListIntegrationStatuses(ctx)
	if err != nil {
		return Redelivery{}, err
	}
	var res Redelivery
	var gone []*model.Delivery
	for _, name := range integrations {
		switch last := model.LatestDelivery(deliveries, name); {
		case last == nil, last.Outcome.Final():
			res.Started = append(res.Started, name)
		default:
			held := ""
			if last.Outcome == model.Held {
				held = delivery.HeldReason(c, e, last, statuses)
			}
			if held == "" {
				if err := r.ask(ctx, last); err != nil {
					return Redelivery{}, err
				}
			}
			switch err := r.Hurry(ctx, e, last); {
			case errors.Is(err, workflows.ErrTaskUnderWay) && held == "" && !last.Parked: // it reads what was asked for
				res.Hurried = append(res.Hurried, name)
			case errors.Is(err, workflows.ErrNotRunning) && (!last.Parked || held == ""),
				errors.Is(err, workflows.ErrNoActivity) && last.Outcome == model.Retrying:
				res.Started, gone = append(res.Started, name), append(gone, last)
			case held != "":
				return Redelivery{}, &RefusedError{"this export is held, and goes out by itself once " +
					"its integration takes exports: " + held}
			case errors.Is(err, workflows.ErrNoActivity):
				return Redelivery{}, &RefusedError{fmt.Sprintf("the first attempt at integration %s is still to come: "+
					"it waits for the documents of this export and is made by itself", name)}
			case err != nil:
				return Redelivery{}, err
			default:
				res.Hurried = append(res.Hurried, name)
			}
		}
	}
	res.Round = e.Round
	if len(res.Started) == 0 {
		return res, nil
	}
	_, err = r.Begin(ctx, e, res.Started, gone, true, func(tx *store.Tx, next *model.Export) error {
		res.Round = next.Round
		for _, name := range res.Started {
			if err := tx.AskDelivery(model.NewDelivery(next, name, next.Round, r.Now()), r.Now()); err != nil {
				return err
			}
		}
		return begun(tx, res)
	})
	switch {
	case errors.Is(err, store.ErrErased):
		return Redelivery{}, errErased
	case errors.Is(err, dispatch.ErrMoved):
		return Redelivery{}, errJustMoved
	case err != nil:
		return Redelivery{}, err
	}
	return res, nil
}

// ask notes that somebody asked for the next attempt of a delivery: it passes an open breaker.
func (r *Redeliverer) ask(ctx context.Context, d *model.Delivery) error {
	err := r.Store.Write(ctx, func(tx *store.Tx) error { return tx.AskDelivery(d, r.Now()) })
	if err != nil {
		return fmt.Errorf("asking for the next attempt of a delivery: %w", err)
	}
	return nil
}

var errErased = &RefusedError{"the content of this export was erased, by retention or on request: " +
	"have its service export the candidate again"}

var errJustMoved = &RefusedError{"this export was attempted or redelivered just now: " +
	"look at it, and ask again if you still need to"}

// named returns the integrations that were asked for, or all of the tenant's. The error is a *RefusedError for one that
// the tenant does not have.
func named(c *config.Config, tenant string, integrations []string) ([]string, error) {
	t, ok := c.Tenant(tenant)
	if !ok || len(t.Integrations) == 0 {
		return nil, &RefusedError{fmt.Sprintf("tenant %s has no integration: add one to the Caddyfile first", tenant)}
	}
	if len(integrations) == 0 {
		for _, i := range t.Integrations {
			integrations = append(integrations, i.Name)
		}
	}
	for _, name := range integrations {
		if _, ok := t.Integration(name); !ok {
			return nil, &RefusedError{fmt.Sprintf("tenant %s has no integration %q", tenant, name)}
		}
	}
	return integrations, nil
}
