package recruiting

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

var applicationFilters = []string{"candidate", "job", "step", "source", "apiUser", "state", "since", "until", "updatedSince",
	"erasedBefore", "order", "answers", "count"}

var applicationStates = []string{store.OpenApplications, store.UnenteredApplications, store.EndedApplications,
	string(model.Hired), string(model.Rejected), string(model.Withdrawn)}

// listApplications lists a tenant's job applications.
func listApplications(r *rest.Request) (any, error) {
	f, err := applicationFilterOf(r)
	if err != nil {
		return nil, err
	}
	if f.After, err = applicationsAfter(r, f.Order); err != nil {
		return nil, err
	}
	if f.Answers {
		if err := r.Require(model.Operator); err != nil {
			return nil, err
		}
		if err := r.AuditAlone(); err != nil {
			return nil, err
		}
	}
	page, err := r.DB.ListJobApplications(r.Context(), r.Tenant.Name, f)
	if err != nil {
		return nil, err
	}
	bounds, err := r.DB.ApplicationPositions(r.Context(), r.Tenant.Name) // after the list: they only rise
	if err == nil {
		err = checkPosition(f, bounds)
	}
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(page.Items))
	for n, a := range page.Items {
		ids[n] = a.ID
	}
	ends, err := r.DB.ErasesAt(r.Context(), r.Tenant.Name, ids...)
	if err != nil {
		return nil, err
	}
	l := api.JobApplicationList{Items: make([]api.ListedJobApplication, len(page.Items)), Erased: page.Erased}
	for n, a := range page.Items {
		l.Items[n].JobApplication = *a.JobApplication
		l.Items[n].ErasesAt = ends[a.ID]
		if a.Answers != nil {
			l.Items[n].Answers = sentAnswers(a.JobApplication, a.Answers)
		}
	}
	cursor := r.Page.Cursor(applicationCursor(f.Order, min(page.End, bounds.Last), r.Tenant.Name))
	if page.More {
		l.Next = cursor
	}
	if f.Order != store.NewestFirst {
		l.Resume = *cursor
	}
	if r.Query.Has("count") {
		l.Count = new(api.Count)
		if l.Count.Count, l.Count.More, err = r.DB.CountListed(r.Context(), r.Tenant.Name, f); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// applicationFilterOf reads which job applications are asked for.
func applicationFilterOf(r *rest.Request) (f store.ApplicationFilter, err error) {
	q := r.Query
	f = store.ApplicationFilter{Candidate: q.Get("candidate"), Job: q.Get("job"), Step: q.Get("step"),
		Source: q.Get("source"), APIUser: q.Get("apiUser"), Order: store.ApplicationOrder(q.Get("order")),
		State: q.Get("state"), Answers: q.Has("answers"), Limit: r.Page.Limit}
	if f.State != "" && !slices.Contains(applicationStates, f.State) {
		return f, problem.Newf(http.StatusBadRequest, "state can only be one of %s", strings.Join(applicationStates, ", "))
	}
	for _, name := range []string{"answers", "count"} {
		if q.Has(name) && q.Get(name) != "true" {
			return f, problem.Newf(http.StatusBadRequest, "%s can only be true: leave it out otherwise", name)
		}
	}
	if f.ErasedBefore, err = rest.Instant(q, "erasedBefore"); err != nil {
		return f, err
	}
	switch {
	case q.Has("order"):
	case q.Has("updatedSince"):
		f.Order = store.ByChange
	case q.Has("erasedBefore"): // the newest are kept for longest
		f.Order = store.OldestFirst
	}
	switch {
	case !slices.Contains([]store.ApplicationOrder{store.NewestFirst, store.OldestFirst, store.ByChange}, f.Order):
		return f, problem.New(http.StatusBadRequest, "order can only be oldest or changed: leave it out for the newest first")
	case f.Order == store.ByChange && (q.Has("since") || q.Has("until")):
		return f, problem.New(http.StatusBadRequest, "since and until are of lists by arrival: a list by change takes updatedSince")
	case f.Order != store.ByChange && q.Has("updatedSince"):
		return f, problem.New(http.StatusBadRequest, "updatedSince is of lists by change: leave order out, or write order=changed")
	case f.Order == store.ByChange:
		f.Since, err = rest.Instant(q, "updatedSince")
		return f, err
	}
	if f.Since, err = rest.Instant(q, "since"); err != nil {
		return f, err
	}
	f.Until, err = rest.Instant(q, "until")
	return f, err
}

// applicationCursor returns the cursor of a position: of one order of one tenant's list.
func applicationCursor(order store.ApplicationOrder, position int64, tenant string) string {
	return string(order) + "." + strconv.FormatInt(position, 10) + "." + tenant
}

// applicationsAfter returns the position of the cursor.
func applicationsAfter(r *rest.Request, order store.ApplicationOrder) (int64, error) {
	if r.Page.After == "" {
		return 0, nil
	}
	of, place, _ := strings.Cut(r.Page.After, ".")
	number, tenant, _ := strings.Cut(place, ".")
	position, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil || position < 0:
		return 0, rest.NoCursor()
	case of != string(order) || tenant != r.Tenant.Name:
		return 0, rest.OtherList()
	}
	return position, nil
}

// checkPosition refuses to go on where something may be missing: behind erased ids that are not listed any more, and from
// a position that this database never had.
func checkPosition(f store.ApplicationFilter, of store.ApplicationPositions) error {
	begin := f.After
	if begin == 0 && !f.Since.IsZero() {
		begin = model.FirstID(f.Since)
	}
	switch {
	case f.After > of.Last:
		return problem.New(http.StatusGone, "this cursor is of another database, or of a later state of this one: "+
			"begin again without it").WithCode("cursor-unknown")
	case f.Order == store.ByChange && begin > 0 && begin < of.Forgotten:
		return problem.New(http.StatusGone, "job applications were erased since, whose ids are not listed any more: "+
			"begin again with order=changed alone, and drop what is not listed").WithCode("cursor-expired")
	}
	return nil
}
