package console

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
)

// Bounds of a search, besides maxTenants, the number of tenants that it looks at.
const (
	maxSought = 1024 // bytes
	maxHits   = 20
	minPrefix = 8 // characters of a UUID
)

// hit is a thing that was found.
type hit struct {
	Kind   string // the end of the key of its text: export, exports, candidate, tenant or integration
	Tenant string
	Name   string // of the thing within its tenant; of a tenant: empty
	Path   string // of its page, below the console's address
}

// hits is the template data of a search.
type hits struct {
	Items []hit
	More  bool // there may be more
}

func (h *hits) add(one hit) {
	switch {
	case slices.Contains(h.Items, one):
	case len(h.Items) == maxHits:
		h.More = true
	default:
		h.Items = append(h.Items, one)
	}
}

// find leads to what has an id or a name, or lists what has. It is a POST: what is sought may name a person or be a
// secret, such as a receipt, and is in no address.
func find(v *visitor) error {
	sought := strings.TrimSpace(v.PostFormValue("q"))
	if len(sought) > maxSought {
		sought = ""
	}
	if to := v.console.ownAddress(sought); to != "" {
		v.mount = v.console.mount
		return v.redirect(to)
	}
	var found hits
	for _, seek := range []func(*visitor, string, *hits) error{seekReceipt, seekUUID, seekNames} {
		if sought == "" || len(found.Items) > 0 {
			break
		}
		if err := seek(v, sought, &found); err != nil {
			return err
		}
	}
	switch {
	case len(found.Items) == 0:
		return v.page(http.StatusNotFound, "find", "NoSuchThing", &found)
	case len(found.Items) == 1 && !found.More:
		return v.redirect(found.Items[0].Path)
	}
	return v.page(http.StatusOK, "find", "FoundSeveral", &found)
}

// ownAddress returns the path and query of a page of this console, from its address; empty: it is none.
func (c *Console) ownAddress(address string) string {
	for _, begin := range []string{c.URL, c.mount} {
		rest, ok := strings.CutPrefix(address, begin)
		if !ok || rest != "" && rest[0] != '/' && rest[0] != '?' || begin == "" {
			continue
		}
		u, err := url.Parse(rest)
		if err == nil && u.Host == "" && path.Clean("/"+u.Path) == "/"+strings.TrimPrefix(u.Path, "/") {
			u.Fragment = ""
			return u.String()
		}
	}
	return ""
}

// seekReceipt finds the export that a receipt was given for.
func seekReceipt(v *visitor, sought string, found *hits) error {
	e, err := v.console.db().ExportByReceipt(v.Context(), strings.ToLower(sought))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return v.seekExport(e.Tenant, e.Key, found)
}

// seekUUID finds exports by their UUID in any case, alone or as tenant/uuid, or by the first characters of it.
func seekUUID(v *visitor, sought string, found *hits) error {
	if tenant, uuid, ok := strings.Cut(sought, "/"); ok {
		for _, one := range spellings(uuid) {
			if err := v.seekExport(tenant, one, found); err != nil {
				return err
			}
		}
	}
	if len(sought) < minPrefix || !webhook.ValidUUID(sought) {
		return nil
	}
	for _, one := range spellings(sought) {
		var list api.List[export]
		if err := v.get("/v1/exports", url.Values{"uuid": {one}, "limit": {strconv.Itoa(maxHits + 1)}}, &list); err != nil {
			return err
		}
		for _, e := range list.Items {
			found.add(hit{"export", e.Tenant, e.ID, exportPath(e.Tenant, e.ID)})
		}
	}
	return nil
}

// spellings returns a UUID as it was written, in small letters and in capitals.
func spellings(uuid string) []string {
	return slices.Compact([]string{uuid, strings.ToLower(uuid), strings.ToUpper(uuid)})
}

// seekNames finds a tenant, integrations, and in each tenant exports by a short UUID, a candidate, or the exports
// about one. A name behind a tenant and a slash is looked for in that tenant.
func seekNames(v *visitor, sought string, found *hits) error {
	var all api.List[api.Tenant]
	if err := v.get("/v1/tenants", url.Values{"limit": {strconv.Itoa(maxTenants)}}, &all); err != nil {
		return err
	}
	found.More = found.More || all.Next != nil
	within, name, nested := strings.Cut(sought, "/")
	if nested && slices.IndexFunc(all.Items, func(t api.Tenant) bool { return t.ID == within }) < 0 {
		var t api.Tenant
		if err := v.get(at("tenants", within), nil, &t); err == nil {
			all.Items = []api.Tenant{t}
		}
	}
	for _, t := range all.Items {
		if strings.EqualFold(t.ID, sought) || t.Name != "" && strings.EqualFold(t.Name, sought) {
			found.add(hit{"tenant", t.ID, "", pathOf("tenants", t.ID)})
		}
		names := []string{sought}
		if nested && t.ID == within {
			names = append(names, name)
		}
		for _, one := range names {
			for _, integration := range t.Integrations {
				if strings.EqualFold(integration, one) {
					found.add(hit{"integration", t.ID, integration, pathOf("tenants", t.ID, "integrations", integration)})
				}
			}
			if err := v.seekWithin(t.ID, one, found); err != nil {
				return err
			}
		}
	}
	return nil
}

// seekWithin finds in a tenant an export by its whole UUID, and a candidate, or else the exports about one.
func (v *visitor) seekWithin(tenant, id string, found *hits) error {
	if len(id) < minPrefix {
		if err := v.seekExport(tenant, id, found); err != nil {
			return err
		}
	}
	if v.duties&recruits != 0 {
		err := v.get(at("tenants", tenant, "candidates", id), nil, nil)
		if err == nil {
			found.add(hit{"candidate", tenant, id, profile(tenant, id)})
		}
		if !errors.Is(err, errNotFound) {
			return err
		}
	}
	var about api.List[export]
	err := v.get(at("tenants", tenant, "exports"), url.Values{"candidate": {id}, "limit": {"1"}}, &about)
	if err == nil && len(about.Items) > 0 {
		to := "/exports?" + url.Values{"tenant": {tenant}, "candidate": {id}}.Encode()
		found.add(hit{"exports", tenant, id, to})
	}
	return ignoreNotFound(err)
}

// seekExport finds an export by its tenant and its whole UUID.
func (v *visitor) seekExport(tenant, uuid string, found *hits) error {
	err := v.get(exportAt(tenant, uuid), nil, nil)
	if err == nil {
		found.add(hit{"export", tenant, uuid, exportPath(tenant, uuid)})
	}
	return ignoreNotFound(err)
}

// ignoreNotFound returns an error, unless it says that there is no such thing, or that no such thing can be.
func ignoreNotFound(err error) error {
	var f *failure
	if errors.Is(err, errNotFound) || errors.As(err, &f) && f.status == http.StatusBadRequest {
		return nil
	}
	return err
}
