package manageapi

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// audit is who did what: of all tenants that the caller sees, the newest first.
var audit = resource[model.AuditEntry]{
	path: "/v1/audit", kind: "audit", reader: model.Viewer, view: itself[model.AuditEntry],
	filters: []string{"tenant", "object", "action", "since", "until"}, list: listAudit,
}

// auditCursor is how the cursor of the list is written.
const auditCursor = "%d.%d"

func listAudit(r *request) ([]model.AuditEntry, string, error) {
	q := r.query
	f := store.AuditFilter{Tenant: cmp.Or(q.Get("tenant"), r.caller.tenant), Object: q.Get("object"),
		Action: q.Get("action"), Limit: r.page.limit}
	if !r.caller.sees(f.Tenant) {
		return nil, "", noTenant(f.Tenant)
	}
	var err error
	if f.Since, err = instant(q, "since"); err == nil {
		f.Until, err = instant(q, "until")
	}
	if err != nil {
		return nil, "", err
	}
	// Whoever had the tenant's name before has entries as well.
	if t, ok := r.gateway.Config.Tenant(r.caller.tenant); ok && f.Since.Before(t.Row.CreatedAt) {
		f.Since = t.Row.CreatedAt
	}
	if after := r.page.after; after != "" {
		if _, err := fmt.Sscanf(after, auditCursor, &f.Before.At, &f.Before.ID); err != nil {
			return nil, "", noCursor()
		}
	}
	rows, next, err := r.db.ListAudit(r.Context(), f)
	if next == (store.AuditCursor{}) {
		return rows, "", err
	}
	return rows, fmt.Sprintf(auditCursor, next.At, next.ID), err
}

// audit inserts who does what, in the transaction that does it.
func (r *request) audit(tx *store.Tx) error {
	if r.route.action == "" {
		return nil
	}
	return tx.InsertAudit(model.AuditEntry{At: r.now(), Author: r.caller.author(), Action: r.route.action,
		Tenant: cmp.Or(r.PathValue("tenant"), r.caller.tenant), Object: cmp.Or(r.object, r.named())})
}

// auditAlone writes who does what that is no write of its own, or that follows in others. It checks the key as write does.
func (r *request) auditAlone() error { return r.write(func(*store.Tx) error { return nil }) }

// record is note and audit, for a change that another package makes in a transaction of its own.
func (r *request) record(tx *store.Tx, location string) error {
	if err := r.note(tx, location); err != nil {
		return err
	}
	return r.audit(tx)
}

// named is what the path names, as the audit has it: kind and id, such as integrations/hris. The word at the end of a
// POST, such as enable, is no part of it.
func (r *request) named() string {
	segments := strings.Split(r.route.path, "/")
	if r.Method == http.MethodPost {
		segments = segments[:len(segments)-1]
	}
	for n, segment := range segments {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			segments[n] = r.PathValue(strings.TrimSuffix(name, "}"))
		}
	}
	return withoutTenant(segments)
}

// objectAt is what has a location, as the audit has it.
func objectAt(location string) string {
	segments := strings.Split(location, "/")
	for n, segment := range segments {
		segments[n], _ = url.PathUnescape(segment)
	}
	return withoutTenant(segments)
}

// withoutTenant joins the segments of a path without /v1, and without the tenant that the thing belongs to.
func withoutTenant(segments []string) string {
	segments = segments[2:]
	if len(segments) > 2 && segments[0] == "tenants" {
		segments = segments[2:]
	}
	return strings.Join(segments, "/")
}
