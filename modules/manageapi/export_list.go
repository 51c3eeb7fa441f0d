package manageapi

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// exports serves the exports of a tenant, the newest first, also of a removed one; allExports serves the exports of
// all tenants that the caller sees.
var (
	exports = rest.Resource[any]{
		Path: rest.InTenant + "/exports", ID: "uuid", Kind: "export", Scope: rest.Removed, Reader: model.Viewer, Personal: true,
		Filters: orderedFilters, List: listExports, Find: findExport, View: rest.Identity[any],
	}
	allExports = rest.Resource[any]{
		Path: "/v1/exports", Kind: "export", Reader: model.Viewer, Personal: true, Filters: append(orderedFilters, "label"),
		List: listExports, View: rest.Identity[any],
	}
	orderedFilters = slices.Clip(append(slices.Clone(api.ExportFilters), "order"))
	answerFilters  = slices.Clip(slices.DeleteFunc(slices.Clone(orderedFilters), func(name string) bool { return name == "uuid" }))
)

func listExports(r *rest.Request) ([]any, string, error) {
	f, err := orderedExports(r)
	if err != nil {
		return nil, "", err
	}
	rows, next, err := r.DB.ListExports(r.Context(), f)
	if err != nil {
		return nil, "", err
	}
	listed, err := listedExports(r, rows)
	all := make([]any, len(listed))
	for n, e := range listed {
		all[n] = e
	}
	return all, rest.Numbered(next), err
}

// orderedExports reads which exports are asked for, and in which order.
func orderedExports(r *rest.Request) (store.ExportFilter, error) {
	f, err := exportFilterOf(r)
	if err != nil {
		return f, err
	}
	switch order := r.Query.Get("order"); order {
	case "", "oldest":
		f.Oldest = order != ""
	default:
		return f, problem.New(http.StatusBadRequest, "order can only be oldest: leave it out for the newest first")
	}
	return f, nil
}

// listedExports returns exports as a list has them.
func listedExports(r *rest.Request, rows []*model.Export) ([]api.Export, error) {
	ids := make([]int64, len(rows))
	for n, e := range rows {
		ids[n] = e.ID
	}
	deliveries, err := r.DB.ListDeliveriesOf(r.Context(), ids)
	if err != nil {
		return nil, err
	}
	triggers, err := r.DB.ListExportTriggers(r.Context(), ids)
	if err != nil {
		return nil, err
	}
	waits, err := r.Gateway.Runtime.Waits(r.Context(), r.Gateway.Config, r.Now(), rows...)
	if err != nil {
		return nil, err
	}
	documents, err := r.DB.DocumentProgress(r.Context(), ids)
	if err != nil {
		return nil, err
	}
	all := make([]api.Export, len(rows))
	for n, e := range rows {
		item := itemOf(r, e)
		item.Fetched = documents[e.ID].Fetched
		item.JobApplication, item.Step = triggers[e.ID].Application, triggers[e.ID].Step
		of := deliveries[e.ID]
		for _, d := range of {
			item.Deliveries = append(item.Deliveries, waitingOf(e, d, of, waits))
		}
		all[n] = item
	}
	return all, nil
}

// knownTenant refuses a name that no tenant has, unless there are exports of one that had it.
func knownTenant(r *rest.Request, name string) error {
	_, err := r.ConfiguredTenant()
	if err == nil {
		return nil
	}
	kept, _, err := r.DB.ListExports(r.Context(), store.ExportFilter{Tenant: name, Limit: 1})
	switch {
	case err != nil:
		return err
	case len(kept) == 0:
		return rest.NoTenant(name)
	}
	return nil
}

// exportFilterOf reads which exports are asked for: those of the tenant that the path names, or of all that the caller
// sees.
func exportFilterOf(r *rest.Request) (store.ExportFilter, error) {
	f, err := queriedExports(r)
	if err != nil {
		return f, err
	}
	f.Tenant = r.Caller.Tenant
	if name := r.PathValue("tenant"); name != "" {
		if err := knownTenant(r, name); err != nil {
			return f, err
		}
		f.Tenant = name
	}
	if f.Tenants, err = namesOfLabel(r); err != nil {
		return f, err
	}
	if f.Tenant == "" && (f.Integration != "" || f.Candidate != "") {
		return f, problem.New(http.StatusBadRequest, "integration and candidate are names within a tenant: ask for "+
			"the exports of one, at /v1/tenants/{tenant}/exports")
	}
	return f, nil
}

// queriedExports reads from the query which exports are asked for, of all tenants.
func queriedExports(r *rest.Request) (f store.ExportFilter, err error) {
	q := r.Query
	if prefix := q.Get("uuid"); prefix != "" {
		return searchOf(r, prefix)
	}
	f = store.ExportFilter{
		Outcome: model.Outcome(q.Get("outcome")), Integration: q.Get("integration"), Candidate: q.Get("candidate"),
		Class: model.Class(q.Get("class")), Redelivery: q.Get("redelivery"), Limit: r.Page.Limit,
	}
	if f.Class != "" {
		f.Outcome = cmp.Or(f.Outcome, model.Failed)
		if !slices.Contains(model.Faults, f.Class) {
			return f, problem.New(http.StatusBadRequest,
				"there is no such class; exports are found by partner_fault, data_fault and our_fault")
		}
	}
	if f.Outcome != "" && !slices.Contains(model.Outcomes, f.Outcome) {
		return f, problem.Newf(http.StatusBadRequest, "there is no such outcome; exports are found by %s", joined(model.Outcomes))
	}
	for name, flag := range map[string]*bool{"quarantined": &f.Quarantined, "undelivered": &f.Undelivered,
		"lostDocuments": &f.LostDocuments, "lateDocuments": &f.LateDocuments} {
		if *flag = q.Get(name) == "true"; q.Has(name) && !*flag {
			return f, problem.Newf(http.StatusBadRequest, "%s can only be true: leave it out for all exports", name)
		}
	}
	if f.Since, err = rest.Instant(q, "since"); err == nil {
		f.Until, err = rest.Instant(q, "until")
	}
	if err == nil {
		err = queriedAttempts(r, &f)
	}
	if err == nil {
		f.Cursor, err = r.Page.Number()
	}
	return f, err
}

// queriedAttempts reads which last attempt is asked for, and how long an export waits.
func queriedAttempts(r *rest.Request, f *store.ExportFilter) (err error) {
	if f.Attempts, err = rest.Number(r.Query, "attempts", model.MaxAttemptsSought); err != nil {
		return err
	}
	if r.Query.Has("status") {
		f.Status = model.StatusChoice(r.Query.Get("status"))
		if err := f.Status.Validate(); err != nil {
			return problem.New(http.StatusBadRequest, err.Error())
		}
	}
	if !r.Query.Has("waitingLonger") {
		return nil
	}
	before, err := receivedBefore(r.Query.Get("waitingLonger"), r.Now())
	if err != nil {
		return err
	}
	f.Undelivered = true
	if f.Until.IsZero() || before.Before(f.Until) {
		f.Until = before
	}
	return nil
}

// receivedBefore returns when an export came that waits for a duration by now.
func receivedBefore(waitingLonger string, now time.Time) (time.Time, error) {
	longer, err := time.ParseDuration(waitingLonger)
	if err != nil || longer <= 0 {
		return now, problem.New(http.StatusBadRequest, "waitingLonger must be a duration such as 90m or 24h")
	}
	return now.Add(-longer), nil
}

// minUUID is the shortest begin of a UUID, in characters, that exports are found by.
const minUUID = 8

// searchOf returns the filter for exports whose UUID begins with a prefix.
func searchOf(r *rest.Request, prefix string) (f store.ExportFilter, err error) {
	for _, name := range append(orderedFilters, "label") {
		if name != "uuid" && r.Query.Get(name) != "" {
			return f, problem.Newf(http.StatusBadRequest, "uuid finds exports by itself: leave out %s", name)
		}
	}
	if len(prefix) < minUUID || !webhook.ValidUUID(prefix) {
		return f, problem.Newf(http.StatusBadRequest, "uuid must be the begin of a UUID, of at least %d characters", minUUID)
	}
	return store.ExportFilter{Prefix: prefix, Limit: r.Page.Limit}, nil
}

func joined(all []model.Outcome) string {
	words := make([]string, len(all))
	for n, o := range all {
		words[n] = string(o)
	}
	return strings.Join(words, ", ")
}
