package console

import (
	"cmp"
	"net/url"

	"github.com/hiregate/hiregate/internal/api"
)

// pageOf gets the page of a list that the visitor asks for. more is the query of the page after it, with the named
// parameters of the visitor; empty on the last page.
func pageOf[T any](
	v *visitor, path string, query url.Values, into *api.List[T], keep ...string,
) (more string, err error) {
	asked := v.URL.Query()
	if cursor := asked.Get("cursor"); cursor != "" {
		query.Set("cursor", cursor)
	}
	if err := v.get(path, query, into); err != nil || into.Next == nil {
		return "", err
	}
	return after(asked, *into.Next, keep), nil
}

// after returns the query of the page after a cursor, which keeps some parameters of one.
func after(asked url.Values, cursor string, keep []string) string {
	next := url.Values{"cursor": {cursor}}
	for _, name := range keep {
		if value := asked.Get(name); value != "" {
			next.Set(name, value)
		}
	}
	return next.Encode()
}

// tenantList is a list that each tenant has; without a tenant, the tenants to choose from.
type tenantList[T any] struct {
	api.List[T]
	Tenant  string
	Tenants []api.Tenant
	More    string // the query of the next page; empty: this is the last one
}

// ofTenant gets a page of such a list: of the tenant that is asked for, or the visitor's, with the filters that are asked
// for.
func ofTenant[T any](v *visitor, kind string, filters ...string) (shown tenantList[T], err error) {
	shown.Tenant = cmp.Or(v.URL.Query().Get("tenant"), v.person.Tenant)
	if shown.Tenant == "" {
		var all api.List[api.Tenant]
		shown.More, err = pageOf(v, "/v1/tenants", url.Values{}, &all)
		shown.Tenants = all.Items
		return shown, err
	}
	query := url.Values{}
	for _, name := range filters {
		if value := v.URL.Query().Get(name); value != "" {
			query.Set(name, value)
		}
	}
	shown.More, err = pageOf(v, at("tenants", shown.Tenant, kind), query, &shown.List, append(filters, "tenant")...)
	return shown, err
}
