package manageapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/relay"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

var noUpstream = problem.New(http.StatusNotFound, "the applications of this tenant are relayed to no service")

// examineTime is how long the service may take to let the user sign in.
const examineTime = 20 * time.Second

func upstreamOf(u *model.ApplyUpstream) api.ApplyUpstream {
	return api.ApplyUpstream{URL: u.URL, User: u.User, Source: u.Source, Wait: int(u.Wait / time.Second),
		TryFor: int(u.TryFor / time.Hour), Keep: int(u.Keep / (24 * time.Hour)), Rate: u.Rate, Feed: u.Feed}
}

// upstreamTag returns the entity tag of a tenant's upstream, which changes with the tenant; empty: it has none.
func upstreamTag(t *model.Tenant) string {
	if t.ApplyUpstream == nil {
		return ""
	}
	return rest.Tag(&t.Row)
}

func showUpstream(r *rest.Request) (any, error) {
	if r.Tenant.ApplyUpstream == nil {
		return nil, noUpstream
	}
	r.ETag = upstreamTag(r.Tenant)
	return upstreamOf(r.Tenant.ApplyUpstream), nil
}

// putUpstream has the applications of a tenant relayed to a service, once that lets the user sign in.
func putUpstream(r *rest.Request) (any, error) {
	in, err := rest.Decode[api.ApplyUpstreamInput](r)
	if err != nil {
		return nil, err
	}
	t, err := storedTenant(r)
	if err == nil {
		err = r.Expect(upstreamTag(t))
	}
	if err != nil {
		return nil, err
	}
	u, err := describedUpstream(r, &in, t.ApplyUpstream)
	if err != nil {
		return nil, err
	}
	if err := examineUpstream(r, u); err != nil {
		return nil, problem.New(http.StatusUnprocessableEntity, err.Error())
	}
	if t.ApplyUpstream == nil {
		r.Status, r.Location = http.StatusCreated, "/v1/tenants/"+t.Name+"/apply-upstream"
	}
	if err := changeUpstream(r, t, u); err != nil {
		return nil, err
	}
	if t, err = r.ConfiguredTenant(); err != nil {
		return nil, err
	}
	r.ETag = upstreamTag(t)
	return upstreamOf(u), nil
}

// testUpstream has a service let a user sign in, and keeps nothing: that of the request, or without a body that which is set.
func testUpstream(r *rest.Request) (any, error) {
	u := r.Tenant.ApplyUpstream
	if len(r.Content) > 0 {
		in, err := rest.Decode[api.ApplyUpstreamInput](r)
		if err != nil {
			return nil, err
		}
		if u, err = describedUpstream(r, &in, u); err != nil {
			return nil, err
		}
	}
	if u == nil {
		return nil, noUpstream
	}
	if err := mayTest(r); err != nil {
		return nil, err
	}
	if err := examineUpstream(r, u); err != nil {
		return api.ApplyUpstreamTest{Reason: err.Error()}, nil
	}
	return api.ApplyUpstreamTest{SignedIn: true}, nil
}

// examineUpstream signs in at a service. The error is a sentence for people.
func examineUpstream(r *rest.Request, u *model.ApplyUpstream) error {
	if u.Damaged() {
		return errors.New("what is stored of apply_upstream is damaged: set it again")
	}
	ctx, cancel := context.WithTimeout(r.Context(), examineTime)
	defer cancel()
	return relay.Examine(ctx, r.Gateway.Config.Egress, u)
}

// describedUpstream returns the upstream that a request describes. A password that it leaves out stays; another address
// does not get it.
func describedUpstream(r *rest.Request, in *api.ApplyUpstreamInput, before *model.ApplyUpstream) (*model.ApplyUpstream, error) {
	u := &model.ApplyUpstream{URL: in.URL, User: in.User, Password: model.Secret(in.Password), Source: in.Source,
		Wait: model.DefaultUpstreamWait, TryFor: model.DefaultTryFor, Keep: model.DefaultKeep,
		Rate: *cmp.Or(in.Rate, &model.DefaultUpstreamRate), Feed: in.Feed}
	if in.Password == "" && before != nil && before.URL == u.URL && before.User == u.User {
		u.Password = before.Password
	}
	for _, one := range []struct {
		given *int
		unit  time.Duration
		to    *time.Duration
	}{{in.Wait, time.Second, &u.Wait}, {in.TryFor, time.Hour, &u.TryFor}, {in.Keep, 24 * time.Hour, &u.Keep}} {
		if one.given != nil {
			*one.to = time.Duration(min(max(*one.given, -1), 10_000)) * one.unit // what is over any limit does not overflow
		}
	}
	if u.URL != "" && u.User != "" && u.Password == "" {
		return nil, problem.New(http.StatusUnprocessableEntity, "password: it is needed where the address or the user is new")
	}
	return u, rest.Invalid(cmp.Or(u.Validate(), relay.ValidateURL(u.URL, r.Gateway.Config.Egress),
		relay.ValidateFeed(u.Feed, r.Gateway.Config.Egress)))
}

// deleteUpstream ends that the applications of a tenant are relayed.
func deleteUpstream(r *rest.Request) (any, error) {
	t, err := storedTenant(r)
	switch {
	case err != nil:
		return nil, err
	case t.ApplyUpstream == nil:
		return nil, cmp.Or[error](r.Expect(""), noUpstream)
	}
	if err := r.Expect(upstreamTag(t)); err != nil {
		return nil, err
	}
	return nil, changeUpstream(r, t, nil)
}

func changeUpstream(r *rest.Request, t *model.Tenant, u *model.ApplyUpstream) error {
	err := r.Update(func(tx *store.Tx) error {
		next := *t
		next.ApplyUpstream = u
		return tx.UpsertTenant(&next, r.Gateway.Now())
	})
	if err == nil {
		err = r.Refresh()
	}
	return err
}
