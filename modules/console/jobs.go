package console

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// jobList is the template data of a list of jobs.
type jobList struct {
	tenantList[model.Job]
	State, Text string // that are asked for
}

// listJobs shows the jobs of a tenant: all, or those of a state or with words of a text.
func listJobs(v *visitor) error {
	asked := v.URL.Query()
	shown := jobList{State: asked.Get("state"), Text: asked.Get("q")}
	var err error
	if shown.tenantList, err = ofTenant[model.Job](v, "jobs", "state", "q"); err != nil {
		return err
	}
	return v.page(http.StatusOK, "jobs", "Jobs", &shown)
}

// jobPage is the template data of a job.
type jobPage struct {
	Tenant   string
	Job      model.Job
	Received api.JobReceived
	Days     string     // how far back refused answers are counted
	Parts    []formPart // the preview form
	Checked  bool       // it was sent
	Wrong    int        // how many answers the Apply API would refuse
	Form     jobForm    // what is changed of the job
	Zone     *time.Location
	Version  string   // of the job
	Wrongly  *failure // why a change was refused; nil: it was not
}

// formPart has the job's own questions, or those of a compliance group under its text.
type formPart struct {
	Notice *api.GroupNotice // nil: the job's own
	Fields []field
}

// field is a question with the answer that was filled in. Wrong says what the Apply API would refuse of it.
type field struct {
	model.Question
	N     int // of the page
	Given []string
	Wrong []string
}

// Name returns the field's name in the form.
func (f *field) Name() string { return fieldName(f.ID) }

// fieldName returns the name of the field of a question. The prefix keeps it apart from other fields.
func fieldName(question string) string { return "answer." + question }

// Chosen reports whether an option is filled in.
func (f *field) Chosen(option string) bool { return slices.Contains(f.Given, option) }

// shownOptions is the most options of a question that the page shows: a job may have 150,000.
const shownOptions = 50

// Shown returns the options that the page shows: the first ones, and all that are filled in.
func (f *field) Shown() []string {
	if len(f.Options) <= shownOptions {
		return f.Options
	}
	shown := slices.Clone(f.Options[:shownOptions])
	for _, option := range f.Options[shownOptions:] {
		if f.Chosen(option) {
			shown = append(shown, option)
		}
	}
	return shown
}

// More returns the number of options that the page does not show.
func (f *field) More() int { return len(f.Options) - len(f.Shown()) }

// Value returns the answer to a question that takes one value.
func (f *field) Value() string {
	if len(f.Given) == 0 {
		return ""
	}
	return f.Given[0]
}

// Kind returns the type of the input that answers a question.
func (f *field) Kind() string {
	switch f.Format {
	case model.Date:
		return "date"
	case model.File:
		return "file"
	case model.Phone:
		return "tel"
	}
	return "text"
}

// showJob shows a job, its questions as a form, and what was refused of answers to them.
func showJob(v *visitor) error {
	shown, err := v.job()
	if err != nil {
		return err
	}
	return v.page(http.StatusOK, "job", "Job", shown)
}

// job reads all that the page of a job shows.
func (v *visitor) job() (*jobPage, error) {
	shown := &jobPage{Tenant: v.PathValue("tenant"), Days: "7"}
	path := at("tenants", shown.Tenant, "jobs", v.PathValue("id"))
	if err := v.get(path, nil, &shown.Job); err != nil {
		return nil, err
	}
	shown.Version = v.etag
	var err error
	if shown.Zone, err = v.zoneOf(shown.Tenant); err != nil {
		return nil, err
	}
	shown.Form = jobFormOf(&shown.Job, shown.Zone)
	since := url.Values{}
	if v.URL.Query().Get("days") == "90" {
		shown.Days = "90"
		since.Set("since", v.console.Gateway.Now().Add(-90*24*time.Hour).UTC().Format(time.RFC3339))
	}
	if err := v.get(path+"/received", since, &shown.Received); err != nil {
		return nil, err
	}
	var asked api.JobQuestions
	if err := v.get(path+"/questions", nil, &asked); err != nil {
		return nil, err
	}
	shown.Parts = make([]formPart, 1, len(asked.Groups)+1)
	for n := range asked.Groups {
		shown.Parts = append(shown.Parts, formPart{Notice: &asked.Groups[n]})
	}
	for n, q := range asked.Questions {
		at := 0
		if q.Group != nil {
			at = 1 + slices.IndexFunc(asked.Groups, func(g api.GroupNotice) bool { return g.Group == *q.Group })
		}
		shown.Parts[at].Fields = append(shown.Parts[at].Fields, field{Question: q, N: n})
	}
	return shown, nil
}

// fields returns all questions of the form, in order.
func (p *jobPage) fields() (all []*field) {
	for n := range p.Parts {
		for m := range p.Parts[n].Fields {
			all = append(all, &p.Parts[n].Fields[m])
		}
	}
	return all
}
