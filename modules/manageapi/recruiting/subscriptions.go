package recruiting

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// subscriptions serves the addresses of a service's own systems that are sent what changes. Whoever reads them sees neither
// the secret nor more of the URL than its host.
var subscriptions = rest.Resource[*model.EventSubscription]{
	Path: rest.InTenant + "/event-subscriptions", ID: "id", Kind: "event-subscription", Reader: model.Viewer, Writer: model.Admin,
	List: func(r *rest.Request) ([]*model.EventSubscription, string, error) {
		return r.DB.ListSubscriptions(r.Context(), r.Tenant.Name, r.Page.Rows())
	},
	View: rest.ViewAs(subscriptionOf), Put: putSubscription, Drop: deleteSubscription,
}

var noSubscription = problem.New(http.StatusNotFound, "this tenant has no subscription of that name")

func subscriptionOf(s *model.EventSubscription) api.EventSubscription {
	host := ""
	if u, err := url.Parse(s.URL); err == nil {
		host = u.Host
	}
	return api.EventSubscription{ID: s.ID, Tenant: s.Tenant, Version: s.Version, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
		Host: host, Events: s.Events, Disabled: s.Disabled, Reason: s.Reason}
}

func findSubscription(r *rest.Request) (*model.EventSubscription, error) {
	s, err := r.DB.Subscription(r.Context(), r.Tenant.Name, r.PathValue("id"))
	return s, rest.NotFound(err, noSubscription)
}

// showSubscription shows a subscription, and whether it fails.
func showSubscription(r *rest.Request) (any, error) {
	s, err := findSubscription(r)
	if err != nil {
		return nil, err
	}
	p, err := r.DB.SubscriptionProgress(r.Context(), s.Tenant, s.ID)
	if err != nil {
		return nil, rest.NotFound(err, noSubscription)
	}
	view := subscriptionOf(s)
	view.FailingSince = p.FailingSince
	r.ETag = rest.Tag(&s.Row, view.FailingSince.String())
	return view, nil
}

// putSubscription makes a subscription, which is sent what changes from now on, or changes one.
func putSubscription(r *rest.Request) (any, error) {
	in, err := rest.Decode[api.EventSubscriptionInput](r)
	if err != nil {
		return nil, err
	}
	var saved model.EventSubscription
	err = r.Update(func(tx *store.Tx) error {
		before, there, err := tx.Subscription(r.Tenant.Name, r.PathValue("id"))
		if err != nil {
			return err
		}
		s := model.EventSubscription{Row: model.Row{Tenant: r.Tenant.Name}, ID: r.PathValue("id")}
		if there {
			s = *before
		}
		if err := r.Expect(rest.Tag(&s.Row)); err != nil {
			return err
		}
		former := model.Secret(s.Secret)
		set(&s.URL, in.URL)
		set(&s.Secret, in.Secret)
		set(&s.Events, in.Events)
		if in.Disabled != nil {
			s.Disabled, s.Reason = *in.Disabled, ""
		}
		if s.Events == nil {
			s.Events = []model.Change{}
		}
		if err := rest.Invalid(s.Validate()); err != nil {
			return err
		}
		if err := cmp.Or(r.Gateway.Config.Egress.ValidateURL(s.URL), model.Secret(s.Secret).ValidateNew(former)); err != nil {
			return problem.New(http.StatusUnprocessableEntity, err.Error())
		}
		saved = s
		return tx.UpsertSubscription(&saved, r.Now())
	})
	if err != nil {
		return nil, err
	}
	if err := r.DB.ReadSubscribed(r.Context()); err != nil {
		return nil, err
	}
	if saved.Version == 1 {
		r.Created("/v1/tenants", saved.Tenant, "event-subscriptions", saved.ID)
	}
	r.ETag = rest.Tag(&saved.Row)
	return subscriptionOf(&saved), nil
}

func set[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}

func deleteSubscription(r *rest.Request) (any, error) {
	return nil, r.Update(func(tx *store.Tx) error {
		s, there, err := tx.Subscription(r.Tenant.Name, r.PathValue("id"))
		if err != nil || !there {
			return cmp.Or[error](err, noSubscription)
		}
		if err := r.Expect(rest.Tag(&s.Row)); err != nil {
			return err
		}
		return tx.DeleteSubscription(s)
	})
}

// listEvents lists what changed, the oldest first, after a cursor.
func listEvents(r *rest.Request) (any, error) {
	after, err := strconv.ParseInt(cmp.Or(r.Page.After, "0"), 10, 64)
	if err != nil || after < 0 {
		return nil, rest.NoCursor()
	}
	all, err := r.DB.ListEvents(r.Context(), r.Tenant.Name, after, r.Page.Limit+1)
	if err != nil {
		return nil, err
	}
	last, untold, err := r.DB.EventPositions(r.Context(), r.Tenant.Name) // after the list: they only rise
	switch {
	case err != nil:
		return nil, err
	case after > last:
		return nil, problem.New(http.StatusGone, "this cursor is of another database, or of a later state of this one: "+
			"begin again without it").WithCode("cursor-unknown")
	case r.Page.After != "" && after < untold:
		return nil, problem.New(http.StatusGone, "events after this cursor were deleted: they are kept for 30 days; begin again with "+
			"the lists of what there is").WithCode("cursor-expired")
	}
	more := len(all) > r.Page.Limit
	if more {
		all = all[:r.Page.Limit]
	}
	l := api.EventList{Items: make([]api.Event, len(all))}
	end := max(after, untold)
	for n, e := range all {
		l.Items[n], end = api.EventOf(e), e.Position
	}
	cursor := r.Page.Cursor(strconv.FormatInt(end, 10))
	if more {
		l.Next = cursor
	}
	l.Resume = *cursor
	return l, nil
}
