package manageapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// redeliveries serves the redeliveries of a tenant, the newest first; allRedeliveries serves those of all tenants that
// the caller sees.
var (
	redeliveries = rest.Resource[*api.Redelivery]{
		Path: rest.InTenant + "/redeliveries", ID: "id", Kind: "redelivery", Reader: model.Viewer,
		List: func(r *rest.Request) ([]*api.Redelivery, string, error) {
			return redeliveriesOf(r, []string{r.Tenant.Name})
		},
		Find: func(r *rest.Request) (*api.Redelivery, error) {
			j, err := findRedelivery(r)
			if err != nil {
				return nil, err
			}
			return shownRedelivery(r, j)
		},
		View: rest.Identity[*api.Redelivery],
	}
	allRedeliveries = rest.Resource[*api.Redelivery]{
		Path: "/v1/redeliveries", Kind: "redelivery", Reader: model.Viewer, View: rest.Identity[*api.Redelivery],
		Filters: []string{"label"},
		List: func(r *rest.Request) ([]*api.Redelivery, string, error) {
			tenants, err := namesOfLabel(r)
			if err != nil {
				return nil, "", err
			}
			if tenants == nil && r.Caller.Tenant != "" {
				tenants = []string{r.Caller.Tenant}
			}
			return redeliveriesOf(r, tenants)
		},
	}
)

func redeliveriesOf(r *rest.Request, tenants []string) ([]*api.Redelivery, string, error) {
	rows, next, err := r.DB.ListRedeliveries(r.Context(), tenants, r.Page.Rows())
	all := make([]*api.Redelivery, len(rows))
	for n := 0; n < len(rows) && err == nil; n++ {
		all[n], err = shownRedelivery(r, rows[n])
	}
	return all, next, err
}

// findRedelivery returns the redelivery that the path names.
func findRedelivery(r *rest.Request) (*model.Redelivery, error) {
	j, err := r.DB.Redelivery(r.Context(), r.PathValue("id"))
	if err == nil && j.Tenant != r.Tenant.Name {
		return nil, noRedelivery
	}
	return j, rest.NotFound(err, noRedelivery)
}

var noRedelivery = problem.New(http.StatusNotFound, "this tenant has no redelivery of that id")

// shownRedelivery returns a redelivery as it is shown: a running one that begins nothing says what it waits for.
func shownRedelivery(r *rest.Request, j *model.Redelivery) (*api.Redelivery, error) {
	shown := &api.Redelivery{
		ID: j.ID, Tenant: j.Tenant, Integration: j.Integration, Mode: j.Mode, Since: j.Since, Until: j.Until,
		Outcome: j.Outcome, Class: j.Class, Status: j.Status, Attempts: j.Attempts, Rate: j.Rate, State: j.State, Reason: j.Reason,
		Total: j.Total, Done: j.Delivered, Failed: j.Failed, Waiting: j.Waiting, Skipped: j.Skipped,
		BegunBy: j.BegunBy, CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt, EndedAt: j.EndedAt,
	}
	until := r.Now()
	if !j.EndedAt.IsZero() {
		until = j.EndedAt
	}
	if took := until.Sub(j.CreatedAt); took > 0 {
		shown.ReachedRate = float64(shown.Reached()) / took.Seconds()
	}
	if j.State != model.RedeliveryRunning {
		return shown, nil
	}
	i, ok := r.Gateway.Config.Integration(j.Tenant, j.Integration)
	if !ok {
		shown.Reason = fmt.Sprintf("it waits: integration %s is not in this gateway's configuration", j.Integration)
		return shown, nil
	}
	status, err := r.DB.IntegrationStatus(r.Context(), i)
	if err == nil && !status.Deliverable(i) {
		shown.Reason = fmt.Sprintf("it waits: integration %s is %s: %s", i.Name, status.State, status.Reason)
	}
	return shown, err
}

// addRedelivery previews a redelivery, or begins it.
func addRedelivery(r *rest.Request) (any, error) {
	in, err := rest.Decode[api.RedeliveryInput](r)
	if err != nil {
		return nil, err
	}
	i, ok := r.Tenant.Integration(in.Integration)
	if !ok {
		return nil, problem.Newf(http.StatusUnprocessableEntity, "integration: tenant %s has none of the name %.40q",
			r.Tenant.Name, in.Integration)
	}
	now := r.Now()
	if in.Until.IsZero() || in.Until.After(now) {
		in.Until = now
	}
	if in.WaitingLonger != "" {
		before, err := receivedBefore(in.WaitingLonger, now)
		if err != nil {
			return nil, err
		}
		if before.Before(in.Until) {
			in.Until = before
		}
	}
	j := &model.Redelivery{
		ID: uuid.Must(uuid.NewV7()).String(), Rate: cmp.Or(in.Rate, model.DefaultRedeliveryRate(i.Options)),
		State: model.RedeliveryRunning, CreatedAt: now, UpdatedAt: now, BegunBy: r.Caller.ID,
		Selection: model.Selection{
			Tenant: i.Tenant, Integration: i.Name, Since: in.Since, Until: in.Until,
			Mode: cmp.Or(in.Mode, model.RedeliverFailed), Outcome: in.Outcome, Class: in.Class, Status: in.Status,
			Attempts: in.Attempts,
		},
	}
	if err := rest.Invalid(j.Validate()); err != nil {
		return nil, err
	}
	preview, err := r.DB.PreviewRedelivery(r.Context(), &j.Selection, i.Documents, now)
	if err != nil {
		return nil, err
	}
	if in.DryRun {
		r.Status = http.StatusOK
		return previewRedelivery(r, j, preview)
	}
	if j.Total = preview.Count; j.Total == 0 {
		j.State, j.EndedAt = model.RedeliveryFinished, now
		j.Reason = cmp.Or(preview.Nothing(model.Place{Tenant: i.Tenant, Integration: i.Name}),
			"no export was received in this time")
	}
	r.Location = rest.PathOf("/v1/tenants", j.Tenant, "redeliveries", j.ID)
	err = r.Update(func(tx *store.Tx) error {
		if err := tx.InsertRedelivery(j); err != nil {
			return err
		}
		return r.Note(tx, r.Location)
	})
	if err != nil {
		return nil, err
	}
	startRedelivery(r, j)
	return shownRedelivery(r, j)
}

// startRedelivery starts the workflow of a redelivery that is running.
func startRedelivery(r *rest.Request, j *model.Redelivery) {
	if j.State != model.RedeliveryRunning {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), rest.Patience)
	defer cancel()
	r.Gateway.Runtime.StartRedelivery(ctx, j.ID)
}

// redeliveryAddedBefore answers the repeat of a request that began a redelivery.
func redeliveryAddedBefore(r *rest.Request, location string) (any, error) {
	r.Location = location
	j, err := r.DB.Redelivery(r.Context(), r.Repeated(location))
	if err != nil {
		return nil, rest.NotFound(err, noRedelivery)
	}
	return shownRedelivery(r, j)
}

// previewRedelivery shows which exports a redelivery would reach.
func previewRedelivery(r *rest.Request, j *model.Redelivery, p model.RedeliveryPreview) (any, error) {
	const samples = 5
	shown := api.RedeliveryPreview{Count: p.Count, Oldest: p.Oldest, Newest: p.Newest, Expired: p.Expired,
		Received: p.Received, LeftOut: p.LeftOut, Rate: j.Rate, Until: j.Until,
		Samples: []api.RedeliverySample{}}
	exports, err := r.DB.ListSelected(r.Context(), &j.Selection, 0, samples)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(exports))
	for n, e := range exports {
		ids[n] = e.ID
	}
	deliveries, err := r.DB.ListDeliveriesOf(r.Context(), ids)
	if err != nil {
		return nil, err
	}
	for _, e := range exports {
		one := api.RedeliverySample{UUID: e.Key, ReceivedAt: e.ReceivedAt}
		if d := model.LatestDelivery(deliveries[e.ID], j.Integration); d != nil {
			one.Outcome, one.Reason = d.Outcome, d.Reason
		}
		shown.Samples = append(shown.Samples, one)
	}
	return shown, nil
}

// toState changes the state of a redelivery from one of others. otherwise is the sentence for one that has none of
// these.
func toState(to model.RedeliveryState, otherwise string, from ...model.RedeliveryState) rest.Handler {
	return func(r *rest.Request) (any, error) {
		j, err := findRedelivery(r)
		if err != nil {
			return nil, err
		}
		changed := false
		err = r.Update(func(tx *store.Tx) (err error) {
			changed, err = tx.UpdateRedeliveryState(j.ID, to, "", r.Now(), from...)
			return err
		})
		if err == nil {
			j, err = findRedelivery(r)
		}
		switch {
		case err != nil:
			return nil, err
		case !changed && j.State != to: // else it was done before
			return nil, problem.Newf(http.StatusConflict, "this redelivery is %s: %s", j.State, otherwise)
		}
		startRedelivery(r, j)
		return shownRedelivery(r, j)
	}
}

var (
	pauseRedelivery = toState(model.RedeliveryPaused, "only one that is running can be paused",
		model.RedeliveryRunning)
	resumeRedelivery = toState(model.RedeliveryRunning, "only one that is paused can be resumed; ask for another one",
		model.RedeliveryPaused)
	cancelRedelivery = toState(model.RedeliveryCancelled, "it has come to all its exports",
		model.RedeliveryRunning, model.RedeliveryPaused)
)
