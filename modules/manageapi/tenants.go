package manageapi

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

func tenantOf(t *model.Tenant) api.Tenant {
	shown := api.Tenant{
		ID: t.Name, Name: t.Title, Declared: t.Row.Version == 0, Secrets: len(t.Secrets), Invalid: api.RefuseInvalid,
		Version: t.Row.Version, CreatedAt: t.Row.CreatedAt, UpdatedAt: t.Row.UpdatedAt,
	}
	if t.Quarantine {
		shown.Invalid = api.QuarantineInvalid
	}
	if t.Rate != nil {
		shown.Rate = &api.Rate{PerSecond: t.Rate.PerSecond, Burst: t.Rate.Burst}
	}
	for _, i := range t.Integrations {
		shown.Integrations = append(shown.Integrations, i.Name)
	}
	return shown
}

// tenants are those that the caller sees, by name.
func (r *request) tenants() []*model.Tenant {
	var all []*model.Tenant
	for t := range r.gateway.Config.All() {
		if r.caller.sees(t.Name) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *model.Tenant) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// tenants are those of the Caddyfile and of the database.
var tenants = resource[*model.Tenant]{
	path: "/v1/tenants", id: "tenant", kind: "tenant", scope: removed, reader: model.Viewer, writer: model.Admin,
	list: func(r *request) ([]*model.Tenant, string, error) {
		rows, next := part(r.page, r.tenants(), func(t *model.Tenant) string { return t.Name })
		return rows, next, nil
	},
	find: (*request).configuredTenant, view: as(tenantOf), tag: func(t *model.Tenant) string { return tag(&t.Row) },
	put: putTenant, drop: deleteTenant,
}

// describedTenant returns the tenant that a request describes. Secrets that it leaves out stay. The error says which rule
// the tenant breaks.
func describedTenant(in *api.TenantInput, name string, before *model.Tenant) (t *model.Tenant, err error) {
	t = &model.Tenant{Name: name, Title: in.Name}
	if before != nil {
		t.Row, t.Secrets = before.Row, before.Secrets
	}
	if in.Rate != nil {
		t.Rate = &model.Rate{PerSecond: in.Rate.PerSecond, Burst: in.Rate.Burst}
	}
	if in.Secrets != nil {
		t.Secrets = nil
		for _, s := range *in.Secrets {
			t.Secrets = append(t.Secrets, model.Secret(s))
		}
	}
	t.Quarantine, err = model.ParseInvalid(in.Invalid)
	return t, invalid(cmp.Or(err, t.Validate()))
}

// putTenant makes a tenant, or changes it. A new one does not get what another one of its name left behind, unless
// that is asked for.
func putTenant(r *request) (any, error) {
	in, err := decode[api.TenantInput](r)
	if err != nil {
		return nil, err
	}
	name := r.PathValue("tenant")
	before, err := r.storedTenant()
	if err != nil && !missing(err) {
		return nil, err
	}
	t, err := describedTenant(&in, name, before)
	if err == nil {
		err = r.expect(tag(&t.Row))
	}
	if err != nil {
		return nil, err
	}
	made := before == nil
	err = r.write(func(tx *store.Tx) error {
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
		return tx.UpsertTenant(&next, r.gateway.Now())
	})
	if err == nil {
		err = r.refresh()
	}
	if err != nil {
		return nil, err
	}
	if t, err = r.configuredTenant(); err != nil {
		return nil, err
	}
	if made {
		r.created("/v1/tenants", name)
	}
	r.etag = tag(&t.Row)
	return tenantOf(t), nil
}

// inherits refuses a new tenant whose name was another one's before.
func inherits(remains []string) error {
	return problem.New(http.StatusConflict,
		"a tenant of this name was removed, and of it are kept: "+strings.Join(remains, ", ")+
			`. Choose another name, or bring that tenant back with all of it: send "restore":true (hiregate tenant set --restore)`)
}

// deleteTenant removes a tenant that has no integration any more, with its users of the Apply API, and revokes the API
// keys that open it alone. Its exports stay, and so does the rest of what it had: the answer says so.
func deleteTenant(r *request) (any, error) {
	t, err := r.storedTenant()
	if missing(err) {
		err = cmp.Or(r.expect(""), err)
	}
	if err != nil {
		return nil, err
	}
	if err := r.expect(tag(&t.Row)); err != nil {
		return nil, err
	}
	if len(t.Integrations) > 0 {
		return nil, problem.New(http.StatusConflict, "the tenant has integrations: delete those first")
	}
	var remains []string
	err = r.write(func(tx *store.Tx) (err error) {
		if err := tx.DeleteTenant(t); err != nil {
			return err
		}
		if err := tx.DeleteAPIUsersOfTenant(t.Name); err != nil {
			return err
		}
		if err := tx.RevokeAPIKeysOfTenant(t.Name, r.gateway.Now()); err != nil {
			return err
		}
		remains, err = tx.ListRemains(t.Name)
		return err
	})
	if err == nil {
		err = r.refresh()
	}
	if err != nil {
		return nil, err
	}
	r.status = http.StatusOK
	return api.TenantRemoval{Kept: slices.Concat([]string{}, remains)}, nil
}

// storedTenant returns the tenant that the path names, as the database has it now, where it can be changed.
func (r *request) storedTenant() (*model.Tenant, error) {
	if err := r.refresh(); err != nil {
		return nil, err
	}
	t, err := r.configuredTenant()
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

// refresh reads the tenants and integrations again, if they changed.
func (r *request) refresh() error {
	if err := r.gateway.Runtime.Directory.Refresh(r.Context()); err != nil {
		return err
	}
	return nil
}
