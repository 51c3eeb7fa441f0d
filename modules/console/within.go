package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/session"
)

// inPath begins the addresses of pages within one tenant. People whose role is of the tenants with some labels work in one of
// these at a time: each of their requests is one of somebody who sees that tenant alone.
const inPath = "/in/{in}"

// within returns the patterns of a route within a tenant.
func (p route) within() []string {
	method, path, ok := strings.Cut(p.pattern, " ")
	if !ok {
		return []string{inPath, inPath + "/"}
	}
	if path == "/{$}" {
		return []string{method + " " + inPath, method + " " + inPath + path}
	}
	return []string{method + " " + inPath + path}
}

// startWithin reports whether a path is that of the start page within a tenant, with the slash that other pages don't have.
func startWithin(path string) bool {
	tenant, ok := strings.CutPrefix(path, "/in/")
	return ok && strings.IndexByte(tenant, '/') == len(tenant)-1 && len(tenant) > 1
}

// standing holds who somebody is in a request.
type standing struct {
	model.Person
	duties duty
	role   string // of Roles; empty: they came by a link
	mount  string // begins the addresses of their pages
	grants grants
}

// standingOf returns who somebody is in a request: at the tenant that its address names, or at all that they see.
func (c *Console) standingOf(s *caller, r *http.Request) (standing, error) {
	in := r.PathValue("in")
	if p := s.Portal; p != nil {
		if in != "" && in != p.Tenant {
			return standing{}, errNotFound
		}
		return standing{Person: model.Person{ID: "portal:" + p.ID, Tenant: p.Tenant, Role: model.Operator,
			Answers: portalDuties(p)&answers != 0}, duties: portalDuties(p), mount: c.mount}, nil
	}
	all := c.grantsOf(&s.Session)
	if all.first == nil && len(all.labelled) == 0 {
		return standing{}, errStranger
	}
	of := func(g *Grant, tenant, mount string) standing {
		role := Roles[g.Role]
		return standing{Person: model.Person{ID: "console:" + s.Subject, Name: s.Name, Email: s.Email, Tenant: tenant,
			Role: role.API, Answers: role.duties&answers != 0, Signatures: role.duties&operates != 0},
			duties: role.duties, role: g.Role, mount: mount, grants: all}
	}
	var g *Grant
	name := cmp.Or(in, r.PathValue("tenant"), r.URL.Query().Get("tenant"))
	if t, known := c.Gateway.Config.Tenant(name); known {
		g = all.at(t)
	}
	switch {
	case g != nil && (g != all.first || in != ""):
		return of(g, name, c.mount+pathOf("in", name)), nil
	case all.first != nil && in == "":
		return of(all.first, all.first.Tenant, c.mount), nil
	case name != "":
		return standing{}, errNotFound
	}
	return standing{grants: all}, errNowhere
}

// toFirst leads people who see the tenants with some labels to the first of these.
func (c *Console) toFirst(w http.ResponseWriter, r *http.Request, all grants) error {
	seen := c.tenantsOf(all)
	switch {
	case len(seen) == 0:
		return errNoClient
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return errNotFound
	}
	to := c.mount + pathOf("in", seen[0].Name) + strings.TrimSuffix(r.URL.EscapedPath(), "/")
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	session.Redirect(w, r, to)
	return nil
}

// tenantsOf returns the tenants at which somebody has a role, by name.
func (c *Console) tenantsOf(all grants) []*model.Tenant {
	return slices.SortedFunc(func(yield func(*model.Tenant) bool) {
		for t := range c.Gateway.Config.All() {
			if all.at(t) != nil && !yield(t) {
				return
			}
		}
	}, func(a, b *model.Tenant) int { return cmp.Compare(a.Name, b.Name) })
}

// chooses reports whether the visitor works in one of several tenants.
func (v *visitor) chooses() bool { return len(v.grants.labelled) > 0 }

// tenantsWithin gets a page of the tenants between which the visitor chooses, as each shows itself to them.
func (v *visitor) tenantsWithin(shown *api.List[api.Tenant]) (more string, err error) {
	asked, labels := v.URL.Query(), model.Labels{}
	if label := asked.Get("label"); label != "" {
		if labels, err = model.ParseLabels([]string{label}); err != nil {
			return "", &failure{status: http.StatusBadRequest, Text: "LabelsWrong", Detail: err.Error()}
		}
	}
	for _, t := range v.console.tenantsOf(v.grants) {
		switch {
		case t.Name <= asked.Get("cursor") || !t.Labels.Has(labels):
			continue
		case len(shown.Items) == maxTenants:
			return after(asked, shown.Items[maxTenants-1].ID, []string{"label"}), nil
		}
		there := *v
		there.person.Tenant, there.person.Role = t.Name, Roles[v.grants.at(t).Role].API
		var one api.Tenant
		if err := there.get(at("tenants", t.Name), nil, &one); err != nil {
			return "", err
		}
		shown.Items = append(shown.Items, one)
	}
	return "", nil
}
