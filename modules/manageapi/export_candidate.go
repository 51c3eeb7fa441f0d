package manageapi

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/trigger"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/modules/manageapi/recruiting"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// firstAttempt is how long the answer waits for the first attempts. One takes 20 s at most.
const firstAttempt = 25 * time.Second

// exportCandidate exports a candidate, to a named integration or to all of the tenant's. It answers after the first
// attempt at each, so that the person who asked sees what is wrong; further attempts follow by themselves.
func exportCandidate(r *rest.Request) (any, error) {
	in, err := rest.DecodeAny[api.ExportInput](r)
	if err != nil {
		return nil, err
	}
	t := r.Tenant
	triggered := r.Gateway.Trigger(r.Request)
	to, err := destinations(t, in.Integration)
	if err != nil {
		return nil, err
	}
	var e *model.Export
	err = r.Update(func(tx *store.Tx) (err error) {
		e, err = triggered.Export(tx, trigger.Request{Tenant: t.Name, Candidate: r.PathValue("id"), Integrations: to,
			Application: in.JobApplication})
		if err != nil {
			return err
		}
		r.Object, r.Detail = model.ExportObject(e), e.LeftOutSentence()
		return r.Note(tx, exportPath(e))
	})
	if err != nil {
		return nil, err
	}
	if e.Fault == "" {
		r.Gateway.Runtime.Dispatcher.Offer(e)
	}
	if in.NoWait {
		return exported(r, e)
	}
	return tried(r, e)
}

// exported returns how an export stands.
func exported(r *rest.Request, e *model.Export) (any, error) {
	r.Location = exportPath(e)
	all, err := r.DB.ListDeliveries(r.Context(), e.ID)
	if err != nil {
		return nil, err
	}
	return exportedOf(r, e, all)
}

// exportedBefore answers the repeat of a request that exported a candidate.
func exportedBefore(r *rest.Request, location string) (any, error) {
	e, err := r.DB.ExportByKey(r.Context(), r.Tenant.Name, r.Repeated(location))
	if err != nil {
		return nil, err
	}
	return tried(r, e)
}

// exportPath returns the path of an export, whose key may not be a segment as it is.
func exportPath(e *model.Export) string {
	return rest.PathOf("/v1/tenants", e.Tenant, "exports", e.Key)
}

// destinations returns the integrations that an export goes to.
func destinations(t *model.Tenant, named string) ([]string, error) {
	switch {
	case named != "":
		return []string{named}, recruiting.KnownIntegrations(t, []string{named})
	case len(t.Integrations) == 0:
		return nil, problem.New(http.StatusConflict,
			"this tenant has no integration that the candidate could be exported to: add one first")
	}
	return t.IntegrationNames(), nil
}

// tried waits until an export was tried at each of its integrations, and returns how that went.
func tried(r *rest.Request, e *model.Export) (any, error) {
	r.Location = exportPath(e)
	ctx, cancel := context.WithTimeout(r.Context(), firstAttempt)
	defer cancel()
	for gap := 20 * time.Millisecond; ; gap = min(2*gap, 250*time.Millisecond) {
		all, err := r.DB.ListDeliveries(context.WithoutCancel(ctx), e.ID)
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil || e.Fault != "" || !waits(e, all) {
			return exportedOf(r, e, all)
		}
		wait.For(ctx, gap)
	}
}

// waits reports whether an attempt is still to be made, or the gate to be asked.
func waits(e *model.Export, all []*model.Delivery) bool {
	return slices.ContainsFunc(e.Integrations, func(name string) bool {
		d := model.LatestDelivery(all, name)
		return d != nil && d.Outcome == model.Pending
	})
}

// notTried returns the reason why a delivery was not tried within the time of the first attempt.
func notTried(e *model.Export) string {
	if e.DispatchedAt.IsZero() {
		return "it was not tried yet: it waits for Temporal, and goes out as soon as that answers"
	}
	return "it was not tried yet: it waits for its turn at this integration, or for its documents to be scanned, " +
		"and goes out by itself"
}

func exportedOf(r *rest.Request, e *model.Export, all []*model.Delivery) (any, error) {
	ctx := context.WithoutCancel(r.Context()) // it is exported: say so
	if fresh, err := r.DB.Export(ctx, e.ID); err == nil {
		fresh.Integrations, e = e.Integrations, fresh
	}
	res := api.Exported{UUID: e.Key, State: stateOf(e), Fault: e.Fault, Deliveries: []api.ExportedTo{}}
	for _, name := range e.Integrations {
		d := model.LatestDelivery(all, name)
		if d == nil { // it was deleted meanwhile
			continue
		}
		if d.Outcome == model.Pending {
			d.Reason = notTried(e)
		}
		to := api.ExportedTo{Delivery: deliveryOf(d)}
		to.Current = true
		if d.Attempts > 0 {
			attempts, err := r.DB.ListAttempts(ctx, d.ID)
			if err != nil {
				return nil, err
			}
			if n := len(attempts); n > 0 {
				to.Status = attempts[n-1].Status
				to.Answer = answersOf(r, e.Tenant, name).toExport(attempts[n-1].Answer, shortAnswer)
			}
		}
		res.Deliveries = append(res.Deliveries, to)
	}
	return res, nil
}
