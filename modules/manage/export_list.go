package manage

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// outcomes are those that exports are found by: a delivery is written with its first attempt, or when it is held, and not before.
var outcomes = []hiring.Outcome{hiring.Retrying, hiring.Held, hiring.Delivered, hiring.Failed, hiring.Expired}

// listExports lists the exports of a tenant, newest first, or of all that the caller sees where the path names none.
func (r *request) listExports() (any, error) {
	f, page, err := r.filter()
	if err != nil {
		return nil, err
	}
	f.Tenant = r.caller.tenant
	if name := r.PathValue("tenant"); name != "" {
		if err := r.knownTenant(name); err != nil {
			return nil, err
		}
		f.Tenant = name
	}
	if f.Tenant == "" && (f.Integration != "" || f.Candidate != "") {
		return nil, problem.New(http.StatusBadRequest, "integration and candidate are names within a tenant: ask for the exports of one, at /v1/tenants/{tenant}/exports")
	}
	rows, next, err := r.db.Exports(r.Context(), f)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(rows))
	for n, e := range rows {
		ids[n] = e.ID
	}
	deliveries, err := r.db.DeliveriesOf(r.Context(), ids)
	if err != nil {
		return nil, err
	}
	l := listed(page, rows, "", func(e *hiring.Export) exportItem {
		item := r.itemOf(e)
		written := deliveries[e.ID]
		for _, d := range append(written, e.Pending(written)...) {
			item.Deliveries = append(item.Deliveries, deliveryOf(d))
		}
		return item
	})
	l.Next = page.numbered(next)
	return l, nil
}

// knownTenant refuses a name that no tenant has, unless there are exports of one that had it.
func (r *request) knownTenant(name string) error {
	_, err := r.tenant()
	if err == nil {
		return nil
	}
	kept, _, err := r.db.Exports(r.Context(), store.ExportFilter{Tenant: name, Limit: 1})
	switch {
	case err != nil:
		return err
	case len(kept) == 0:
		return noTenant()
	}
	return nil
}

// filter reads which exports are asked for, of all tenants.
func (r *request) filter() (f store.ExportFilter, page page, err error) {
	q, page, err := r.page("export", "outcome", "integration", "candidate", "quarantined", "since", "until")
	if err != nil {
		return f, page, err
	}
	f = store.ExportFilter{
		Outcome: hiring.Outcome(q.Get("outcome")), Integration: q.Get("integration"), Candidate: q.Get("candidate"), Limit: page.limit,
	}
	if f.Outcome == hiring.Pending {
		return f, page, problem.New(http.StatusBadRequest, "what is pending is not found by its outcome, since a delivery is written with its first attempt: leave outcome out, and each export tells what is pending; since and until narrow the list")
	}
	if f.Outcome != "" && !slices.Contains(outcomes, f.Outcome) {
		return f, page, problem.Newf(http.StatusBadRequest, "there is no such outcome; exports are found by %s", joined(outcomes))
	}
	if q.Has("quarantined") {
		if f.Quarantined = q.Get("quarantined") == "true"; !f.Quarantined {
			return f, page, problem.New(http.StatusBadRequest, "quarantined can only be true: leave it out for all exports")
		}
	}
	if f.Since, err = instant(q, "since"); err == nil {
		f.Until, err = instant(q, "until")
	}
	if err == nil {
		f.Before, err = page.number()
	}
	return f, page, err
}

func joined(all []hiring.Outcome) string {
	words := make([]string, len(all))
	for n, o := range all {
		words[n] = string(o)
	}
	return strings.Join(words, ", ")
}
