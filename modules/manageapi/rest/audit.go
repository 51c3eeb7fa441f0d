package rest

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Audit inserts who does what, in the transaction that does it.
func (r *Request) Audit(tx *store.Tx) error {
	if r.route.Action == "" {
		return nil
	}
	return tx.InsertAudit(model.AuditEntry{At: r.Now(), Author: r.Caller.Author(), Action: r.route.Action,
		Tenant: cmp.Or(r.PathValue("tenant"), r.Caller.Tenant), Object: cmp.Or(r.Object, r.named()),
		Detail: r.Detail})
}

// AuditAlone writes the entry of the audit for a request that writes nothing else, or whose writes follow in other
// transactions. It checks the key as Update does.
func (r *Request) AuditAlone() error { return r.Update(func(*store.Tx) error { return nil }) }

// Record is Note and Audit, for a change that another package makes in a transaction of its own.
func (r *Request) Record(tx *store.Tx, location string) error {
	if err := r.Note(tx, location); err != nil {
		return err
	}
	return r.Audit(tx)
}

// named returns the object that the path names, as the audit has it: kind and id, such as integrations/hris. It leaves
// out the word at the end of a POST, such as enable.
func (r *Request) named() string {
	segments := strings.Split(r.route.Path, "/")
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

// objectAt returns the object at a location, as the audit has it.
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
