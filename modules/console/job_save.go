package console

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// jobForm has what people change of a job, as the fields have it. ClosesAt is a time in the tenant's zone.
type jobForm struct {
	Title, Place, Description, ClosesAt string
	KeepApplications                    string // days
	Closed                              bool
}

func jobFormOf(j *model.Job, zone *time.Location) jobForm {
	f := jobForm{Title: j.Title, Place: j.Place, Description: j.Description, Closed: j.Closed}
	if !j.ClosesAt.IsZero() {
		f.ClosesAt = j.ClosesAt.In(zone).Format(fieldTime)
	}
	if j.KeepApplications > 0 {
		f.KeepApplications = strconv.Itoa(j.KeepApplications)
	}
	return f
}

// zoneOf returns the zone in which a tenant's days begin.
func (v *visitor) zoneOf(tenant string) (*time.Location, error) {
	var t api.Tenant
	if err := v.get(at("tenants", tenant), nil, &t); err != nil {
		return nil, err
	}
	return time.LoadLocation(t.Zone)
}

// saveJob changes what the form has of a job, and leaves the rest, such as its questions.
func saveJob(v *visitor) error {
	tenant, id := v.PathValue("tenant"), v.PathValue("id")
	zone, err := v.zoneOf(tenant)
	if err != nil {
		return err
	}
	var j model.Job
	path := at("tenants", tenant, "jobs", id)
	if err := v.get(path, nil, &j); err != nil {
		return err
	}
	before := jobFormOf(&j, zone)
	form := jobForm{Title: v.PostFormValue("title"), Place: v.PostFormValue("place"),
		Description: strings.ReplaceAll(v.PostFormValue("description"), "\r\n", "\n"),
		ClosesAt:    v.PostFormValue("closesAt"), KeepApplications: strings.TrimSpace(v.PostFormValue("keepApplications")),
		Closed: v.PostFormValue("closed") == "yes"}
	j.Title, j.Place, j.Description, j.Closed = form.Title, form.Place, form.Description, form.Closed
	var wrong *failure
	if form.ClosesAt != before.ClosesAt { // else it stays to the second
		j.ClosesAt, wrong = closingTime(form.ClosesAt, zone)
	}
	if j.KeepApplications = 0; form.KeepApplications != "" {
		if j.KeepApplications, err = strconv.Atoi(form.KeepApplications); err != nil {
			wrong = &failure{status: http.StatusBadRequest, Text: "WrongKept"}
		}
	}
	if wrong == nil {
		if wrong, err = refusal(v.call(http.MethodPut, path, nil, &j, nil)); err != nil {
			return err
		}
	}
	if wrong == nil {
		return v.redirect(pathOf("jobs", tenant, id) + "?done=saved")
	}
	version := v.version
	shown, err := v.job()
	if err != nil {
		return err
	}
	shown.Form, shown.Wrongly, shown.Version = form, wrong, cmp.Or(version, shown.Version)
	return v.page(wrong.status, "job", "Job", shown)
}

// closingTime reads a time of a zone; no text is no time.
func closingTime(text string, zone *time.Location) (time.Time, *failure) {
	if text == "" {
		return time.Time{}, nil
	}
	moment, err := time.ParseInLocation(fieldTime, text, zone)
	if err != nil {
		return time.Time{}, &failure{status: http.StatusBadRequest, Text: "WrongClosing"}
	}
	return moment.UTC(), nil
}
