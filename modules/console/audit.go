package console

import (
	"net/http"
	"net/url"
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// entry is who did what, as the management API has it.
type entry struct {
	At time.Time `json:"at"`
	model.Author
	Action string `json:"action"`
	Tenant string `json:"tenant"`
	Object string `json:"object"`
}

// listAudit shows who did what and when, the newest first.
func listAudit(v *visitor) error {
	shown := struct {
		listOf[entry]
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
	if shown.More, err = pageOf(v, "/v1/audit", query, &shown.listOf, names...); err != nil {
		return err
	}
	return v.page(http.StatusOK, "audit", "Audit", &shown)
}
