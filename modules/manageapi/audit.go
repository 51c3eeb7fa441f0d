package manageapi

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// audit serves the audit: who did what, of all tenants that the caller sees, the newest first.
var audit = rest.Resource[model.AuditEntry]{
	Path: "/v1/audit", Kind: "audit", Reader: model.Viewer, View: rest.Identity[model.AuditEntry],
	Filters: []string{"tenant", "object", "action", "since", "until"}, List: listAudit,
}

// auditCursor is the format of the cursor of the list: the time and the id of its last entry.
const auditCursor = "%d.%d"

func listAudit(r *rest.Request) ([]model.AuditEntry, string, error) {
	q := r.Query
	f := store.AuditFilter{Tenant: cmp.Or(q.Get("tenant"), r.Caller.Tenant), Object: q.Get("object"),
		Action: q.Get("action"), Limit: r.Page.Limit}
	if !r.Caller.Sees(f.Tenant) {
		return nil, "", rest.NoTenant(f.Tenant)
	}
	if f.Action != "" && !slices.Contains(model.AuditActions, f.Action) {
		return nil, "", problem.Newf(http.StatusBadRequest, "action %.40q is unknown: use one of %s", f.Action,
			strings.Join(model.AuditActions, ", "))
	}
	var err error
	if f.Since, err = rest.Instant(q, "since"); err == nil {
		f.Until, err = rest.Instant(q, "until")
	}
	if err != nil {
		return nil, "", err
	}
	// Whoever had the tenant's name before has entries as well.
	if t, ok := r.Gateway.Config.Tenant(r.Caller.Tenant); ok && f.Since.Before(t.Row.CreatedAt) {
		f.Since = t.Row.CreatedAt
	}
	if after := r.Page.After; after != "" {
		if _, err := fmt.Sscanf(after, auditCursor, &f.Before.At, &f.Before.ID); err != nil {
			return nil, "", rest.NoCursor()
		}
	}
	rows, next, err := r.DB.ListAudit(r.Context(), f)
	if next == (store.AuditCursor{}) {
		return rows, "", err
	}
	return rows, fmt.Sprintf(auditCursor, next.At, next.ID), err
}
