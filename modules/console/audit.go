package console

import (
	"net/http"
	"net/url"
	"time"
)

// entry is who did what, as the management API has it.
type entry struct {
	At     time.Time `json:"at"`
	Actor  string    `json:"actor"`
	Action string    `json:"action"`
	Tenant string    `json:"tenant"`
	Object string    `json:"object"`
}

// listAudit shows who did what and when, the newest first.
func listAudit(v *visitor) error {
	shown := struct {
		listOf[entry]
		Query map[string]string
		More  string
	}{Query: map[string]string{}}
	asked, query := v.URL.Query(), url.Values{}
	for _, name := range []string{"tenant", "action", "object", "cursor"} {
		shown.Query[name] = asked.Get(name)
		if asked.Get(name) != "" {
			query.Set(name, asked.Get(name))
		}
	}
	if err := v.get("/v1/audit", query, &shown.listOf); err != nil {
		return err
	}
	if shown.Next != nil {
		asked.Set("cursor", *shown.Next)
		shown.More = asked.Encode()
	}
	return v.page(http.StatusOK, "audit", "Audit", &shown)
}
