package console

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/hiregate/hiregate/internal/model"
)

// applicationRow is a job application in a list.
type applicationRow struct {
	model.JobApplication
	Of candidate
}

// applicationList is the template data of a list of job applications.
type applicationList struct {
	tenantList[applicationRow]
	State, Step, Job string // that are asked for
	States           []string
	Steps            []model.Step // to choose from; the one that is asked for is among them
}

// applicationFilters are the parameters of a list of job applications, beside its tenant. applicationStates are the
// values of the first, as the management API has them.
var (
	applicationFilters = []string{"state", "step", "job"}
	applicationStates  = []string{"open", "unentered", "ended", string(model.Hired), string(model.Rejected), string(model.Withdrawn)}
)

// listApplications shows the job applications of a tenant, the newest first.
func listApplications(v *visitor) error {
	asked := v.URL.Query()
	shown := applicationList{State: asked.Get("state"), Step: asked.Get("step"), Job: asked.Get("job"), States: applicationStates}
	var err error
	if shown.tenantList, err = ofTenant[applicationRow](v, "job-applications", applicationFilters...); err != nil {
		return err
	}
	if shown.Tenant == "" {
		return v.page(http.StatusOK, "job-applications", "Applications", &shown)
	}
	if shown.Steps, err = v.stepsOf(shown.Tenant); err != nil {
		return err
	}
	if shown.Step != "" && stepAt(shown.Steps, shown.Step) < 0 { // it was removed
		shown.Steps = append(shown.Steps, model.Step{ID: shown.Step, Name: shown.Step})
	}
	people := map[string]candidate{}
	for n := range shown.Items {
		a := &shown.Items[n]
		c, known := people[a.Candidate]
		if !known {
			c.ID = a.Candidate
			err := v.get(at("tenants", shown.Tenant, "candidates", a.Candidate), nil, &c)
			if ignoreNotFound(err) != nil { // else they were erased meanwhile
				return err
			}
			people[a.Candidate] = c
		}
		a.Of = c
	}
	return v.page(http.StatusOK, "job-applications", "Applications", &shown)
}

// Filters returns the query of what the list shows.
func (l *applicationList) Filters() string {
	query := url.Values{"tenant": {l.Tenant}}
	for n, value := range []string{l.State, l.Step, l.Job} {
		if value != "" {
			query.Set(applicationFilters[n], value)
		}
	}
	return query.Encode()
}

// downloadApplications serves the job applications that the filters choose as CSV.
func downloadApplications(v *visitor) error {
	query := v.URL.Query()
	tenant := query.Get("tenant")
	if tenant == "" {
		tenant = v.person.Tenant
	}
	chosen := url.Values{}
	for name, values := range query {
		if slices.Contains(applicationFilters, name) && values[0] != "" {
			chosen[name] = values
		}
	}
	return v.download(at("tenants", tenant, "job-applications.csv") + "?" + chosen.Encode())
}
