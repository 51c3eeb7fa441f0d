package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/wait"
)

// fewApplications is how many job applications of a candidate one page shows, mostOfEach how many documents and steps
// of each.
const (
	fewApplications = "20"
	mostOfEach      = "200"
)

// candidatePage is the template data of a candidate.
type candidatePage struct {
	candidate
	Applications []application
	More         string // the query of the next page of job applications; empty: this is the last one
	Part         bool   // there are more than fewApplications of them
	Steps        []model.Step
	Integrations []api.IntegrationHealth
	Exports      api.List[export]
	Count        api.ExportCounts    // of their exports
	Exported     *export             // that was just made; nil: none was
	Sent         *answered           // nil: nobody asked for it
	Refused      string              // why what was just asked for was refused, in English; empty: it was not
	Tag          string              // of the candidate; a change is refused if somebody changed them meanwhile
	Typed        []model.CustomField // custom fields that were refused; nil: none were
	zone         *time.Location      // of the tenant
}

// ApplicationCount says how many job applications a candidate has, or that they are more than a page shows.
func (p view) ApplicationCount(c *candidatePage) (string, error) {
	if c.Part {
		return p.T("ApplicationCountMany", "n", fewApplications+"+")
	}
	return p.Many("ApplicationCount", len(c.Applications))
}

// Following returns the id of the step after another; of the first one, where there is none.
func (c *candidatePage) Following(step string) string {
	after := slices.IndexFunc(c.Steps, func(s model.Step) bool { return s.ID == step }) + 1
	if after == len(c.Steps) {
		return ""
	}
	return c.Steps[after].ID
}

// Rows returns the custom fields of the form; the last one is to be filled in.
func (c *candidatePage) Rows() []model.CustomField {
	rows := c.CustomFields
	if c.Typed != nil {
		rows = c.Typed
	}
	return append(slices.Clone(rows), model.CustomField{})
}

// KeptThrough returns the day through which an applicant agreed to be kept; empty: they did not.
func (c *candidatePage) KeptThrough(a application) string {
	if a.KeepUntil.IsZero() {
		return ""
	}
	return a.KeepUntil.Add(-1).In(c.zone).Format(time.DateOnly)
}

// application is a job application with its job, documents and transitions.
type application struct {
	model.JobApplication
	Opening     *model.Job // nil: it names none, or one that is gone
	Documents   []api.Document
	Transitions api.List[api.Transition]
	Versions    []application // further ones, the oldest first
}

// Serves reports whether the file of a document may be taken.
func (application) Serves(d api.Document) bool {
	return model.ScanState(d.Scan).HandsOn()
}

// HasFiles reports whether any file of the documents may be taken.
func (a application) HasFiles() bool { return slices.ContainsFunc(a.Documents, a.Serves) }

// stepOf is a step of a job application: entered before, the present one, or still to come.
type stepOf struct {
	model.Step
	Mark, Tone string
	EnteredAt  time.Time // zero: not yet, or long ago
}

// Stepper returns the steps of a job application in their order.
func (c *candidatePage) Stepper(a application) (all []stepOf) {
	present := slices.IndexFunc(c.Steps, func(s model.Step) bool { return s.ID == a.Status.Step })
	for n, s := range c.Steps {
		one := stepOf{Step: s, Mark: "todo", Tone: "off"}
		switch {
		case n == present:
			one.Mark, one.Tone, one.EnteredAt = "here", "idle", a.Status.EnteredAt
		case n < present:
			one.Mark, one.Tone = "ok", "ok"
			for _, t := range a.Transitions.Items {
				if t.Step == s.ID && t.EnteredAt.After(one.EnteredAt) {
					one.EnteredAt = t.EnteredAt
				}
			}
		}
		all = append(all, one)
	}
	return all
}

// showCandidate shows a candidate, and what became of an export that was just made.
func showCandidate(v *visitor) error { return v.showCandidate(http.StatusOK, new(candidatePage)) }

func (v *visitor) showCandidate(status int, shown *candidatePage) error {
	of, id := v.PathValue("tenant"), v.PathValue("id")
	if err := v.get(at("tenants", of, "candidates", id), nil, &shown.candidate); err != nil {
		return err
	}
	shown.Tag = cmp.Or(shown.Tag, v.etag)
	var err error
	if uuid := v.URL.Query().Get("exported"); uuid != "" {
		if shown.Exported, err = v.firstOutcome(of, id, uuid); err != nil {
			return err
		}
	}
	if err := v.loadApplications(shown); err != nil {
		return err
	}
	if shown.zone, err = v.zoneOf(of); err != nil {
		return err
	}
	if shown.Steps, err = v.stepsOf(of); err != nil {
		return err
	}
	if shown.Integrations, err = v.integrationsOf(of); err != nil {
		return err
	}
	query := url.Values{"candidate": {id}, "limit": {fewRows}}
	if err := v.get(at("tenants", of, "exports"), query, &shown.Exports); err != nil {
		return err
	}
	if v.duties&operates != 0 {
		if err := v.get(at("tenants", of, "export-counts"), url.Values{"candidate": {id}}, &shown.Count); err != nil {
			return err
		}
	}
	return v.page(status, "candidate", "Candidate", shown)
}

// integrationsOf returns the integrations of a tenant, as many as one page of the management API has.
func (v *visitor) integrationsOf(tenant string) ([]api.IntegrationHealth, error) {
	var all api.List[api.IntegrationHealth]
	err := v.get(at("tenants", tenant, "integrations"), url.Values{"limit": {mostOfEach}}, &all)
	return all.Items, err
}

// loadApplications gets a page of the candidate's job applications, with their jobs, documents and steps.
func (v *visitor) loadApplications(shown *candidatePage) error {
	var all api.List[application]
	more, err := pageOf(v, at("tenants", shown.Tenant, "job-applications"),
		url.Values{"candidate": {shown.ID}, "limit": {fewApplications}}, &all)
	if err != nil {
		return err
	}
	openings, most := map[string]*model.Job{}, url.Values{"limit": {mostOfEach}}
	for n := range all.Items {
		a := &all.Items[n]
		path := []string{"tenants", shown.Tenant, "job-applications", a.ID}
		if err := v.loadDocuments(a); err != nil {
			return err
		}
		var versions api.List[application]
		if err := v.get(at(append(path, "versions")...), most, &versions); err != nil {
			return err
		}
		a.Versions = versions.Items
		slices.SortFunc(a.Versions, func(a, b application) int { return a.CreatedAt.Compare(b.CreatedAt) })
		for n := range a.Versions {
			if err := v.loadDocuments(&a.Versions[n]); err != nil {
				return err
			}
		}
		if err := v.get(at(append(path, "transitions")...), most, &a.Transitions); err != nil {
			return err
		}
		if _, known := openings[a.Job]; !known && a.Job != "" {
			j := new(model.Job)
			switch err := v.get(at("tenants", shown.Tenant, "jobs", a.Job), nil, j); {
			case err == nil:
				openings[a.Job] = j
			case !errors.Is(err, errNotFound):
				return err
			}
		}
		a.Opening = openings[a.Job]
	}
	shown.Applications, shown.More, shown.Part = all.Items, more, more != "" || v.URL.Query().Get("cursor") != ""
	return nil
}

// loadDocuments gets the documents of a job application.
func (v *visitor) loadDocuments(a *application) error {
	var documents api.List[api.Document]
	err := v.get(at("tenants", a.Tenant, "job-applications", a.ID, "documents"), url.Values{"limit": {mostOfEach}}, &documents)
	a.Documents = documents.Items
	return err
}

// patience is how long a page waits for the first attempts of an export; without any, it says that they are under way.
const patience = 5 * time.Second

// firstOutcome returns an export of a candidate once each integration was tried, or as it is when patience is over; nil
// if that is none of theirs.
func (v *visitor) firstOutcome(tenant, candidate, uuid string) (*export, error) {
	ctx, cancel := context.WithTimeout(v.Context(), patience)
	defer cancel()
	for gap := 50 * time.Millisecond; ; gap *= 2 {
		e := new(export)
		err := v.get(exportAt(tenant, uuid), nil, e)
		switch {
		case errors.Is(err, errNotFound) || err == nil && e.Candidate != candidate:
			return nil, nil
		case err != nil || !e.UnderWay() || ctx.Err() != nil:
			return e, err
		}
		wait.For(ctx, gap)
	}
}

// UnderWay reports whether a first attempt is still to be made.
func (e *export) UnderWay() bool {
	current := e.Current()
	return e.Fault == "" && (len(current) == 0 ||
		slices.ContainsFunc(current, func(d api.DeliveryDetail) bool { return d.Outcome == model.Pending }))
}

// Open reports whether more is to come of it by itself.
func (e *export) Open() bool {
	return e.UnderWay() ||
		slices.ContainsFunc(e.Current(), func(d api.DeliveryDetail) bool { return d.Outcome == model.Retrying })
}

// Last returns the last attempt of a delivery; nil: none was made.
func (view) Last(d api.DeliveryDetail) *api.Attempt {
	if len(d.History) == 0 {
		return nil
	}
	return &d.History[len(d.History)-1]
}
