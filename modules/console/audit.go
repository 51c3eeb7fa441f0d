package console

import (
	"net/http"
	"net/url"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// listAudit shows who did what and when, the newest first.
func listAudit(v *visitor) error {
	shown := struct {
		api.List[model.AuditEntry]
		Query map[string]string
		More  string
	}{Query: map[string]string{}}
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
