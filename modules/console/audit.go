package console

import (
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// Actor returns the words for an actor without a name.
func (t *texts) Actor(id string) string {
	kind, subject, _ := strings.Cut(id, ":")
	if t.has("actor_"+kind) && (kind != "console" || subject == "") { // a person without a name stays an id
		return t.Word("actor", kind)
	}
	return id
}

// ObjectPath returns the address of what an entry is about; empty: it has no page, or not for the visitor.
func (p view) ObjectPath(tenant, object string) template.URL {
	kind, id, _ := strings.Cut(object, "/")
	switch {
	case id == "":
	case kind == "exports" && tenant != "":
		return p.ExportPath(tenant, id)
	case strings.Contains(id, "/"): // of a part of it
	case kind == "integrations" && tenant != "":
		return p.Path("tenants", tenant, kind, id)
	case kind == "redeliveries" && tenant != "", kind == "candidates" && tenant != "" && p.May.Recruit:
		return p.Path(kind, tenant, id)
	case kind == "tenants":
		return p.Path(kind, id)
	case kind == "users" && administering(p):
		return p.Path("people", id)
	case kind == "oauth-clients" && administering(p):
		return p.Path("applications", id)
	}
	return ""
}

// listAudit shows who did what and when, the newest first.
func listAudit(v *visitor) error {
	shown := struct {
		api.List[model.AuditEntry]
		Query   map[string]string
		Actions []string
		More    string
	}{Query: map[string]string{}, Actions: model.AuditActions}
	asked, query := v.URL.Query(), url.Values{}
	names := []string{"tenant", "action", "object"}
	for _, name := range names {
		shown.Query[name] = asked.Get(name)
		if asked.Get(name) != "" {
			query.Set(name, asked.Get(name))
		}
	}
	var err error
	if shown.More, err = pageOf(v, "/v1/audit", query, &shown.List, names...); err != nil {
		return err
	}
	return v.page(http.StatusOK, "audit", "Audit", &shown)
}
