package manageapi

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// addressed is a tenant with the address at which its exports come in; empty: that is not known.
type addressed struct {
	*model.Tenant
	inbound string
}

func addressOf(r *rest.Request, t *model.Tenant) addressed {
	shown := addressed{Tenant: withRetention(r, t)}
	if r.Gateway.InboundURL != nil {
		shown.inbound = r.Gateway.InboundURL(t.Name)
	}
	return shown
}

func tenantOf(t addressed) api.Tenant {
	shown := api.Tenant{
		InboundURL: t.inbound, Source: t.Source, ID: t.Name, Name: t.Title, Declared: t.Row.Version == 0, Secrets: len(t.Secrets), Invalid: api.RefuseInvalid,
		Deviations: t.Deviations.Word(), Zone: t.Zone, Labels: t.Labels, KeepApplications: int(t.KeepApplications / (24 * time.Hour)),
		Version: t.Row.Version, CreatedAt: t.Row.CreatedAt, UpdatedAt: t.Row.UpdatedAt,
	}
	if t.Quarantine {
		shown.Invalid = api.QuarantineInvalid
	}
	shown.Rate = t.Rate
	for _, i := range t.Integrations {
		shown.Integrations = append(shown.Integrations, i.Name)
	}
	return shown
}

// visibleTenants returns the tenants that the caller sees, by name.
func visibleTenants(r *rest.Request) []*model.Tenant {
	var all []*model.Tenant
	for t := range r.Gateway.Config.All() {
		if r.Caller.Sees(t.Name) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *model.Tenant) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// tenants serves the tenants of the Caddyfile and of the database.
var tenants = rest.Resource[addressed]{
	Path: "/v1/tenants", ID: "tenant", Kind: "tenant", Scope: rest.Removed, Reader: model.Viewer, Writer: model.Admin,
	Filters: []string{"label"},
	List: func(r *rest.Request) (all []addressed, next string, err error) {
		labelled, err := labelledTenants(r)
		if err != nil {
			return nil, "", err
		}
		rows, next := rest.PageOf(r.Page, labelled, func(t *model.Tenant) string { return t.Name })
		for _, t := range rows {
			all = append(all, addressOf(r, t))
		}
		return all, next, nil
	},
	Find: func(r *rest.Request) (addressed, error) {
		t, err := r.ConfiguredTenant()
		if err != nil {
			return addressed{}, err
		}
		return addressOf(r, t), nil
	}, View: rest.ViewAs(tenantOf),
	Tag: func(t addressed) string { return rest.Tag(&t.Row) },
	Put: putTenant,
}

// withRetention returns a tenant with for how long its job applications are kept: stored ones as the configuration says of all.
func withRetention(r *rest.Request, t *model.Tenant) *model.Tenant {
	shown := *t
	shown.KeepApplications = r.Gateway.Config.KeepApplications(t)
	return &shown
}

// describedTenant returns the tenant that a request describes. Secrets that it leaves out stay. The error says which
// rule the tenant breaks.
func describedTenant(in *api.TenantInput, name string, before *model.Tenant) (t *model.Tenant, err error) {
	t = &model.Tenant{Name: name, Title: in.Name, Zone: in.Zone, Labels: in.Labels}
	if before != nil {
		t.Row, t.Secrets, t.SecretEnds, t.ApplyUpstream = before.Row, before.Secrets, before.SecretEnds, before.ApplyUpstream
	}
	t.Rate = (*model.Rate)(in.Rate)
	var short error
	if in.Secrets != nil {
		former := t.Secrets
		t.Secrets = nil
		for _, s := range *in.Secrets {
			t.Secrets = append(t.Secrets, model.Secret(s))
			short = cmp.Or(short, model.Secret(s).ValidateNew(former...))
		}
	}
	t.Quarantine, err = model.ParseInvalid(in.Invalid)
	var unknown error
	t.Deviations, unknown = model.ParseDeviations(in.Deviations)
	return t, rest.Invalid(cmp.Or(err, unknown, t.Validate(), short))
}

// putTenant makes a tenant, or changes it. A new one does not get what another one of its name left behind, unless
// that is asked for.
func putTenant(r *rest.Request) (any, error) {
	in, err := rest.Decode[api.TenantInput](r)
	if err != nil {
		return nil, err
	}
	name := r.PathValue("tenant")
	before, err := storedTenant(r)
	if err != nil && !rest.IsNotFound(err) {
		return nil, err
	}
	if err := checkLabels(r, &in, before); err != nil {
		return nil, err
	}
	t, err := describedTenant(&in, name, before)
	if err == nil {
		err = r.Expect(rest.Tag(&t.Row))
		if err != nil && before != nil && r.Header.Get("If-None-Match") != "" {
			err = taken(before)
		}
	}
	if err != nil {
		return nil, err
	}
	made := before == nil
	err = r.Update(func(tx *store.Tx) error {
		if made && !in.Restore {
			remains, err := tx.ListRemains(name)
			if err != nil {
				return err
			}
			if len(remains) > 0 {
				return inherits(remains)
			}
		}
		next := *t
		return tx.UpsertTenant(&next, r.Gateway.Now())
	})
	if err == nil {
		err = r.Refresh()
	}
	if err != nil {
		return nil, err
	}
	if t, err = r.ConfiguredTenant(); err != nil {
		return nil, err
	}
	if made {
		r.Created("/v1/tenants", name)
	}
	r.ETag = rest.Tag(&t.Row)
	return tenantOf(addressOf(r, t)), nil
}

// checkLabels refuses new labels to those who see the tenant alone: with labels, people get a role there. Where they leave
// labels out, these stay.
func checkLabels(r *rest.Request, in *api.TenantInput, before *model.Tenant) error {
	if r.Caller.Tenant == "" {
		return nil
	}
	var labels model.Labels
	if before != nil {
		labels = before.Labels
	}
	if in.Labels == nil {
		in.Labels = labels
	}
	if !maps.Equal(in.Labels, labels) {
		return problem.New(http.StatusForbidden, "labels give people a role at a tenant, so those who administer all tenants change "+
			"them: leave labels out, and they stay")
	}
	return nil
}

// taken refuses to make a tenant under the name of another one.
func taken(by *model.Tenant) error {
	return problem.Newf(http.StatusPreconditionFailed, "it is there already: %s has had the identifier %s since %s; choose another "+
		"one, or leave If-None-Match out to change that tenant", cmp.Or(by.Title, "a tenant without a name"), by.Name,
		by.Row.CreatedAt.UTC().Format(time.DateOnly))
}

// inherits refuses a new tenant whose name was another one's before.
func inherits(remains []string) error {
	return problem.New(http.StatusConflict,
		"a tenant of this name was removed, and of it are kept: "+strings.Join(remains, ", ")+
			`. Choose another name, or bring that tenant back with all of it: send "restore":true (hiregate tenant set --restore)`)
}

// deleteTenant removes a tenant that has no integration any more, with its users of the Apply API, and revokes the API
// keys that open only this tenant. Its exports stay, and so does the rest: the answer says so.
func deleteTenant(r *rest.Request) (any, error) {
	t, err := storedTenant(r)
	if rest.IsNotFound(err) {
		err = cmp.Or(r.Expect(""), err)
	}
	if err != nil {
		return nil, err
	}
	if err := r.Expect(rest.Tag(&t.Row)); err != nil {
		return nil, err
	}
	if len(t.Integrations) > 0 {
		return nil, problem.New(http.StatusConflict, "the tenant has integrations: delete those first")
	}
	force, err := forced(r)
	if err != nil {
		return nil, err
	}
	var remains []string
	err = r.Update(func(tx *store.Tx) (err error) {
		if !force {
			if err := noneUndelivered(tx, t); err != nil {
				return err
			}
		}
		if err := tx.DeleteTenant(t); err != nil {
			return err
		}
		if err := tx.DeleteSubscriptionsOfTenant(t.Name); err != nil {
			return err
		}
		if err := tx.DeleteAPIUsersOfTenant(t.Name); err != nil {
			return err
		}
		if err := tx.RevokeAPIKeysOfTenant(t.Name, r.Gateway.Now()); err != nil {
			return err
		}
		remains, err = tx.ListRemains(t.Name)
		return err
	})
	if err == nil {
		err = r.Refresh()
	}
	if err != nil {
		return nil, err
	}
	r.Status = http.StatusOK
	return api.TenantRemoval{Kept: slices.Concat([]string{}, remains)}, nil
}

// noneUndelivered refuses to delete a tenant whose applications are not all at its service: nobody would send them.
func noneUndelivered(tx *store.Tx, t *model.Tenant) error {
	n, err := tx.CountUndelivered(t.Name)
	if err != nil || n == 0 {
		return err
	}
	return problem.Newf(http.StatusConflict, "applications to the tenant are not at its service, and wait here: %d; have them sent, "+
		"resolve or erase them first (hiregate submission list --tenant %s), or force it (--force, force=true): those that wait are "+
		"not sent then", n, t.Name)
}

// storedTenant returns the tenant that the path names, as it is in the database now, if it can be changed.
func storedTenant(r *rest.Request) (*model.Tenant, error) {
	if err := r.Refresh(); err != nil {
		return nil, err
	}
	t, err := r.ConfiguredTenant()
	if err != nil {
		return nil, err
	}
	return t, changeable(t)
}

// changeable refuses to change a tenant of the Caddyfile.
func changeable(t *model.Tenant) error {
	if t.Row.Version == 0 {
		return problem.New(http.StatusConflict,
			"this tenant is declared in the gateway's Caddyfile: change it there, and reload")
	}
	return nil
}
